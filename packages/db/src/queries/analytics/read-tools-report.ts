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
  TIMED_CALLS,
  TOOL_ROLLUP_SOURCE,
  TOOL_ROLLUP_TABLE,
  toCallFigures,
  toDurationFigures,
  toRate,
} from './tool-call-figures.ts';

export interface ToolFigures extends CallFigures, DurationFigures {
  input_bytes: number;
  duration_mean_ms: number | null;
  timed_calls: number;
}

type Sums = CallSums & DurationPercentiles & Record<'input_bytes' | 'total_ms' | 'timed_calls', number>;

const SUMMED = ['calls', 'results', 'errors', 'denied', 'output_bytes', 'input_bytes', 'total_ms', 'timed_calls'];

const ROLLED_UP_CALLS: GroupPart = {
  source: TOOL_ROLLUP_SOURCE,
  table: TOOL_ROLLUP_TABLE,
  groupedColumns: [],
  columns: Object.fromEntries(
    SUMMED.map((name) => [
      name,
      sql`recount.sum_bigint(r.${sql.identifier(name === 'total_ms' ? 'duration_ms' : name)})`,
    ]),
  ),
};

/** Tool calls by any keys. Percentiles of durations read every single call, all else roll-ups. */
export async function readToolsReport(
  database: Database,
  filter: ReportFilter,
  page: ReportPage & { hasPercentiles: boolean },
): Promise<ReportRows<ToolFigures & GroupValues, ToolFigures>> {
  return await readGroups<Sums, ToolFigures>(database, filter, page, {
    parts: [ROLLED_UP_CALLS],
    countsSessions: 'apart',
    durationsOf: page.hasPercentiles ? TIMED_CALLS : undefined,
    aggregates: {
      ...CALL_SUMS,
      input_bytes: sql`coalesce(recount.sum_bigint(input_bytes), 0)::float8`,
      total_ms: sql`coalesce(recount.sum_bigint(total_ms), 0)::float8`,
      timed_calls: sql`coalesce(recount.sum_bigint(timed_calls), 0)::float8`,
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
