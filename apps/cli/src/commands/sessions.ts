import { Command, InvalidArgumentError, Option } from 'commander';
import type { PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { addFilterOptions, type FilterOptions, toFilterQuery } from '../report/report-query.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';

interface SessionsOptions extends PlaceOptions, FilterOptions {
  limit: number;
  sort: keyof typeof SORTS;
  reverse?: boolean;
  errors?: boolean;
  starred?: boolean;
  tag?: string[];
  columns?: string[];
}

const MAX_LIMIT = 500;
const SORTS = {
  last: 'last_timestamp',
  began: 'first_timestamp',
  cost: 'cost_estimate_usd',
  out: 'tokens_out',
  messages: 'total_messages',
  duration: 'duration_ms',
} as const;

export function createSessionsCommand(context: CliContext): Command {
  return addFilterOptions(
    new Command('sessions')
      .description('List sessions with messages, tokens, errors and cost')
      .argument('[id]', 'only this session; the beginning of its id is enough')
      .option('--limit <n>', `how many, at most ${MAX_LIMIT}`, wholeNumber(1, MAX_LIMIT), 20)
      .addOption(new Option('--sort <figure>', 'sort by (descending)').choices(Object.keys(SORTS)).default('last'))
      .option('--reverse', 'the smallest or oldest first')
      .option('--errors', 'only sessions with failed tool calls or API requests')
      .option('--starred', 'only sessions that are starred, see `recount annotate`')
      .option(
        '--tag <name>',
        'only sessions with this tag; may be repeated, for any of them',
        (name, all: string[] = []) => [...all, name],
      )
      .option('--columns <names>', 'columns to show, separated by commas; --columns help lists them', toColumns)
      .option('--json', 'print JSON'),
  )
    .addHelpText(
      'after',
      `
Uses an API if one is named or the local installation is running, else the database of DATABASE_URL.
Other commands accept the ids that the table prints: recount show ID, recount why ID.

Examples:
  $ recount sessions --sort cost --in last month
  $ recount sessions --project billing-service --errors
  $ recount sessions --columns id,began,model,in,out,cache-read,cost
  $ recount sessions --json | jq '.sessions[] | .cost_estimate_usd'`,
    )
    .action((id: string | undefined, options: SessionsOptions) => showSessions(context, id, options));
}

/** Names of columns; they are validated when the table is made. */
function toColumns(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.some((name) => name === '')) throw new InvalidArgumentError('Give names separated by commas.');
  return names;
}

async function showSessions(context: CliContext, id: string | undefined, options: SessionsOptions): Promise<void> {
  const [{ readSessions }, { formatSessions, SESSION_COLUMNS }] = await Promise.all([
    import('../sessions/read-sessions.ts'),
    import('../sessions/session-table.ts'),
  ]);
  const { columns } = options;
  const names = Object.keys(SESSION_COLUMNS);
  if (columns?.join() === 'help') return print(context, names.join('\n'));
  const unknown = columns?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new UsageError(`There is no column ${unknown.join(', ')}; there are ${names.join(', ')}.`);
  const session = id ?? options.session;
  const { git_branch: branch, session_id: _, subagents, ...filters } = toFilterQuery(options, context);
  const query = {
    ...filters,
    branch,
    is_subagent: subagents === undefined ? undefined : String(subagents === 'only'),
    is_starred: options.starred ? 'true' : undefined,
    tag: options.tag,
    has_errors: options.errors ? 'true' : undefined,
    sort: SORTS[options.sort],
    order: options.reverse ? 'asc' : 'desc',
    limit: options.limit,
  };
  await withClient(context, options, async (client) => {
    const found =
      session === undefined
        ? await readSessions(client, query)
        : { sessions: [await (await import('../show/read-session.ts')).readSession(client, session)], hasMore: false };
    if (options.json) return printJson(context, found);
    if (found.sessions.length === 0) return note(context, await toEmptyNote());
    const timeZone = String(filters.time_zone);
    for (const line of formatSessions(found, { timeZone, maxWidth: toPrintWidth(context), columns })) {
      print(context, line);
    }

    async function toEmptyNote(): Promise<string> {
      if (filters.from === undefined && filters.to === undefined) return 'No sessions.';
      const [{ toRangeNote }, anyTime] = await Promise.all([
        import('../report/range-note.ts'),
        readSessions(client, {
          ...query,
          from: undefined,
          to: undefined,
          sort: 'last_timestamp',
          order: 'desc',
          limit: 1,
        }),
      ]);
      const last = anyTime.sessions[0]?.last_timestamp ?? null;
      return toRangeNote({ first: null, last }, String(filters.time_zone));
    }
  });
}
