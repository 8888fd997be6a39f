import { randomBytes } from 'node:crypto';
import { distributeDatabase, migrateDatabase } from '@recount/db';
import { createDatabase, dropDatabase, withClient } from '@recount/local-postgres';

interface CitusNode {
  host: string;
  port: number;
}

/** The URLs of the workers of a coordinator's cluster, with its user, password and database. */
async function listWorkerUrls(coordinatorUrl: string): Promise<string[]> {
  const nodes = await withClient(coordinatorUrl, (client) =>
    client.query<CitusNode>(
      'SELECT node_name AS host, node_port::int AS port FROM citus_get_active_worker_nodes() ORDER BY 2',
    ),
  );
  return nodes.rows.map((node) => toNodeUrl(coordinatorUrl, node));
}

function toNodeUrl(url: string, { host, port }: CitusNode): string {
  const nodeUrl = new URL(url);
  nodeUrl.hostname = host;
  nodeUrl.port = String(port);
  return nodeUrl.href;
}

/** Arbitrary number of the lock that is locked while nodes enter a database. */
const ENTERING_LOCK = 20_260_723;

/**
 * Enters the coordinator and its workers in a database. One database at a time: Citus then writes the roles of the
 * whole server to each node, and two that do so concurrently fail with "tuple concurrently updated". The lock is in the
 * database of `coordinatorUrl`, which all tests have in common.
 */
async function enterNodes(coordinatorUrl: string, connectionString: string, workerUrls: string[]): Promise<void> {
  await withClient(coordinatorUrl, async (lock) => {
    await lock.query('SELECT pg_advisory_lock($1)', [ENTERING_LOCK]);
    await withClient(connectionString, async (client) => {
      const { hostname, port } = new URL(coordinatorUrl);
      await client.query('SELECT citus_set_coordinator_host($1, $2)', [hostname, Number(port || 5432)]);
      for (const workerUrl of workerUrls) {
        const worker = new URL(workerUrl);
        await client.query('SELECT citus_add_node($1, $2)', [worker.hostname, Number(worker.port)]);
      }
    });
  });
}

/** Creates a database on the coordinator and the workers, with the extension, and registers the workers. */
export async function createCitusDatabase(
  coordinatorUrl: string,
  name: string,
): Promise<{ connectionString: string; citusWorkerUrls: string[]; drop(): Promise<void> }> {
  const citusWorkerUrls = await listWorkerUrls(coordinatorUrl);
  const urls = [coordinatorUrl, ...citusWorkerUrls];
  const drop = async () => {
    for (const url of urls) await dropDatabase(url, name);
  };
  try {
    const created = await Promise.all(urls.map((url) => createDatabase(url, name)));
    await Promise.all(created.map((url) => withClient(url, (client) => client.query('CREATE EXTENSION citus'))));
    const connectionString = created[0] as string;
    await enterNodes(coordinatorUrl, connectionString, citusWorkerUrls);
    return { connectionString, citusWorkerUrls, drop };
  } catch (error) {
    await drop();
    throw error;
  }
}

/** Creates a migrated and distributed database for tests to copy, node by node. */
export async function createDistributedTemplate(
  coordinatorUrl: string,
): Promise<{ template: string; citusWorkerUrls: string[]; drop(): Promise<void> }> {
  const template = `recount_template_${randomBytes(8).toString('hex')}`;
  const { connectionString, citusWorkerUrls, drop } = await createCitusDatabase(coordinatorUrl, template);
  try {
    await migrateDatabase(connectionString);
    await distributeDatabase(connectionString);
    for (const url of [coordinatorUrl, ...citusWorkerUrls]) await closeToAll(url, template);
  } catch (error) {
    await drop();
    throw error;
  }
  return { template, citusWorkerUrls, drop };
}

/** Closes the cluster's own connections to the database, because it can only be copied without any. */
async function closeToAll(serverUrl: string, database: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    await client.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
    const endOthers = 'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1';
    while ((await client.query(endOthers, [database])).rowCount !== 0);
  });
}
