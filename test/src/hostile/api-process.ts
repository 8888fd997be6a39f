import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createApiKey, createDatabasePool, ensureWorkspace, migrateDatabase } from '@recount/db';
import { migrateQueue } from '@recount/ingest/queue';
import { startLocalPostgres } from '@recount/local-postgres';
import { findFreePort } from '../find-free-port.ts';

const CLI = fileURLToPath(new URL('../../../apps/cli/bin/recount.mjs', import.meta.url));
const WORKSPACE = '01J00000000000000000000001';
const START_TIMEOUT_MS = 60_000;

export interface ApiProcess {
  url: string;
  port: number;
  /** Has the scope ingest. */
  key: string;
  /** Its peak memory so far; undefined if the system does not report it. */
  readPeakRssBytes(): Promise<number | undefined>;
  /** Files of the raw store, including unfinished ones. */
  listStore(): Promise<string[]>;
  /** Undefined while it is running. */
  exitCode(): number | string | undefined;
  stop(): Promise<void>;
}

/** An API in a separate process, with its own PostgreSQL and folder store. */
export async function startApiProcess(settings: Record<string, string>): Promise<ApiProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'recount-hostile-api-'));
  const postgres = await startLocalPostgres({ directory: join(directory, 'postgres') });
  await migrateDatabase(postgres.connectionString);
  await migrateQueue(postgres.connectionString);
  const pool = createDatabasePool({ connectionString: postgres.connectionString });
  await ensureWorkspace(pool.database, WORKSPACE, 'hostile');
  const { key } = await createApiKey(pool.database, { workspaceId: WORKSPACE, name: 'hostile', scopes: ['ingest'] });
  await pool.close();
  const store = join(directory, 'raw');
  await mkdir(store);
  const port = await findFreePort();
  const environment = {
    PATH: process.env.PATH,
    HOME: directory,
    DATABASE_URL: postgres.connectionString,
    RECOUNT_RAW_STORE: store,
    RECOUNT_PORT: String(port),
    ...settings,
  };
  const child = spawn(process.execPath, [CLI, 'api'], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'close');
  let isReady = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    isReady ||= text.includes('"msg":"api ready"');
  });
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  while (!isReady) {
    if (child.exitCode !== null || performance.now() > deadlineMs) throw new Error('the API does not start');
    await sleep(50);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    key,
    async readPeakRssBytes() {
      // The launcher starts the program as a separate process.
      const peaks = await Promise.all([child.pid ?? 0, ...(await listChildren(child.pid ?? 0))].map(readPeak));
      return peaks.reduce((peak, next) => (next === undefined ? peak : Math.max(peak ?? 0, next)), undefined);
    },
    listStore: async () =>
      (await readdir(store, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map(({ name }) => name),
    exitCode: () => child.exitCode ?? child.signalCode ?? undefined,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      await postgres.stop();
      for (const path of [directory, postgres.directory]) await rm(path, { recursive: true, force: true });
    },
  };
}

async function listChildren(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

async function readPeak(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}
