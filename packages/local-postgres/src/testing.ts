import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { inject } from 'vitest';
import { createDatabase, dropDatabase, withClient } from './databases.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server to create databases on, and the name of a migrated database to copy. Provided by the global setup. */
    postgres: {
      serverUrl: string;
      template: string;
      /** Workers of the Citus cluster if that server is its coordinator. They have the template as well. */
      citusWorkerUrls: string[];
    };
  }
}

export interface TestDatabase {
  connectionString: string;
  /** Drops the database and its connections. */
  drop(): Promise<void>;
}

/** True if the tests run against a Citus cluster. Querying the coordinator's own tables is then meaningless. */
export const isOnCitus = (): boolean => inject('postgres').citusWorkerUrls.length > 0;

/**
 * Creates a migrated, empty database for one test file, in about 40 ms. Only for tests of the project `integration`.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { serverUrl, template, citusWorkerUrls } = inject('postgres');
  const name = `test_${randomBytes(8).toString('hex')}`;
  const [connectionString] = await Promise.all(
    [serverUrl, ...citusWorkerUrls].map((url) => createDatabase(url, name, template)),
  );
  if (isOnCitus()) {
    // Tests create triggers on distributed tables to make a write fail; recount itself has none.
    await withClient(serverUrl, (client) =>
      client.query(`ALTER DATABASE ${name} SET citus.enable_unsafe_triggers = on`),
    );
  }
  return {
    connectionString: connectionString as string,
    // The coordinator first, because its daemons would connect to the others.
    async drop() {
      for (const url of [serverUrl, ...citusWorkerUrls]) await dropDatabase(url, name);
    },
  };
}

/** For a property test with only a few statements per run. It gets more runs than if each filled a database. */
export const withFewStatements = (): { numRuns: number } => ({ numRuns: 6 * inject('propertyTests').numRuns });

const COUNT_WAITING = `
  SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
const COUNT_ON_ALL_NODES = `
  SELECT sum(result::int)::int AS waiting FROM run_command_on_all_nodes('${COUNT_WAITING.replaceAll("'", "''")}')`;

/** Resolves once this many connections are waiting for a lock, on any node. */
export async function waitForLocks({ database }: { database: { pool: Pool } }, count: number): Promise<void> {
  const query = isOnCitus() ? COUNT_ON_ALL_NODES : COUNT_WAITING;
  for (;;) {
    const { rows } = await database.pool.query<{ waiting: number }>(query);
    if ((rows[0]?.waiting ?? 0) >= count) return;
    await sleep(10);
  }
}
