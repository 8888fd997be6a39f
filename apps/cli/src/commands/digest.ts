import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Delivery, Digest, DigestList, DigestPreview, DigestRequest } from '@recount/contract';
import { DIGEST_PERIODS } from '@recount/contract/choices';
import { Command, Option } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { findNamed, withClient } from '../connection/with-client.ts';
import { findDestinations } from '../report/find-destinations.ts';
import { describeKeptFilters, toKeptFilters } from '../report/kept-filters.ts';
import { addListCommand, addNamedCommand, addRemoveCommand } from '../report/named-items.ts';
import { addNameFilterOptions, collect, type FilterOptions } from '../report/report-query.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatCountOf } from '../terminal/format-values.ts';
import { toTerminalText } from '../terminal/guard-terminal.ts';
import { printTable } from '../terminal/print-table.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { addTimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

interface AddOptions extends PlaceOptions, FilterOptions {
  period?: Digest['period'];
  destination?: string[];
}

interface PreviewOptions extends PlaceOptions {
  html?: string;
}

export function createDigestCommand(context: CliContext): Command {
  const digest = new Command('digest').description('Reports that are sent when a week or month is over').addHelpText(
    'after',
    `
All of it needs the scope admin. A digest has cost, tokens and sessions of the period against the one before, and the
most expensive repositories, people and models, with the figures of \`recount report usage\`. It is sent once, six hours
after the end of the period, to the destinations of \`recount alerts\`.

Examples:
  $ recount digest add weekly
  $ recount digest add "heron in the month" --period month --repository heron --destination managers
  $ recount digest preview weekly
  $ recount digest preview weekly --html weekly.html
  $ recount digest send weekly`,
  );
  addListCommand(digest, 'Show all digests', (options) => showDigests(context, options));
  addPlaceOptions(addNameFilterOptions(addTimeZoneOptions(digest.command('add'))))
    .description('Add a digest')
    .argument('<name>', 'what to call it')
    .addOption(new Option('--period <period>', 'default: week, from Monday').choices(DIGEST_PERIODS))
    .option('--destination <name>', 'who gets it; may be repeated (default: all destinations)', collect)
    .option('--json', 'print JSON')
    .action((name: string, options: AddOptions) => addDigest(context, name, options));
  addRemoveCommand(digest, context, DIGESTS);
  addNamedCommand(digest, 'preview')
    .description('Show what would be sent of the latest period that is over, without sending it')
    .option('--html <file>', 'write the HTML to this file')
    .option('--json', 'print JSON')
    .action((name: string, options: PreviewOptions) => previewDigest(context, name, options));
  addNamedCommand(digest, 'send')
    .description('Send the latest period that is over to its destinations now. It is also sent when it is due')
    .option('--json', 'print JSON')
    .action((name: string, options: PlaceOptions) => sendDigest(context, name, options));
  return digest;
}

async function listDigests(client: ApiClient): Promise<Digest[]> {
  const list = await client.request<DigestList>('/v1/digests');
  if (list === undefined) throw new CliError(`${client.place.url} has no digests. Is it an older version?`);
  return list.digests;
}

const DIGESTS = { noun: 'digest', path: '/v1/digests', list: listDigests };

const COLUMNS = [
  { header: 'DIGEST', minWidth: 12 },
  { header: 'PERIOD' },
  { header: 'SENT' },
  { header: 'COUNTS', minWidth: 12 },
];

async function showDigests(context: CliContext, options: PlaceOptions): Promise<void> {
  const digests = await withClient(context, options, listDigests);
  if (options.json) return printJson(context, { digests });
  if (digests.length === 0) return note(context, 'No digests. `recount digest add weekly` makes one.');
  const rows = digests.map(({ name, period, sent_period: sent, filters }) => [
    name,
    period,
    sent ?? 'not yet',
    describeKeptFilters(filters),
  ]);
  printTable(context, COLUMNS, rows);
}

async function addDigest(context: CliContext, name: string, options: AddOptions): Promise<void> {
  const given = toKeptFilters(options, context);
  const made = await withClient(context, options, async (client) => {
    const json: DigestRequest = {
      ...{ name, time_zone: toTimeZone(options), filters: given as NonNullable<DigestRequest['filters']> },
      ...(options.period !== undefined && { period: options.period }),
      ...(options.destination !== undefined && {
        destination_ids: await findDestinations(client, options.destination),
      }),
    };
    return await client.request<Digest>('/v1/digests', { method: 'POST', json });
  });
  if (made === undefined) throw new CliError('The server has no digests. Is it an older version?');
  if (options.json) return printJson(context, made);
  const hint = '`recount digest preview` shows it.';
  note(context, `${toSingleLine(made.name)} is sent six hours after the end of each ${made.period}; ${hint}`);
}

async function previewDigest(context: CliContext, name: string, options: PreviewOptions): Promise<void> {
  const preview = await withClient(context, options, async (client) => {
    const { id } = findNamed(await listDigests(client), 'digest', name);
    return await client.request<DigestPreview>(`/v1/digests/${id}/preview`);
  });
  if (preview === undefined) throw new CliError(`There is no digest ${name}.`);
  if (options.html !== undefined) {
    const file = resolve(context.workingDirectory, options.html);
    await writeFile(file, preview.html);
    return note(context, `Written to ${file}.`);
  }
  if (options.json) return printJson(context, preview);
  print(context, toTerminalText(`${preview.heading}\n\n${preview.plain}`));
}

async function sendDigest(context: CliContext, name: string, options: PlaceOptions): Promise<void> {
  const sent = await withClient(context, options, async (client) => {
    const { id } = findNamed(await listDigests(client), 'digest', name);
    return await client.request<{ deliveries: Delivery[] }>(`/v1/digests/${id}/send`, { method: 'POST', json: {} });
  });
  if (sent === undefined) throw new CliError(`There is no digest ${name}.`);
  if (options.json) return printJson(context, sent);
  const count = sent.deliveries.length;
  if (count === 0) throw new CliError('Nothing was sent: there is no destination. `recount alerts add` makes one.');
  note(context, `A worker sends it to ${formatCountOf(count, 'destination')}. \`recount alerts deliveries\` shows it.`);
}
