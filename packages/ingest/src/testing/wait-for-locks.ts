import { setTimeout as sleep } from 'node:timers/promises';
import { isOnCitus } from '@recount/local-postgres/testing';
import type { TestInstallation } from './test-installation.ts';

const COUNT_WAITING = `
  SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
const COUNT_ON_ALL_NODES = `
  SELECT sum(result::int)::int AS waiting FROM run_command_on_all_nodes('${COUNT_WAITING.replaceAll("'", "''")}')`;

/** Resolves once this many connections are waiting for a lock, on any node. */
export async function waitForLocks({ database }: Pick<TestInstallation, 'database'>, count: number): Promise<void> {
  const query = isOnCitus() ? COUNT_ON_ALL_NODES : COUNT_WAITING;
  for (;;) {
    const { rows } = await database.pool.query<{ waiting: number }>(query);
    if ((rows[0]?.waiting ?? 0) >= count) return;
    await sleep(10);
  }
}
