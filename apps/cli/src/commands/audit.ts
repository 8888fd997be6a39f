import type { AuditList } from '@recount/contract';
import { Command } from 'commander';
import type { ApiOptions } from '../connection/find-api.ts';
import { TIME_ZONE_HELP, toTimeZone } from '../report/report-query.ts';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatTimestamp } from '../terminal/format-values.ts';
import { parseSince, wholeNumber } from '../terminal/option-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { formatTable } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';

interface AuditOptions extends ApiOptions {
  workspace: string;
  action?: string;
  actor?: string;
  subject?: string;
  /** Milliseconds since 1970. */
  since?: number;
  limit: number;
  deletedWorkspaces?: boolean;
  json?: boolean;
  tz?: string;
  utc?: boolean;
}

type Entry = AuditList['entries'][number];

const MAX_LIMIT = 500;
const COLUMNS = [
  { header: 'AT' },
  { header: 'ACTOR', minWidth: 12 },
  { header: 'ACTION' },
  { header: 'SUBJECTS', minWidth: 12 },
  { header: 'DETAILS', minWidth: 12, isOptional: true },
];

export function createAuditCommand(context: CliContext): Command {
  return new Command('audit')
    .description('Show who changed keys, settings and prices, deleted data, or ran jobs over all transcripts')
    .option('--action <action>', 'such as key.create or session.delete')
    .option('--actor <actor>', 'key:<id>, operator:<name> or system')
    .option('--subject <id>', 'changes of this key, session or transcript')
    .option('--since <date>', '2026-03-01, 7d, 12h', (text) => parseSince(text))
    .option('--limit <n>', 'entries, the latest first', wholeNumber(1, MAX_LIMIT), 50)
    .option('--server <url>', 'API to ask; default RECOUNT_SERVER, or the local installation')
    .option('--key <key>', 'API key with the scope admin; better in RECOUNT_API_KEY')
    .option('--workspace <name>', 'workspace, with DATABASE_URL; a key has its own', 'default')
    .option('--deleted-workspaces', 'which workspaces were deleted, and by whom; needs the database')
    .option('--json', 'print JSON')
    .option('--tz <zone>', TIME_ZONE_HELP)
    .option('--utc', 'the same as --tz UTC')
    .addHelpText(
      'after',
      `
Examples:
  $ recount audit --since 30d --action key.create
  $ recount audit --actor operator:ada --json`,
    )
    .action((options: AuditOptions) => showAudit(context, options));
}

async function showAudit(context: CliContext, options: AuditOptions): Promise<void> {
  const list = options.deletedWorkspaces ? await readDeletions(context, options) : await readAudit(context, options);
  if (options.json) return print(context, JSON.stringify(list, null, 2));
  const timeZone = toTimeZone(options);
  const rows = list.entries.map((entry) => toRow(entry, timeZone));
  for (const line of formatTable(COLUMNS, rows, toPrintWidth(context))) print(context, line);
  if (list.next_cursor !== null) note(context, 'There are earlier entries. Raise --limit, or narrow the filters.');
}

function toRow({ at, actor, action, subjects, details }: Entry, timeZone: string): string[] {
  const facts = Object.keys(details).length === 0 ? '' : JSON.stringify(details);
  return [formatTimestamp(at, timeZone), actor, action, subjects.join(' '), facts].map(toSingleLine);
}

async function readAudit(context: CliContext, options: AuditOptions): Promise<AuditList> {
  const { withReadingClient } = await import('../connection/reading-client.ts');
  const { action, actor, subject, since, limit } = options;
  const query = {
    limit,
    ...(action !== undefined && { action }),
    ...(actor !== undefined && { actor }),
    ...(subject !== undefined && { subject }),
    ...(since !== undefined && { from: new Date(since).toISOString() }),
  };
  return await withReadingClient(context, options, async (client) => {
    const list = await client.request<AuditList>('/v1/audit', { query });
    if (list === undefined) throw new CliError(`${client.place.url} keeps no audit log. Is it an older version?`);
    return list;
  });
}

/** These are entries without a workspace, which no key can read. */
async function readDeletions(context: CliContext, { limit }: AuditOptions): Promise<AuditList> {
  const { withDatabase } = await import('../connection/open-installation.ts');
  const { listAuditEntries } = await import('@recount/db');
  const entries = await withDatabase(context, ({ database }) => listAuditEntries(database, '', {}, { limit }));
  return { entries, next_cursor: null };
}
