import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import type { ReportFilter } from './report-filter.ts';
import { type GroupPart, type GroupValues, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import {
  CALL_SUMS,
  type CallFigures,
  type CallSums,
  type DurationFigures,
  type DurationPercentiles,
  ROLLED_UP_CALLS,
  TIMED_CALLS,
  toCallFigures,
  toDurationFigures,
  toRate,
  toRollupSums,
  toSum,
} from './tool-call-figures.ts';

export interface ToolFigures extends CallFigures, DurationFigures {
  input_bytes: number;
  duration_mean_ms: number | null;
  timed_calls: number;
}

type Sums = CallSums & DurationPercentiles & Record<'input_bytes' | 'total_ms' | 'timed_calls', number>;

const CALLS: GroupPart = {
  ...ROLLED_UP_CALLS,
  columns: { ...ROLLED_UP_CALLS.columns, ...toRollupSums(['input_bytes', 'duration_ms', 'timed_calls']) },
};

/** Tool calls by any keys. Percentiles of durations read every single call, all else roll-ups. */
export async function readToolsReport(
  database: Database,
  filter: ReportFilter,
  page: ReportPage & { hasPercentiles: boolean },
): Promise<ReportRows<ToolFigures & GroupValues, ToolFigures>> {
  return await readGroups<Sums, ToolFigures>(database, filter, page, {
    parts: [CALLS],
    countsSessions: true,
    durationsOf: page.hasPercentiles ? TIMED_CALLS : undefined,
    aggregates: {
      ...CALL_SUMS,
      input_bytes: toSum('input_bytes'),
      total_ms: toSum('duration_ms'),
      timed_calls: toSum('timed_calls'),
    },
    order: sql`calls DESC`,
    toFigures: (sums) => ({
      ...toCallFigures(sums),
      ...toDurationFigures(sums),
      input_bytes: sums.input_bytes,
      duration_mean_ms: toRate(sums.total_ms, sums.timed_calls),
      timed_calls: sums.timed_calls,
    }),
  });
}
