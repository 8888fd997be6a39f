import type { ReportBody, ReportTotals } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { detailNumber, readEvents } from './event-source.ts';
import { type ReportPage, readGroups } from './report-groups.ts';

type ApiErrorFigures = ReportTotals<'api-errors'>;

/** API errors and retries, by the error's name. */
export async function readApiErrorsReport(
  database: Database,
  filter: ReportFilter,
  page: ReportPage,
): Promise<ReportBody<'api-errors'>> {
  return await readGroups<ApiErrorFigures, ApiErrorFigures, { error: string | null }>(database, filter, page, {
    parts: [
      {
        ...readEvents(filter, ['api_error', 'api_retry']),
        keys: { error: sql`e.name` },
        columns: { session_id: sql`e.session_id`, kind: sql`e.kind`, wait_ms: detailNumber('retryInMs') },
      },
    ],
    aggregates: {
      errors: sql`(count(*) FILTER (WHERE kind = 'api_error'))::float8`,
      retries: sql`(count(*) FILTER (WHERE kind = 'api_retry'))::float8`,
      sessions: sql`count(DISTINCT session_id)::float8`,
      // As numeric, whose sum is the same in any order.
      retry_wait_ms: sql`coalesce(sum(wait_ms::numeric) FILTER (WHERE kind = 'api_retry'), 0)::float8`,
    },
    order: sql`errors DESC, retries DESC`,
    toFigures: ({ errors, retries, sessions, retry_wait_ms }) => ({ errors, retries, sessions, retry_wait_ms }),
  });
}
