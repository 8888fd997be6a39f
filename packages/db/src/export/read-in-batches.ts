import type { DatabasePool } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';

/** Rows that are in memory at a time. */
const EXPORT_BATCH_ROWS = 1000;

export type ExportRow = Record<string, unknown>;

/**
 * Runs a query through a cursor: all rows are of the moment in which it starts, and no more than a batch of them is in
 * memory. The next batch is fetched when `onRows` has resolved. Aborting ends the query. Values are as the driver gives
 * them: bigint and numeric as text, timestamps as Postgres prints them.
 */
export async function readInBatches(
  database: Pick<DatabasePool, 'withTransaction'>,
  query: SQL,
  onRows: (rows: ExportRow[]) => Promise<void>,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  await database.withTransaction(
    async (transaction) => {
      // Whoever reads slowly holds no lock that others wait for.
      await transaction.execute(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`);
      await transaction.execute(sql`DECLARE recount_export NO SCROLL CURSOR FOR ${query}`);
      for (;;) {
        const { rows } = await transaction.execute<ExportRow>(
          sql.raw(`FETCH FORWARD ${EXPORT_BATCH_ROWS} FROM recount_export`),
        );
        if (rows.length > 0) await onRows(rows);
        if (rows.length < EXPORT_BATCH_ROWS) return;
      }
    },
    { signal },
  );
}
