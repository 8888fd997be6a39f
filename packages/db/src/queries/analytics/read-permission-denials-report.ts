import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import type { ReportFilter } from './report-filter.ts';
import { type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { EACH_CALL, toRate } from './tool-call-figures.ts';

export interface DenialFigures {
  denied: number;
  /** All calls of the kind. */
  calls: number;
  denial_rate: number | null;
  /** In which one was denied. */
  sessions: number;
}

type DenialKeys = { tool: string; program: string | null };

/** Tools, and programs of shell commands, of which a call was refused; totals are of all calls. */
export async function readPermissionDenialsReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportRows<DenialFigures & DenialKeys, DenialFigures>> {
  return await readGroups<Omit<DenialFigures, 'denial_rate'>, DenialFigures, DenialKeys>(database, filter, page, {
    parts: [
      {
        ...EACH_CALL,
        keys: { tool: sql`c.tool_name`, program: sql`c.program` },
        columns: { session_id: sql`CASE WHEN c.is_denied THEN c.session_id END`, is_denied: sql`c.is_denied` },
      },
    ],
    aggregates: {
      denied: sql`(count(*) FILTER (WHERE is_denied))::float8`,
      calls: sql`count(*)::float8`,
      sessions: sql`count(DISTINCT session_id)::float8`,
    },
    having: sql`bool_or(is_denied)`,
    order: sql`denied DESC`,
    toFigures: ({ denied, calls, sessions }) => ({ denied, calls, denial_rate: toRate(denied, calls), sessions }),
  });
}
