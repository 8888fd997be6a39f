import type { Database, DatabasePool } from '../database/database.ts';
import { preferHashing } from '../database/planner.ts';
import { sql } from '../drizzle.cjs';

/** A statement of the report exceeded the time limit. */
export class ReportTimeoutError extends Error {
  override name = 'ReportTimeoutError';
}

export const DEFAULT_REPORT_TIMEOUT_MS = 30_000;
const QUERY_CANCELED = '57014';

/**
 * Runs `work`, which reads a report, on one snapshot with settings for reports. Throws ReportTimeoutError if a
 * statement takes longer than `timeoutMs`; otherwise rejects like `work`.
 */
export async function withReportSnapshot<T>(
  pool: Pick<DatabasePool, 'withSnapshot'>,
  work: (snapshot: Database) => Promise<T>,
  timeoutMs = DEFAULT_REPORT_TIMEOUT_MS,
): Promise<T> {
  try {
    return await pool.withSnapshot(async (snapshot) => {
      await preferHashing(snapshot);
      await snapshot.execute(sql.raw(`SET LOCAL statement_timeout = ${Math.ceil(timeoutMs)}`));
      return await work(snapshot);
    });
  } catch (error) {
    const { cause } = error as { cause?: { code?: unknown } };
    if (cause?.code !== QUERY_CANCELED) throw error;
    throw new ReportTimeoutError(`The report took longer than ${timeoutMs} ms`);
  }
}
