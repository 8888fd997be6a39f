import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import type { ReportFilter } from './report-filter.ts';
import { type GroupPart, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import {
  CALL_SUMS,
  type CallFigures,
  type CallSums,
  DURATION_AGGREGATES,
  type DurationFigures,
  type DurationPercentiles,
  EACH_CALL,
  toCallFigures,
  toDurationFigures,
} from './tool-call-figures.ts';

export type ProgramFigures = CallFigures & DurationFigures;

const CALLS: GroupPart = {
  ...EACH_CALL,
  keys: { program: sql`c.program` },
  where: sql`${EACH_CALL.where} AND c.program IS NOT NULL`,
};

/** Shell commands by their first program. */
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
    sessionsOf: CALLS,
    aggregates: { ...CALL_SUMS, ...DURATION_AGGREGATES },
    order: sql`calls DESC`,
    toFigures: (sums) => ({ ...toCallFigures(sums), ...toDurationFigures(sums) }),
  });
  return { rows, totals: { programs: groupCount, ...totals }, truncated };
}
