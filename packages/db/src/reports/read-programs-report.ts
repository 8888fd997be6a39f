import type { ReportBody } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { GroupPart } from './group-part.ts';
import { readDurations } from './read-durations.ts';
import { type ReportPage, readGroups } from './report-groups.ts';
import {
  CALL_SUMS,
  type CallFigures,
  type CallSums,
  ROLLED_UP_CALLS,
  toCallFigures,
  toRollupSums,
  toSum,
} from './tool-call-figures.ts';

const CALLS: GroupPart = {
  ...ROLLED_UP_CALLS,
  columns: { ...ROLLED_UP_CALLS.columns, ...toRollupSums(['timed_calls']) },
  keys: { program: sql`r.program` },
  where: sql`r.program IS NOT NULL`,
  counted: 'programs',
};

/** Shell commands by their first program. */
export async function readProgramsReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportBody<'programs'>> {
  const { rows, totals, truncated, groupCount } = await readGroups<
    CallSums & { timed_calls: number },
    CallFigures & { timed_calls: number },
    { program: string }
  >(database, filter, page, {
    parts: [CALLS],
    countsSessions: true,
    aggregates: { ...CALL_SUMS, timed_calls: toSum('timed_calls') },
    order: sql`calls DESC`,
    toFigures: (sums) => ({ ...toCallFigures(sums), timed_calls: sums.timed_calls }),
  });
  const timedCalls = totals.timed_calls;
  const durations = await readDurations(database, filter, { isByProgram: true, rows, truncated, timedCalls });
  const { timed_calls: _timedCalls, ...figures } = totals;
  return {
    rows: rows.map(({ timed_calls: _timed, ...row }) => ({ ...row, ...durations.of(row) })),
    totals: { programs: groupCount, ...figures, ...durations.all },
    truncated,
  };
}
