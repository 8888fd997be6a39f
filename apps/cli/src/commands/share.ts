import { resolve } from 'node:path';
import type { NewShare, Share, ShareList, ShareRequest } from '@recount/contract';
import { Command, InvalidArgumentError } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, print, printJson, START_COMMAND } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatCount, formatCountOf, formatTimestamp } from '../terminal/format-values.ts';
import { parseTimeSpan } from '../terminal/option-values.ts';
import { printTable } from '../terminal/print-table.ts';
import type { TableColumn } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { addTimeZoneOptions, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

type Options = PlaceOptions & TimeZoneOptions;

interface ShareOptions extends Options {
  /** Milliseconds. */
  expires?: number;
  lines?: LineRange;
  sanitize?: boolean;
  subagents: boolean;
  preview?: string;
  yes?: boolean;
}

export interface LineRange {
  from_line: number;
  to_line?: number;
}

const DAY_MS = 86_400_000;
const LIST_LIMIT = 200;

export function createShareCommand(context: CliContext): Command {
  const share = new Command('share')
    .description('Share a session by a link that anyone can open until it expires')
    .addHelpText(
      'after',
      `
The link shows the session as it is now, its secrets replaced by [REDACTED:<rule>]. Look at it first with --preview.
Sharing and revoking need the scope admin; both are in \`recount audit\`.

Examples:
  $ recount share 0fae0449 --preview review.html
  $ recount share 0fae0449 --expires 7d --lines 10-80
  $ recount share 0fae0449 --sanitize
  $ recount share list
  $ recount share revoke 01JCZ8Q4M2V7T3N5R9W0XYABCD`,
    );
  addPlaceOptions(
    addTimeZoneOptions(
      share
        .command('create', { isDefault: true })
        .description('Make a link to a session; it is printed only once')
        .argument('<session>', 'id, or the beginning of it, as `recount sessions` prints it')
        .option('--expires <span>', 'how long the link works: 12h, 7d (default: 30d; at most 365d)', parseTimeSpan)
        .option('--lines <range>', 'only these lines of the transcript: 10-80, 10-', parseLineRange)
        .option('--sanitize', 'only the structure (tools by name, sizes, figures), without texts, paths and names')
        .option('--no-subagents', 'leave out the conversations of sub-agents')
        .option('--preview <file>', 'write the page to a file, and share nothing')
        .option('--yes', 'share without asking')
        .option('--json', 'print JSON'),
    ),
  ).action((session: string, options: ShareOptions) => shareSession(context, session, options));
  addPlaceOptions(
    addTimeZoneOptions(
      share.command('list').description('List links, expired and revoked ones included').option('--json', 'print JSON'),
    ),
  ).action((options: Options) => listShares(context, options));
  addPlaceOptions(
    share
      .command('revoke')
      .description('Revoke a link immediately, and delete its page')
      .argument('<id>', 'id of the link, as `recount share list` shows it'),
  ).action((id: string, options: Options) => revokeShare(context, id, options));
  return share;
}

export function parseLineRange(text: string): LineRange {
  const [, first, dash, last = ''] = /^(\d{1,9})(-(\d{1,9})?)?$/.exec(text) ?? [];
  const from = Number(first);
  const to = dash === undefined ? from : last.length > 1 ? Number(last) : undefined;
  if (first === undefined || from < 1 || (to !== undefined && to < from)) {
    throw new InvalidArgumentError('Give lines such as 12, 10-80 or 10-.');
  }
  return { from_line: from, ...(to !== undefined && { to_line: to }) };
}

async function shareSession(context: CliContext, name: string, options: ShareOptions): Promise<void> {
  const [{ readDocument, readSession }, { confirm }] = await Promise.all([
    import('../show/read-session.ts'),
    import('../terminal/confirm.ts'),
  ]);
  const { lines, sanitize = false, subagents } = options;
  const time_zone = toTimeZone(options);
  await withClient(context, options, async (client) => {
    const session = await readSession(client, name);
    if (options.preview !== undefined) {
      const query = { ...lines, sanitize: toFlag(sanitize), subagents: toFlag(subagents), time_zone };
      return await writePreview(context, options.preview, await readDocument(client, session, query));
    }
    const title = toSingleLine(session.title);
    note(context, `${title}\n${formatCountOf(session.total_messages, 'message')}; anyone with the link can read them.`);
    if (!(await confirm(context, 'Share this?', options.yes ?? false))) return note(context, 'Nothing is shared.');
    const request: ShareRequest = {
      ...lines,
      sanitize,
      subagents,
      time_zone,
      ...(options.expires !== undefined && { expires_in_days: options.expires / DAY_MS }),
    };
    const path = `/v1/sessions/${encodeURIComponent(session.session_id)}/share`;
    const made = await client.request<NewShare>(path, { method: 'POST', json: request });
    if (made === undefined)
      throw new CliError(`Sharing needs a server. Start one with \`${START_COMMAND}\`, or name one with --server.`);
    printLink(context, client, made, options);
  });
}

const toFlag = (value: boolean): 'true' | 'false' => (value ? 'true' : 'false');

function printLink(context: CliContext, client: ApiClient, made: NewShare, options: Options): void {
  const url = `${client.place.url}${made.path}`;
  if (options.json) {
    printJson(context, { ...made, url });
    return;
  }
  const secrets = Object.values(made.redactions).reduce((sum, count) => sum + count, 0);
  const taken = secrets === 0 ? 'No secrets were found in it' : `${formatCount(secrets)} secrets were removed`;
  note(
    context,
    `${taken}. The link expires ${formatTimestamp(made.expires_at, toTimeZone(options))}; it is shown this once:`,
  );
  print(context, url);
  note(context, `\`recount share revoke ${made.id}\` revokes it now.`);
}

async function writePreview(context: CliContext, file: string, page: string): Promise<void> {
  const { writeFile } = await import('node:fs/promises');
  await writeFile(resolve(context.workingDirectory, file), page);
  note(context, `${file} shows what the link would show. Nothing is shared.`);
}

async function listShares(context: CliContext, options: Options): Promise<void> {
  const list = await withClient(context, options, (client) =>
    client.request<ShareList>('/v1/shares', { query: { limit: LIST_LIMIT } }),
  );
  if (list === undefined) throw new CliError('Links are on a server. Start one, or name one with --server.');
  if (options.json) return printJson(context, list);
  if (list.shares.length === 0) print(context, 'No links.');
  else printShares(context, list, toTimeZone(options));
  if (list.next_cursor !== null) note(context, `Only the latest ${LIST_LIMIT}; the API has the others.`);
}

function printShares(context: CliContext, { shares }: ShareList, timeZone: string): void {
  const columns: TableColumn[] = [
    { header: 'ID' },
    { header: 'WHAT', minWidth: 8 },
    { header: 'STATE' },
    { header: 'ENDS' },
    { header: 'OPENED', align: 'right' },
    { header: 'SHARED BY', isOptional: true },
  ];
  const rows = shares.map((share) => [
    share.id,
    share.session_id ?? share.view?.title ?? '',
    toState(share),
    formatTimestamp(share.revoked_at ?? share.expires_at, timeZone),
    formatCount(share.opened_count),
    share.actor,
  ]);
  printTable(context, columns, rows);
}

function toState({ revoked_at: revoked, expires_at: expires }: Share): string {
  if (revoked !== null) return 'revoked';
  return Date.parse(expires) <= Date.now() ? 'ended' : 'open';
}

async function revokeShare(context: CliContext, id: string, options: Options): Promise<void> {
  const answer = await withClient(context, options, (client) =>
    client.request(`/v1/shares/${encodeURIComponent(id)}`, { method: 'DELETE' }),
  );
  if (answer === undefined) throw new UsageError(`There is no link ${id}, or it is revoked already.`);
  note(context, `The link ${id} no longer works.`);
}
