import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';

const POLL_INTERVAL_MS = 100;

/**
 * Resolves when every transaction that had begun to write has ended: none is left that may have read settings of before.
 * Takes as long as the longest of them, an ingestion under way among them.
 */
export async function waitForWriters(database: Database, signal?: AbortSignal): Promise<void> {
  const { rows } = await database.execute<{ id: string }>(sql`SELECT pg_current_xact_id()::text AS id`);
  for (;;) {
    const { rows: now } = await database.execute<{ has_ended: boolean }>(
      sql`SELECT pg_snapshot_xmin(pg_current_snapshot()) > ${rows[0]?.id}::xid8 AS has_ended`,
    );
    if (now[0]?.has_ended) return;
    await sleep(POLL_INTERVAL_MS, undefined, { signal });
  }
}
