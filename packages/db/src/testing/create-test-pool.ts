import { createTestDatabase } from '@recount/local-postgres/testing';
import { createDatabasePool, type DatabasePool } from '../database/database.ts';
import { ensureWorkspace } from '../workspaces/workspaces.ts';

export const TEST_WORKSPACE = '01J00000000000000000000001';
export const OTHER_WORKSPACE = '01J00000000000000000000002';

/** A pool on a separate migrated database with two workspaces; closing the pool drops the database. */
export async function createTestPool(): Promise<DatabasePool & { connectionString: string }> {
  const { connectionString, drop } = await createTestDatabase();
  const pool = createDatabasePool({ connectionString });
  await ensureWorkspace(pool.database, TEST_WORKSPACE, 'test');
  await ensureWorkspace(pool.database, OTHER_WORKSPACE, 'other');
  return {
    ...pool,
    connectionString,
    async close() {
      await pool.close();
      await drop();
    },
  };
}
