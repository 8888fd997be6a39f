import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { withSessions } from './group-part.ts';
import type { ReportFilter } from './report-filter.ts';
import { type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { ROLLED_UP_CALLS, toRate, toRollupSums } from './tool-call-figures.ts';

interface DenialFigures {
  denied: number;
  /** All calls of the kind. */
  calls: number;
  denial_rate: number | null;
  /** Sessions in which one was denied. */
  sessions: number;
}

type DenialKeys = { tool: string; program: string | null };

/** Tools, and programs of shell commands, with at least one denied call; totals cover all calls. */
export async function readPermissionDenialsReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportRows<DenialFigures & DenialKeys, DenialFigures>> {
  return await readGroups<Omit<DenialFigures, 'denial_rate'>, DenialFigures, DenialKeys>(database, filter, page, {
    parts: [
      {
        ...ROLLED_UP_CALLS,
        table: (scope) => ROLLED_UP_CALLS.table(withSessions(scope)),
        keys: { tool: sql`r.tool_name`, program: sql`r.program` },
        groupedColumns: ['session_id'],
        columns: {
          session_id: sql`CASE WHEN r.denied > 0 THEN r.session_id END`,
          ...toRollupSums(['denied', 'calls']),
        },
      },
    ],
    aggregates: {
      denied: sql`coalesce(sum(denied), 0)::float8`,
      calls: sql`coalesce(sum(calls), 0)::float8`,
      sessions: sql`count(DISTINCT session_id)::float8`,
    },
    having: sql`sum(denied) > 0`,
    order: sql`denied DESC`,
    toFigures: ({ denied, calls, sessions }) => ({ denied, calls, denial_rate: toRate(denied, calls), sessions }),
  });
}
