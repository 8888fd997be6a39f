import type { DataRange } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { toIso } from './local-days.ts';
import { toConditions, toReportSource } from './report-source.ts';

/**
 * Reads when the sessions that pass the filter, ignoring its `from` and `to`, began and ended. This suggests where to
 * look if a range is empty.
 */
export async function readDataRange(database: Database, filter: ReportFilter): Promise<DataRange> {
  const source = toReportSource('s', { time: 'first_timestamp' });
  const conditions = toConditions({ ...filter, from: null, to: null }, source);
  const { rows } = await database.execute<{ sessions: number; first_ms: number | null; last_ms: number | null }>(sql`
    SELECT count(*)::float8 AS sessions, extract(epoch FROM min(s.first_timestamp))::float8 * 1000 AS first_ms,
      extract(epoch FROM max(s.last_timestamp))::float8 * 1000 AS last_ms
    FROM recount.sessions AS s WHERE ${conditions}`);
  const { sessions = 0, first_ms: firstMs = null, last_ms: lastMs = null } = rows[0] ?? {};
  return { sessions, first_timestamp: toIso(firstMs), last_timestamp: toIso(lastMs) };
}
