import { SEARCH_KINDS, SEARCH_MODES, SEARCH_SORTS, type SearchQuery, type SearchResultList } from '@recount/contract';
import { Command, Option } from 'commander';
import { type CliContext, print, printStyled } from '../cli-context.ts';
import { UsageError } from '../cli-error.ts';
import type { ApiOptions } from '../connection/find-api.ts';
import { wholeNumber } from '../option-values.ts';

interface SearchOptions extends ApiOptions {
  mode: (typeof SEARCH_MODES)[number];
  sort: (typeof SEARCH_SORTS)[number];
  kind?: (typeof SEARCH_KINDS)[number][];
  from?: string;
  to?: string;
  tz?: string;
  project?: string;
  branch?: string;
  machine?: string;
  person?: string;
  agent?: string;
  model?: string;
  session?: string;
  subagents: boolean;
  onlySubagents?: boolean;
  limit: number;
  utc?: boolean;
  json?: boolean;
  workspace: string;
}

const MAX_LIMIT = 100;

export function createSearchCommand(context: CliContext): Command {
  return new Command('search')
    .description('Search prompts, answers, thinking, tool inputs and results')
    .argument('<query...>', 'words, "words in a row", -without, this or that, begin*')
    .addOption(
      new Option('--mode <mode>', 'whole words, or a part of the text as it is typed')
        .choices(SEARCH_MODES)
        .default('text'),
    )
    .addOption(new Option('--sort <order>').choices(SEARCH_SORTS).default('relevance'))
    .addOption(new Option('--kind <kind...>', 'only these').choices(SEARCH_KINDS))
    .option('--from <date>', 'at or after this date, or moment with Z or an offset')
    .option('--to <date>', 'before this date or moment')
    .option('--tz <zone>', 'time zone of these dates; default that of this machine')
    .option('--project <folder>', 'working directory of the session')
    .option('--branch <branch>', 'Git branch of the session')
    .option('--agent <agent>', 'agent, such as claude-code')
    .option('--model <model>', 'sessions that used this model')
    .option('--person <name>', 'whose sessions')
    .option('--machine <name>', 'machine that the session ran on')
    .option('--session <id>', 'this session alone')
    .option('--no-subagents', 'without what sub-agents did')
    .option('--only-subagents', 'only what sub-agents did')
    .option('--limit <n>', `how many, at most ${MAX_LIMIT}`, wholeNumber(1, MAX_LIMIT), 10)
    .option('--utc', 'show times in UTC')
    .option('--json', 'print JSON')
    .option('--server <url>', 'API to ask; default RECOUNT_SERVER, or the local installation')
    .option('--key <key>', 'API key; better in RECOUNT_API_KEY, where other users of the machine do not see it')
    .option('--workspace <name>', 'workspace, with DATABASE_URL; a key has its own', 'default')
    .addHelpText(
      'after',
      `
Asks an API where one is named or the local installation runs, else the database of DATABASE_URL. Sessions are found some
seconds after they were ingested. A query that begins with - comes after --.

Examples:
  $ recount search '"connection refused" -test' --kind tool_result
  $ recount search --mode substring 'onfig.ts' --from 2026-03-01
  $ recount search migration --json | jq '.results[].session_id'`,
    )
    .action((words: string[], options: SearchOptions) => search(context, words.join(' '), options));
}

async function search(context: CliContext, q: string, options: SearchOptions): Promise<void> {
  const list = await readResults(context, toQuery(q, options), options);
  if (options.json) return print(context, JSON.stringify(list, null, 2));
  const { formatSearchResults } = await import('../search/format-search-results.ts');
  const { NO_COLOR, TERM } = context.environment;
  const isColored = context.stdout.isTTY === true && !NO_COLOR && TERM !== 'dumb';
  for (const line of formatSearchResults(list, { inUtc: options.utc ?? false, isColored })) printStyled(context, line);
}

function toQuery(q: string, options: SearchOptions): SearchQuery {
  if (options.onlySubagents && !options.subagents) {
    throw new UsageError('--no-subagents and --only-subagents exclude each other.');
  }
  const { mode, sort, kind, from, to, project, agent, model, machine, person, limit } = options;
  const query = {
    q,
    mode,
    sort,
    kind,
    from,
    to,
    project,
    agent,
    model,
    machine,
    person,
    limit,
    time_zone: options.tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    git_branch: options.branch,
    session_id: options.session,
    subagents: options.onlySubagents
      ? ('only' as const)
      : options.subagents
        ? ('include' as const)
        : ('exclude' as const),
  };
  // Absent, not undefined: that is how the contract has it.
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as SearchQuery;
}

async function readResults(context: CliContext, query: SearchQuery, options: SearchOptions): Promise<SearchResultList> {
  const [{ searchQuerySchema }, { withReadingClient }, { readSearchResults }] = await Promise.all([
    import('@recount/contract'),
    import('../connection/reading-client.ts'),
    import('../search/read-search-results.ts'),
  ]);
  const [issue] = searchQuerySchema.safeParse(query).error?.issues ?? [];
  if (issue !== undefined) throw new UsageError(`${issue.path.join('.')}: ${issue.message}.`);
  return await withReadingClient(context, options, (client) => readSearchResults(client, query));
}
