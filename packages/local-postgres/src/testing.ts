import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { createDatabase, dropDatabase, withClient } from './databases.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server to create databases on, and the name of a migrated database to copy. Provided by the global setup. */
    postgres: {
      serverUrl: string;
      template: string;
      /** If that server is the coordinator of a Citus cluster: its workers, which have the template as well. */
      citusWorkerUrls: string[];
    };
  }
}

export interface TestDatabase {
  connectionString: string;
  /** Drops the database and its connections. */
  drop(): Promise<void>;
}

/** Whether the tests run against a Citus cluster: querying the coordinator's own tables is then meaningless. */
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
    // The coordinator first: its daemons would connect to the others.
    async drop() {
      for (const url of [serverUrl, ...citusWorkerUrls]) await dropDatabase(url, name);
    },
  };
}

/** For a property test of which a run sends only a few statements: more runs than if each fills a database. */
export const withFewStatements = (): { numRuns: number } => ({ numRuns: 6 * inject('propertyTests').numRuns });
