import type { Delivery, DeliveryList, Destination, DestinationList, NewDestination } from '@recount/contract';
import { DELIVERY_STATES } from '@recount/contract/choices';
import { Command, Option } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { findNamed, withClient } from '../connection/with-client.ts';
import { addListCommand, addNamedCommand, addRemoveCommand } from '../report/named-items.ts';
import { collect } from '../report/report-query.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatTimestamp } from '../terminal/format-values.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { printTable } from '../terminal/print-table.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { addTimeZoneOptions, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

interface AddOptions extends PlaceOptions {
  slack?: string;
  webhook?: string;
  email?: string[];
}

interface DeliveryOptions extends PlaceOptions, TimeZoneOptions {
  state?: Delivery['state'];
  limit: number;
}

const MAX_LIMIT = 500;

export function createAlertsCommand(context: CliContext): Command {
  const alerts = new Command('alerts')
    .description('Where the warnings of budgets are sent, and what became of them')
    .addHelpText(
      'after',
      `
All of it needs the scope admin. The server stores URLs only encrypted: set RECOUNT_SECRET_KEY for API and workers
(\`openssl rand -base64 32\` makes one). E-mail needs RECOUNT_SMTP_URL and RECOUNT_SMTP_FROM. A URL on the command line can
be seen by other users of the machine; - reads it from stdin.

A message is tried for about a day, 17 times. Receivers may get it twice, with the same id.

Examples:
  $ recount alerts add team --slack - < slack-url.txt
  $ recount alerts add pager --webhook https://example.com/hooks/recount
  $ recount alerts add managers --email ada@example.org --email bob@example.org
  $ recount alerts test team
  $ recount alerts deliveries --state failed
  $ recount alerts retry 01JCZ8Q4M2V7T3N5R9W0XYABCD`,
    );
  addListCommand(alerts, 'Show all destinations', (options) => showDestinations(context, options));
  addPlaceOptions(alerts.command('add'))
    .description('Add a destination. The signing secret of a webhook is printed only once')
    .argument('<name>', 'what to call it')
    .option('--slack <url>', 'incoming webhook of Slack, Mattermost and others; - for stdin')
    .option('--webhook <url>', 'URL that gets signed JSON (Standard Webhooks); - for stdin')
    .option('--email <address>', 'recipient; may be repeated', collect)
    .option('--json', 'print JSON')
    .action((name: string, options: AddOptions) => addDestination(context, name, options));
  addRemoveCommand(alerts, context, DESTINATIONS);
  addNamedCommand(alerts, 'test')
    .description('Send a test, which a worker does within seconds')
    .option('--json', 'print JSON')
    .action((name: string, options: PlaceOptions) => testDestination(context, name, options));
  addPlaceOptions(addTimeZoneOptions(alerts.command('deliveries')))
    .description('Show messages: what waits, was sent, or was given up')
    .addOption(new Option('--state <state>', 'only these').choices(DELIVERY_STATES))
    .option('--limit <n>', 'rows at most', wholeNumber(1, MAX_LIMIT), 50)
    .option('--json', 'print JSON')
    .action((options: DeliveryOptions) => showDeliveries(context, options));
  addPlaceOptions(alerts.command('retry'))
    .description('Try a message again that was given up')
    .argument('<id>', 'as `recount alerts deliveries` shows it')
    .action((id: string, options: PlaceOptions) => retryDelivery(context, id, options));
  return alerts;
}

async function listDestinations(client: ApiClient): Promise<Destination[]> {
  const list = await client.request<DestinationList>('/v1/destinations');
  if (list === undefined) throw new CliError(`${client.place.url} sends no alerts. Is it an older version?`);
  return list.destinations;
}

const DESTINATIONS = { noun: 'destination', parts: 'messages', path: '/v1/destinations', list: listDestinations };

const COLUMNS = [{ header: 'DESTINATION', minWidth: 12 }, { header: 'KIND' }, { header: 'TO', minWidth: 12 }];

async function showDestinations(context: CliContext, options: PlaceOptions): Promise<void> {
  const destinations = await withClient(context, options, listDestinations);
  if (options.json) return printJson(context, { destinations });
  if (destinations.length === 0) return note(context, 'No destinations. `recount alerts add` makes one.');
  const rows = destinations.map(({ name, kind, hint }) => [name, kind, hint]);
  printTable(context, COLUMNS, rows);
}

async function addDestination(context: CliContext, name: string, options: AddOptions): Promise<void> {
  const { slack, webhook, email } = options;
  if ([slack, webhook, email].filter((value) => value !== undefined).length !== 1) {
    throw new UsageError('Pass one of --slack, --webhook and --email.');
  }
  const json =
    email === undefined
      ? { name, kind: slack === undefined ? 'webhook' : 'slack', url: await readUrl(context, slack ?? webhook ?? '') }
      : { name, kind: 'email', addresses: email };
  const made = await withClient(context, options, (client) =>
    client.request<NewDestination>('/v1/destinations', { method: 'POST', json }),
  );
  if (made === undefined) throw new CliError('The server sends no alerts. Is it an older version?');
  if (options.json) return printJson(context, made);
  note(context, `${toSingleLine(made.name)} is added. \`recount alerts test\` tries it.`);
  if (made.signing_secret === null) return;
  note(context, 'Its signing secret is shown this once:');
  print(context, made.signing_secret);
}

async function readUrl(context: CliContext, given: string): Promise<string> {
  if (given !== '-') return given;
  const { text } = await import('node:stream/consumers');
  return (await text(context.stdin)).trim();
}

async function testDestination(context: CliContext, name: string, options: PlaceOptions): Promise<void> {
  const delivery = await withClient(context, options, async (client) => {
    const { id } = findNamed(await listDestinations(client), 'destination', name);
    return await client.request<Delivery>(`/v1/destinations/${id}/test`, { method: 'POST' });
  });
  if (options.json) return printJson(context, delivery);
  note(
    context,
    `A worker sends it within seconds: ${delivery?.id}. \`recount alerts deliveries\` says what became of it.`,
  );
}

const DELIVERY_COLUMNS = [
  { header: 'ID' },
  { header: 'MADE' },
  { header: 'TO', minWidth: 8 },
  { header: 'EVENT' },
  { header: 'STATE' },
  { header: 'TRIES', align: 'right' as const },
  { header: 'NEXT, OR END', isOptional: true },
  { header: 'FAILURE', minWidth: 12, isOptional: true, rank: 1 },
];

async function showDeliveries(context: CliContext, options: DeliveryOptions): Promise<void> {
  const { state, limit } = options;
  const query = { limit, ...(state !== undefined && { state }) };
  const [list, destinations] = await withClient(context, options, async (client) => [
    await client.request<DeliveryList>('/v1/deliveries', { query }),
    await listDestinations(client),
  ]);
  if (list === undefined) throw new CliError('The server sends no alerts. Is it an older version?');
  if (options.json) return printJson(context, list);
  if (list.deliveries.length === 0) return note(context, 'No messages.');
  const timeZone = toTimeZone(options);
  const names = new Map(destinations.map(({ id, name }) => [id, name]));
  const rows = list.deliveries.map((each) => [
    ...[each.id, formatTimestamp(each.created_at, timeZone), names.get(each.destination_id) ?? '', each.event],
    ...[each.state, String(each.attempts), formatTimestamp(each.ended_at ?? each.next_attempt_at, timeZone)],
    each.failure_reason ?? '',
  ]);
  printTable(context, DELIVERY_COLUMNS, rows);
  if (list.next_cursor !== null) note(context, 'There are earlier ones; --limit shows more.');
}

async function retryDelivery(context: CliContext, id: string, options: PlaceOptions): Promise<void> {
  await withClient(context, options, async (client) => {
    const query = { state: 'failed', limit: MAX_LIMIT };
    const failed = await client.request<DeliveryList>('/v1/deliveries', { query });
    if (!failed?.deliveries.some((each) => each.id === id)) {
      throw new CliError(`No message ${id} was given up. \`recount alerts deliveries --state failed\` lists them.`);
    }
    await client.request(`/v1/deliveries/${id}/retry`, { method: 'POST' });
  });
  note(context, 'A worker tries it again within seconds.');
}
