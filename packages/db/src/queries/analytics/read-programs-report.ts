import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import type { ReportFilter } from './report-filter.ts';
import { type GroupPart, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
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
} from './tool-call-figures.ts';

export type ProgramFigures = CallFigures & DurationFigures;

const CALLS: GroupPart = {
  ...ROLLED_UP_CALLS,
  keys: { program: sql`r.program` },
  where: sql`r.program IS NOT NULL`,
};

const TIMED_PROGRAMS: GroupPart = {
  ...TIMED_CALLS,
  keys: { program: sql`c.program` },
  where: sql`${TIMED_CALLS.where} AND c.program IS NOT NULL`,
};

/** Shell commands by their first program. Percentiles of durations read every single call, all else roll-ups. */
export async function readProgramsReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportRows<ProgramFigures & { program: string }, ProgramFigures & { programs: number }>> {
  const { rows, totals, truncated, groupCount } = await readGroups<
    CallSums & DurationPercentiles,
    ProgramFigures,
    { program: string }
  >(database, filter, page, {
    parts: [CALLS],
    countsSessions: true,
    durationsOf: TIMED_PROGRAMS,
    aggregates: CALL_SUMS,
    order: sql`calls DESC`,
    toFigures: (sums) => ({ ...toCallFigures(sums), ...toDurationFigures(sums) }),
  });
  return { rows, totals: { programs: groupCount, ...totals }, truncated };
}
