import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { createDatabase, dropDatabase } from './databases.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server to create databases on, and the name of a migrated database to copy. Provided by the global setup. */
    postgres: { serverUrl: string; template: string };
  }
}

export interface TestDatabase {
  connectionString: string;
  /** Drops the database with the connections to it. */
  drop(): Promise<void>;
}

/** Creates a migrated, empty database for one test file, in about 40 ms. Only in tests of the project `integration`. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { serverUrl, template } = inject('postgres');
  const name = `test_${randomBytes(8).toString('hex')}`;
  const connectionString = await createDatabase(serverUrl, name, template);
  return { connectionString, drop: () => dropDatabase(serverUrl, name) };
}
