import type { Database, DatabasePool } from '../../database.ts';
import { sql } from '../../drizzle.cjs';

/** A statement of the report took longer than it may. */
export class ReportTimeoutError extends Error {
  override name = 'ReportTimeoutError';
}

export const DEFAULT_REPORT_TIMEOUT_MS = 30_000;
const QUERY_CANCELED = '57014';

/**
 * Runs `work`, which reads a report, on one snapshot with the settings that suit reports. Throws ReportTimeoutError where
 * a statement takes longer than `timeoutMs`, or rejects with what `work` rejects with.
 */
export async function withReportSnapshot<T>(
  pool: Pick<DatabasePool, 'withSnapshot'>,
  work: (snapshot: Database) => Promise<T>,
  timeoutMs = DEFAULT_REPORT_TIMEOUT_MS,
): Promise<T> {
  try {
    return await pool.withSnapshot(async (snapshot) => {
      await prepareReports(snapshot, timeoutMs);
      return await work(snapshot);
    });
  } catch (error) {
    const { cause } = error as { cause?: { code?: unknown } };
    if (cause?.code !== QUERY_CANCELED) throw error;
    throw new ReportTimeoutError(`The report took longer than ${timeoutMs} ms`);
  }
}

/**
 * Settings until the end of the transaction: sums are made by hashing, as a report has few groups of many rows, for
 * which Postgres would plan to sort them all; compiling a query would take longer than running it.
 */
async function prepareReports(transaction: Database, timeoutMs: number): Promise<void> {
  await transaction.execute(sql`
    SELECT set_config('work_mem', '16MB', true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true),
      set_config('statement_timeout', ${String(Math.ceil(timeoutMs))}, true)`);
}
