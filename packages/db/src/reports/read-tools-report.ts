import type { ReportBody, ReportTotals } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { GroupPart } from './group-part.ts';
import { readDurations } from './read-durations.ts';
import { type ReportPage, readGroups } from './report-groups.ts';
import {
  CALL_SUMS,
  type CallSums,
  ROLLED_UP_CALLS,
  toCallFigures,
  toRate,
  toRollupSums,
  toSum,
} from './tool-call-figures.ts';

type ToolFigures = ReportTotals<'tools'>;

type Sums = CallSums & Record<'input_bytes' | 'total_ms' | 'timed_calls', number>;

const CALLS: GroupPart = {
  ...ROLLED_UP_CALLS,
  columns: { ...ROLLED_UP_CALLS.columns, ...toRollupSums(['input_bytes', 'duration_ms', 'timed_calls']) },
  counted: 'calls',
};

/** Tool calls by any keys, of all tools or one. */
export async function readToolsReport(
  database: Database,
  anyTool: ReportFilter,
  page: ReportPage & { percentiles: boolean; tool?: string | undefined },
): Promise<ReportBody<'tools'>> {
  const filter = { ...anyTool, tool: page.tool };
  const report = await readGroups<Sums, ToolFigures>(database, filter, page, {
    parts: [CALLS],
    countsSessions: true,
    aggregates: {
      ...CALL_SUMS,
      input_bytes: toSum('input_bytes'),
      total_ms: toSum('duration_ms'),
      timed_calls: toSum('timed_calls'),
    },
    order: sql`calls DESC`,
    toFigures: (sums) => ({
      ...toCallFigures(sums),
      duration_p50_ms: null,
      duration_p95_ms: null,
      input_bytes: sums.input_bytes,
      duration_mean_ms: toRate(sums.total_ms, sums.timed_calls),
      timed_calls: sums.timed_calls,
    }),
  });
  if (!page.percentiles) return report;
  const { groupBy = [] } = page;
  const { rows, totals, truncated } = report;
  const timedCalls = totals.timed_calls;
  const durations = await readDurations(database, filter, { groupBy, rows, truncated, timedCalls });
  return {
    rows: rows.map((row) => ({ ...row, ...durations.of(row) })),
    totals: { ...totals, ...durations.all },
    truncated,
  };
}
