import { setTimeout as sleep } from 'node:timers/promises';
import type { TestInstallation } from './test-installation.ts';

/** Resolves once so many connections wait for a lock. */
export async function waitForLocks({ database }: Pick<TestInstallation, 'database'>, count: number): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    if ((rows[0]?.waiting ?? 0) >= count) return;
    await sleep(10);
  }
}
