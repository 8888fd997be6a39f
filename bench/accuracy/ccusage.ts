import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Tokens } from './explained-differences.ts';

export const CCUSAGE_VERSION = '20.0.24';
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

type Counts = Record<'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheCreationTokens', number>;

interface Day {
  date: string;
  modelBreakdowns?: (Counts & { modelName: string })[];
  totalCost?: number;
  /** ccusage's report on Codex has these two instead of the previous two. */
  models?: Record<string, Counts>;
  costUSD?: number;
}

let program: Promise<string> | undefined;

/** Runs a command of ccusage on the agents' folders below a home, with tokens by UTC day and model, dollars by day. */
export async function runCcusage(command: readonly string[], home: string) {
  program ??= findProgram();
  const { stdout } = await promisify(execFile)(
    await program,
    [...command, '--json', '--offline', '--timezone', 'UTC'],
    { env: { PATH: process.env.PATH, HOME: home }, maxBuffer: MAX_OUTPUT_BYTES },
  );
  const days: Day[] = JSON.parse(stdout).daily;
  return {
    tokens: new Map(days.flatMap(readDay)),
    costsUsd: new Map(days.map(({ date, totalCost, costUSD }) => [date, totalCost ?? costUSD ?? 0])),
  };
}

/** Looked up with the user's own home, which has npm's cache and settings. */
async function findProgram(): Promise<string> {
  const options = ['exec', '--yes', `--package=ccusage@${CCUSAGE_VERSION}`, '--call', 'command -v ccusage'];
  const { stdout } = await promisify(execFile)('npm', options);
  return stdout.trim();
}

function readDay({ date, modelBreakdowns, models = {} }: Day): [string, Tokens][] {
  const counts = modelBreakdowns ?? Object.entries(models).map(([modelName, each]) => ({ modelName, ...each }));
  return counts.map(({ modelName, inputTokens, outputTokens, cacheReadTokens, cacheCreationTokens }) => [
    `${date} ${modelName.replace('[pi] ', '')}`,
    [inputTokens, outputTokens, cacheReadTokens, cacheCreationTokens],
  ]);
}
