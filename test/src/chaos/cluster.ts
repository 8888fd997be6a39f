import { exec } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { withClient } from '@recount/local-postgres';
import { createCitusDatabase } from '../citus-test-server.ts';
import type { KillablePostgres } from './killable-postgres.ts';

export interface ClusterOptions {
  /** URL of the coordinator, on this machine. */
  citusUrl: string;
  /**
   * Restarts the node whose port is in the variable PORT, immediately. Undefined means that nodes keep running, and
   * only lose connections.
   */
  restartCommand: string | undefined;
}

const run = promisify(exec);
const START_ATTEMPTS = 60;
const CONNECTION = 'connection';

/** A separate database on a running Citus cluster, whose connections are broken and whose nodes are restarted. */
export async function startCluster(
  { citusUrl, restartCommand }: ClusterOptions,
  onStart: (port: number) => void,
): Promise<KillablePostgres> {
  const created = await createCitusDatabase(citusUrl, `recount_chaos_${randomBytes(8).toString('hex')}`);
  const { connectionString } = created;
  const urls = [connectionString, ...created.citusWorkerUrls.map((url) => toSameDatabase(url, connectionString))];
  const ports = urls.map((url) => new URL(url).port || '5432');
  const failedStarts: string[] = [];
  let longestStartMs = 0;
  onStart(Number(ports[0]));

  const victims = [CONNECTION];
  if (restartCommand !== undefined) victims.push(...ports.map((port, index) => toNodeName(index, port)));
  return {
    connectionString: () => connectionString,
    directory: undefined,
    victims,
    // Nodes are only ever restarted, never ended.
    ensureRunning: () => Promise.resolve(),
    failedStarts,
    longestStartMs: () => longestStartMs,
    async kill(victim) {
      if (victim === CONNECTION) {
        await Promise.all(urls.map(breakConnection));
        return;
      }
      const index = ports.findIndex((port, position) => toNodeName(position, port) === victim);
      const startedAtMs = performance.now();
      await run(restartCommand ?? '', { env: { ...process.env, PORT: ports[index] } });
      await waitUntilThere(urls[index] ?? connectionString, failedStarts);
      longestStartMs = Math.max(longestStartMs, performance.now() - startedAtMs);
    },
    stop: () => created.drop(),
  };
}

const toNodeName = (index: number, port: string): string => (index === 0 ? `coordinator ${port}` : `node ${port}`);

function toSameDatabase(serverUrl: string, connectionString: string): string {
  const url = new URL(serverUrl);
  url.pathname = new URL(connectionString).pathname;
  return url.href;
}

/** Breaks a connection to the database that is in a transaction, if there is one. */
async function breakConnection(url: string): Promise<void> {
  await withClient(url, (client) =>
    client.query(`
      SELECT pg_terminate_backend(pid) FROM (
        SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        ORDER BY state = 'idle', random() LIMIT 1
      ) AS chosen`),
  );
}

async function waitUntilThere(url: string, failedStarts: string[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await withClient(url, (client) => client.query('SELECT'));
      return;
    } catch (error) {
      failedStarts.push((error as Error).message);
      if (attempt >= START_ATTEMPTS) throw error;
      await sleep(500);
    }
  }
}
