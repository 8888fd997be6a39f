import { retry } from '@recount/service/retry';
import { Client, escapeIdentifier } from 'pg';

const connectTimeoutMs = 5_000;

/** Runs something with a separate connection, which is closed afterwards. */
export async function withClient<T>(connectionString: string, run: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString, connectionTimeoutMillis: connectTimeoutMs });
  // A connection lost during a query also rejects the query; the event alone would crash the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

/** The same server, user and options with another database. */
export function toDatabaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${encodeURIComponent(database)}`;
  return url.href;
}

/** For a server in a Citus cluster; other servers ignore it. */
const ON_THIS_SERVER = 'SET citus.enable_create_database_propagation = off';

/** Creates a database, as a copy of `template` if given, and returns its connection string. */
export async function createDatabase(serverUrl: string, name: string, template?: string): Promise<string> {
  const from = template === undefined ? '' : ` TEMPLATE ${escapeIdentifier(template)}`;
  await withClient(serverUrl, async (client) => {
    await client.query(ON_THIS_SERVER);
    await client.query(`CREATE DATABASE ${escapeIdentifier(name)}${from}`);
  });
  return toDatabaseUrl(serverUrl, name);
}

/**
 * The server waits five seconds for connections that it terminates; a process of Citus, or a busy machine, may take
 * longer.
 */
const OBJECT_IN_USE = '55006';
const DROPPING = { maxAttempts: 10, firstMs: 0, longestMs: 0 };

/** Drops a database and its connections. It is no error if it does not exist. */
export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    await client.query(ON_THIS_SERVER);
    await retry(() => client.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`), {
      ...DROPPING,
      toPassing: (error) => ((error as { code?: string }).code === OBJECT_IN_USE ? {} : undefined),
    });
  });
}
