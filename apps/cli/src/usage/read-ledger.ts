import { createLocalClock, type LocalClock } from '@recount/core';
import { type LocalLedger, type ScannedFile, scanHistory, settleLedger, type UsageFilter } from '@recount/usage';
import { readPriceFile } from '../prices/price-file.ts';
import { toProject } from '../report/report-query.ts';
import { toTimeRange } from '../report/time-range.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { toTimeZone } from '../terminal/time-zone.ts';
import { toUsageCache } from './cache-directory.ts';
import { findHistory } from './find-history.ts';
import type { Listing } from './found.ts';
import type { UsageOptions } from './usage-options.ts';

export interface ReadLedger extends LocalLedger {
  files: readonly ScannedFile[];
  listing: Listing | undefined;
}

/** The responses of the history, each counted once. */
export async function readLedger(
  context: CliContext,
  paths: readonly string[],
  { cache, prices }: Pick<UsageOptions, 'cache' | 'prices'>,
): Promise<ReadLedger> {
  const { files: found, listing } = await findHistory(context, paths);
  const cacheDirectory = cache ? toUsageCache(context) : undefined;
  const result = await scanHistory(found, { cacheDirectory });
  const priceFile = await readPriceFile(context, prices);
  return { ...settleLedger(result, priceFile), files: result.files, listing };
}

/** The options' clock and filter. Throws UsageError. */
export function toScope(
  { workingDirectory }: Pick<CliContext, 'workingDirectory'>,
  options: UsageOptions,
): { clock: LocalClock; filter: UsageFilter } {
  const { agent, model, session, project } = options;
  const tz = options.timeZone ?? options.tz;
  const timeZone = toTimeZone({ ...options, ...(tz !== undefined && { tz }) });
  const clock = createLocalClock(timeZone);
  const { from, to } = options;
  const range = toTimeRange(
    { from: toDashed(from ?? options.since), to: toDashed(to), in: options.in },
    timeZone,
    Date.now(),
  );
  const untilMs = toMoment(toDashed(options.until), clock);
  const filter: UsageFilter = {
    fromMs: toMoment(range.from, clock),
    toMs: toMoment(range.to, clock) ?? (untilMs === undefined ? undefined : toNextDay(untilMs, clock)),
    agent,
    model,
    session,
    project: project?.map((each) => toProject(each, workingDirectory)),
  };
  return { clock, filter };
}

/** Dates in ccusage's format have no hyphens. */
const toDashed = (text: string | undefined): string | undefined => text?.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3');

function toMoment(text: string | undefined, clock: LocalClock): number | undefined {
  if (text === undefined) return undefined;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isDate = isDay || /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const timeMs = isDate ? (isDay ? clock.toDayStartMs(text) : Date.parse(text)) : Number.NaN;
  if (Number.isNaN(timeMs)) throw new UsageError(`${text} is not a date. Use 2026-03-01, 2026-03-01T12:00Z, 7d or 4w.`);
  return timeMs;
}

function toNextDay(dayStartMs: number, clock: LocalClock): number {
  const day = new Date(clock.toLocalMs(dayStartMs));
  day.setUTCDate(day.getUTCDate() + 1);
  return clock.toDayStartMs(day.toISOString().slice(0, 10));
}
