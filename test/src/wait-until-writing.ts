import type { DatabasePool } from '@recount/db';
import { expect, vi } from 'vitest';

const WAIT = { timeout: 240_000, interval: 5 };

/** Resolves when a worker is in the middle of a transcript: its transaction has written rows and is not committed. */
export async function waitUntilWriting({ pool }: Pick<DatabasePool, 'pool'>): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE datname = current_database() AND backend_xid IS NOT NULL AND query ILIKE 'COPY%'`,
    );
    expect(rows[0]?.count).toBeGreaterThan(0);
  }, WAIT);
}
