import type { ReportBody } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { GroupPart } from './group-part.ts';
import { type ReportPage, readGroups } from './report-groups.ts';
import { CALL_SUMS, type CallFigures, type CallSums, ROLLED_UP_CALLS, toCallFigures } from './tool-call-figures.ts';

const CALLS: GroupPart = {
  ...ROLLED_UP_CALLS,
  keys: { skill_name: sql`r.skill_name` },
  where: sql`r.skill_name IS NOT NULL`,
};

/** Skills that agents loaded. */
export async function readSkillsReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportBody<'skills'>> {
  const { rows, totals, truncated, groupCount } = await readGroups<CallSums, CallFigures, { skill_name: string }>(
    database,
    filter,
    page,
    {
      parts: [CALLS],
      countsSessions: true,
      aggregates: CALL_SUMS,
      order: sql`calls DESC`,
      toFigures: toCallFigures,
    },
  );
  return { rows, totals: { skills: groupCount, ...totals }, truncated };
}
