import type { ReportBody, ReportTotals } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { GroupPart } from './group-part.ts';
import { type ReportPage, readGroups } from './report-groups.ts';
import { ROLLED_UP_CALLS, toRate, toRollupSums, toSum } from './tool-call-figures.ts';

type DenialFigures = ReportTotals<'permission-denials'>;

type DenialKeys = { tool: string; program: string | null };

const CALLS: GroupPart = { ...ROLLED_UP_CALLS, keys: { tool: sql`r.tool_name`, program: sql`r.program` } };

/** Tools, and programs of shell commands, with at least one denied call; totals cover all calls. */
export async function readPermissionDenialsReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportBody<'permission-denials'>> {
  return await readGroups<Omit<DenialFigures, 'denial_rate'>, DenialFigures, DenialKeys>(database, filter, page, {
    parts: [{ ...CALLS, columns: toRollupSums(['denied', 'calls']) }],
    countsSessions: { ...CALLS, where: sql`r.denied > 0` },
    aggregates: {
      denied: toSum('denied'),
      calls: toSum('calls'),
    },
    having: sql`sum(denied) > 0`,
    order: sql`denied DESC`,
    toFigures: ({ denied, calls, sessions }) => ({ denied, calls, denial_rate: toRate(denied, calls), sessions }),
  });
}
