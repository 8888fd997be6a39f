import type { SearchQuery, SearchResultList } from '@recount/contract';
import { SEARCH_KINDS, SEARCH_MODES, SEARCH_SORTS } from '@recount/contract/choices';
import { Command, Option } from 'commander';
import type { PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { addFilterOptions, type FilterOptions, toFilterQuery } from '../report/report-query.ts';
import { type CliContext, printJson, printStyled } from '../terminal/cli-context.ts';
import { wholeNumber } from '../terminal/option-values.ts';

interface SearchOptions extends PlaceOptions, FilterOptions {
  mode: (typeof SEARCH_MODES)[number];
  sort: (typeof SEARCH_SORTS)[number];
  kind?: (typeof SEARCH_KINDS)[number][];
  limit: number;
}

const MAX_LIMIT = 100;

export function createSearchCommand(context: CliContext): Command {
  const command = new Command('search')
    .description('Search prompts, answers, thinking, tool inputs and results')
    .argument('<query...>', 'words, "words in a row", -without, this or that, begin*')
    .addOption(
      new Option('--mode <mode>', 'whole words, or any part of the text').choices(SEARCH_MODES).default('text'),
    )
    .addOption(new Option('--sort <order>', 'sort by (descending)').choices(SEARCH_SORTS).default('relevance'))
    .addOption(new Option('--kind <kind...>', 'only these').choices(SEARCH_KINDS))
    .option('--limit <n>', `how many, at most ${MAX_LIMIT}`, wholeNumber(1, MAX_LIMIT), 10)
    .option('--json', 'print JSON');
  return addFilterOptions(command)
    .addHelpText(
      'after',
      `
Uses an API if one is named or the local installation is running, else the database of DATABASE_URL. Sessions are
found a few seconds after they were ingested. Put a query that begins with - after --.

Examples:
  $ recount search '"connection refused" -test' --kind tool_result
  $ recount search --mode substring 'onfig.ts' --in last month --project billing-service
  $ recount search migration --json | jq '.results[].session_id'`,
    )
    .action((words: string[], options: SearchOptions) => search(context, words.join(' '), options));
}

async function search(context: CliContext, q: string, options: SearchOptions): Promise<void> {
  const query = toQuery(q, options, context);
  const list = await readResults(context, query, options);
  if (options.json) return printJson(context, list);
  const { formatSearchResults } = await import('../search/format-search-results.ts');
  const { NO_COLOR, TERM } = context.environment;
  const isColored = context.stdout.isTTY === true && !NO_COLOR && TERM !== 'dumb';
  const { toPrintWidth } = await import('../terminal/print-width.ts');
  const layout = { timeZone: query.time_zone ?? 'UTC', isColored, maxWidth: toPrintWidth(context) };
  for (const line of formatSearchResults(list, layout)) printStyled(context, line);
}

function toQuery(q: string, options: SearchOptions, context: CliContext): SearchQuery {
  const { mode, sort, kind, limit } = options;
  const query = { ...toFilterQuery(options, context), q, mode, sort, kind, limit };
  // Absent rather than undefined, as the contract requires.
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as SearchQuery;
}

async function readResults(context: CliContext, query: SearchQuery, options: SearchOptions): Promise<SearchResultList> {
  const { readSearchResults } = await import('../search/read-search-results.ts');
  return await withClient(context, options, (client) => readSearchResults(client, query));
}
