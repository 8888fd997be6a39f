import type { UsageKey } from '@recount/usage';
import { type Command, Option } from 'commander';
import { collect, MODEL_HELP, PROJECT_HELP } from '../report/report-query.ts';
import { RANGE_EXAMPLES } from '../report/time-range.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { TIME_ZONE_HELP, type TimeZoneOptions } from '../terminal/time-zone.ts';

/** Copied from `@recount/usage`, which is loaded on demand. */
export const GROUP_KEYS = [
  'hour',
  'day',
  'week',
  'month',
  'agent',
  'project',
  'git_branch',
  'model',
  'session',
] as const satisfies UsageKey[];
export interface UsageOptions extends TimeZoneOptions {
  in?: string[];
  from?: string;
  to?: string;
  timeZone?: string;
  /** ccusage's names for some. */
  since?: string;
  until?: string;
  agent?: string[];
  project?: string[];
  model?: string[];
  session?: string;
  groupBy?: UsageKey[];
  limit?: number;
  prices?: string;
  breakdown?: boolean;
  json?: boolean;
  csv?: boolean;
  cache: boolean;
}

export interface BlocksOptions extends UsageOptions {
  active?: boolean;
  recent?: boolean;
}

export function addUsageOptions(command: Command): Command {
  return command
    .argument('[paths...]', 'files and folders with transcripts, instead of this machine’s agents')
    .option('--in <time...>', `only this time: ${RANGE_EXAMPLES}`)
    .option('--from <date>', 'from this date or moment on: 2026-03-01, 2026-03-01T12:00Z, 7d, last month')
    .option('--to <date>', 'before this date or moment; 2026-03 and yesterday are included')
    .addOption(new Option('--since <date>', 'as --from').hideHelp())
    .addOption(new Option('--until <date>', 'up to and including this date').hideHelp())
    .option('--tz <zone>', TIME_ZONE_HELP)
    .option('--utc', 'the same as --tz UTC')
    .addOption(new Option('--time-zone <zone>', 'as --tz').hideHelp())
    .option('--agent <name>', 'agent, such as claude-code', collect)
    .option('--project <path>', PROJECT_HELP, collect)
    .option('--model <name>', MODEL_HELP, collect)
    .option('--session <id>', 'session, or the beginning of its id')
    .option('--prices <file>', 'newer prices as a list of genai-prices or LiteLLM; default RECOUNT_PRICE_FILE')
    .option('--limit <n>', 'rows at most', wholeNumber(1, 1_000_000))
    .addOption(new Option('--json', 'print the answer as JSON').conflicts('csv'))
    .option('--csv', 'print the rows as CSV, with all figures')
    .option('--no-cache', 'read everything again, and cache nothing');
}

export function toGroupKeys(text: string): UsageKey[] {
  const keys = text.split(',').map((key) => key.trim());
  const unknown = keys.filter((key) => !(GROUP_KEYS as readonly string[]).includes(key));
  if (unknown.length > 0) throw new UsageError(`--by: ${unknown.join(', ')} is none of ${GROUP_KEYS.join(', ')}.`);
  return [...new Set(keys)] as UsageKey[];
}
