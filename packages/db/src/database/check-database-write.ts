import { randomBytes } from 'node:crypto';
import type { DatabasePool } from './database.ts';

/** Fixed width, so that the rows are neither compressed nor moved to a TOAST table. */
const ROW_CHARACTERS = 400;
const STATEMENT_TIMEOUT_MS = 10_000;
/** The role may create no table: it cannot be told how much a write of its own would find. */
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Writes about `sizeBytes` (at least one row of 400 bytes) as ingestion does, into new pages and with their WAL, and
 * rolls back: nothing stays, not even space in a file. Rejects with the database's error where that fails, e.g. 53100
 * for a full disk or 25006 for a replica. A role that may not create tables in the schema `recount` passes if the
 * database is not read-only.
 */
export async function checkDatabaseWrite({ pool }: Pick<DatabasePool, 'pool'>, sizeBytes: number): Promise<void> {
  const rowCount = Math.max(1, Math.ceil(sizeBytes / ROW_CHARACTERS));
  // A table of its own each time: probes of several processes need not wait for each other.
  const table = `recount.write_probe_${randomBytes(8).toString('hex')}`;
  const client = await pool.connect();
  let failure: unknown;
  // A connection that breaks rejects the query as well; the event alone would end the process.
  const onError = (): void => {};
  client.on('error', onError);
  try {
    await client.query(`
      BEGIN READ WRITE; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS};
      CREATE TABLE ${table} (filler char(${ROW_CHARACTERS}) NOT NULL);
      INSERT INTO ${table} SELECT '' FROM generate_series(1, ${rowCount});
      ROLLBACK`);
  } catch (error) {
    failure = error;
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
  } finally {
    client.off('error', onError);
    // After an error the transaction is still open.
    client.release(failure !== undefined);
  }
}
