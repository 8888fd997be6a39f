import type { AuditList } from '@recount/contract';
import { Command, Option } from 'commander';
import type { PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, printJson } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatTimestamp } from '../terminal/format-values.ts';
import { parseSince, wholeNumber } from '../terminal/option-values.ts';
import { printTable } from '../terminal/print-table.ts';
import { TIME_ZONE_HELP, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

interface AuditOptions extends PlaceOptions, TimeZoneOptions {
  action?: string;
  actor?: string;
  subject?: string;
  /** Milliseconds since 1970. */
  since?: number;
  limit: number;
  reads?: boolean;
  changes?: boolean;
  deletedWorkspaces?: boolean;
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
    .description('Show who changed keys, settings and prices, deleted data, or read texts of others')
    .option('--action <action>', 'such as key.create or session.delete')
    .option('--actor <actor>', 'key:<id>, link:<id of a share>, operator:<name> or system')
    .option('--subject <id>', 'entries about this key, session or transcript')
    .addOption(
      new Option('--reads', 'only who read whose texts, and which shared links were opened').conflicts('changes'),
    )
    .option('--changes', 'only changes, without reads')
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
  $ recount audit --actor operator:ada --json
  $ recount audit --reads --subject 5e0a7c1e-4a0b-4c52-8a6f-0f1c2d3e4f50`,
    )
    .action((options: AuditOptions) => showAudit(context, options));
}

async function showAudit(context: CliContext, options: AuditOptions): Promise<void> {
  const list = options.deletedWorkspaces ? await readDeletions(context, options) : await readAudit(context, options);
  if (options.json) return printJson(context, list);
  const timeZone = toTimeZone(options);
  const rows = list.entries.map((entry) => toRow(entry, timeZone));
  printTable(context, COLUMNS, rows);
  if (list.next_cursor !== null) note(context, 'There are earlier entries. Raise --limit, or narrow the filters.');
}

function toRow({ at, action, subjects, details, ...entry }: Entry, timeZone: string): string[] {
  const facts = Object.keys(details).length === 0 ? '' : JSON.stringify(details);
  return [formatTimestamp(at, timeZone), toActor(entry), action, subjects.join(' '), facts];
}

/** Older servers name the key only. */
function toActor({
  actor,
  actor_person: person,
  actor_name: name,
}: Pick<Entry, 'actor' | 'actor_person' | 'actor_name'>) {
  const known = [person, name].filter((each) => each !== null && each !== undefined).join(', ');
  return known === '' ? actor : `${known} (${actor})`;
}

async function readAudit(context: CliContext, options: AuditOptions): Promise<AuditList> {
  const { action, actor, subject, since, limit, reads, changes } = options;
  const kind = reads ? 'reads' : changes ? 'changes' : undefined;
  const query = {
    limit,
    ...(action !== undefined && { action }),
    ...(actor !== undefined && { actor }),
    ...(subject !== undefined && { subject }),
    ...(kind !== undefined && { kind }),
    ...(since !== undefined && { from: new Date(since).toISOString() }),
  };
  return await withClient(context, options, async (client) => {
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
