import type { CliContext } from '../terminal/cli-context.ts';
import type { CliOutput } from '../terminal/guard-terminal.ts';
import { toUsageCache } from './cache-directory.ts';
import type { ReadLedger } from './read-ledger.ts';
import { rememberReport, type Written } from './remembered-report.ts';
import type { RememberedStatus } from './statusline.ts';
import type { UsageOptions } from './usage-options.ts';

/** Failures that may be over at the next call, by their codes and names. */
const SYSTEM_ERROR = /^(?:E[A-Z0-9_]+|\w*Error)$/;

/** True if the same arguments ask for the same until the history changes. */
export function isRepeatable({ environment }: CliContext, paths: readonly string[], options: UsageOptions): boolean {
  const { in: within, from, to, since, until, prices, project = [], cache } = options;
  const isTimed = [within, from, to, since, until].some((time) => time !== undefined);
  const isPriced = (prices ?? environment.RECOUNT_PRICE_FILE?.trim() ?? '') !== '';
  return paths.length === 0 && cache && !isTimed && !isPriced && !project.some((each) => each.startsWith('.'));
}

/** A context whose output is also added to `written`. */
export function recordOutput(context: CliContext, written: Written[]): CliContext {
  const toRecorded = (name: Written[0]): CliOutput => {
    const stream = context[name];
    const recorded = Object.create(stream) as CliOutput;
    for (const how of ['write', 'writeStyled'] as const) {
      recorded[how] = (text: string | Uint8Array): boolean => {
        written.push([name, how, String(text)]);
        return stream[how](String(text));
      };
    }
    return recorded;
  };
  return { ...context, stdout: toRecorded('stdout'), stderr: toRecorded('stderr') };
}

/** Remembers the output of a call for the next one with the same arguments, if no file has changed since. */
export function rememberOutput(
  context: CliContext,
  words: readonly string[],
  { listing, files }: Pick<ReadLedger, 'listing' | 'files'>,
  output: { written: readonly Written[]; status: RememberedStatus },
): void {
  const directory = toUsageCache(context);
  const isWhole = files.every(({ failure }) => failure === null || !SYSTEM_ERROR.test(failure));
  if (directory === undefined || listing === undefined || !isWhole) return;
  const { environment: env, stdout, stderr } = context;
  rememberReport(directory, { env, stdout, stderr }, words, {
    places: listing.places,
    listing: listing.text,
    ...output,
  });
}
