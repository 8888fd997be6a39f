import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createApiKey, createDatabasePool, ensureWorkspace, migrateDatabase } from '@recount/db';
import { startLocalPostgres } from '@recount/local-postgres';
import { findFreePort } from '../find-free-port.ts';

export const CLI = fileURLToPath(new URL('../../../apps/cli/bin/recount.mjs', import.meta.url));
export const HOSTILE_WORKSPACE = '01J00000000000000000000001';
/** As in a container of 1 GiB with the image's options where V8 chooses half of it for the heap. */
const CONTAINER_NODE_OPTIONS = '--max-semi-space-size=8 --max-old-space-size=512';
const START_TIMEOUT_MS = 60_000;

export interface ApiProcess {
  url: string;
  port: number;
  /** Has the scopes ingest and read. */
  key: string;
  connectionString: string;
  /** Variables that API and other programs of the installation read from the environment. */
  environment: NodeJS.ProcessEnv;
  /** Starts the API anew. */
  restart(): Promise<void>;
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
  const pool = createDatabasePool({ connectionString: postgres.connectionString });
  await ensureWorkspace(pool.database, HOSTILE_WORKSPACE, 'hostile');
  const { key } = await createApiKey(pool.database, {
    workspaceId: HOSTILE_WORKSPACE,
    name: 'hostile',
    scopes: ['ingest', 'read'],
  });
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
    NODE_OPTIONS: CONTAINER_NODE_OPTIONS,
    ...settings,
  };
  let child = await startProgram('api', environment);
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'close');
    child.kill('SIGTERM');
    await exited;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    key,
    connectionString: postgres.connectionString,
    environment,
    async restart() {
      await end();
      child = await startProgram('api', environment);
    },
    readPeakRssBytes: () => readPeakOfProgram(child),
    listStore: async () =>
      (await readdir(store, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map(({ name }) => name),
    exitCode: () => child.exitCode ?? child.signalCode ?? undefined,
    async stop() {
      await end();
      await postgres.stop();
      for (const path of [directory, postgres.directory]) await rm(path, { recursive: true, force: true });
    },
  };
}

/** The launcher starts the program as a separate process. */
const listProcesses = async ({ pid = 0 }: ChildProcess): Promise<number[]> => [pid, ...(await listChildren(pid))];

/** Peak memory of the largest process of a `recount` command; undefined if the system does not report it. */
export async function readPeakOfProgram(program: ChildProcess): Promise<number | undefined> {
  const peaks = await Promise.all((await listProcesses(program)).map(readPeak));
  return peaks.reduce((peak, next) => (next === undefined ? peak : Math.max(peak ?? 0, next)), undefined);
}

/** A worker of the installation that is ready. */
export async function startWorkerProcess({ environment }: Pick<ApiProcess, 'environment'>): Promise<ChildProcess> {
  return await startProgram('worker', environment);
}

async function startProgram(command: 'api' | 'worker', environment: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const child = spawn(process.execPath, [CLI, command], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  let isReady = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    isReady ||= text.includes(`"msg":"${command} ready"`);
  });
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  while (!isReady) {
    if (child.exitCode !== null || performance.now() > deadlineMs) throw new Error(`the ${command} does not start`);
    await sleep(50);
  }
  return child;
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
