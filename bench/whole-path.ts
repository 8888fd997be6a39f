import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabasePool, type DatabasePool, migrateDatabase, readSearchBacklog } from '@recount/db';
import { createDatabase, dropDatabase } from '@recount/local-postgres';
import { type Measurement, measureInChild, runChild } from './child.ts';
import { verifyWorkspace } from './scale/check-run.ts';
import { readCpuSeconds, readPeakRssBytes, readServerCpuSeconds } from './scale/process-resources.ts';
import { startWorkerProcess } from './scale/worker-process.ts';

export interface WholePathFigures {
  readonly bytes: number;
  readonly documents: number;
  /** From the start of the backfill until rows, ledger and reports are complete. */
  readonly ingestedMs: number;
  /** Until search finds everything as well. */
  readonly queryableMs: number;
  /** Of the processes of backfill, workers and PostgreSQL, until everything is queryable. */
  readonly cpuSeconds: { readonly backfill: number; readonly worker: number; readonly postgres: number };
  /** COPY of the same rows from prepared text. */
  readonly copyMs: number;
  /** The backfill's peak, and the highest peak of any worker process. */
  readonly peakRssBytes: { readonly backfill: number; readonly worker: number };
  /** Tables where counting everything again gave the same rows. */
  readonly verifiedTables: number;
}

export interface WholePathOptions {
  /** Of the measured server, where a new database is created. */
  readonly connectionString: string;
  readonly folder: string;
  /** File or folder with transcripts. */
  readonly path: string;
  readonly workers?: number;
}

const POLL_MS = 50;
const DATABASE = 'whole_path';
const WORKSPACE = 'bench';

/**
 * Ingests transcripts from disk into an empty workspace with the processes of `recount up`, until everything can be
 * queried. Throws if the rows are not what `recount verify` counts.
 */
export async function benchWholePath(options: WholePathOptions): Promise<WholePathFigures> {
  const { folder, path, workers: workerCount = 1 } = options;
  const [store, rows] = [join(folder, 'whole-path-raw'), join(folder, 'whole-path-rows')];
  await Promise.all([mkdir(store), mkdir(rows)]);
  const serverUrl = new URL(options.connectionString);
  serverUrl.pathname = '/postgres';
  const connectionString = await createDatabase(serverUrl.href, DATABASE);
  await migrateDatabase(connectionString);
  const database = createDatabasePool({ connectionString });
  const starting = Array.from({ length: workerCount }, () => startWorkerProcess(connectionString, store));
  const workers = await Promise.all(starting);
  const readWorkerCpu = async (): Promise<number> => {
    let seconds = 0;
    for (const { pid } of workers) seconds += await readCpuSeconds(pid);
    return seconds;
  };
  try {
    const before = { worker: await readWorkerCpu(), postgres: await readPostgresCpu(database) };
    const startedAtMs = performance.now();
    const backfill = await backfillInChild(connectionString, store, path);
    await waitForSearch(database);
    const queryableMs = performance.now() - startedAtMs;
    const cpuSeconds = {
      backfill: backfill.cpuSeconds,
      worker: (await readWorkerCpu()) - before.worker,
      postgres: (await readPostgresCpu(database)) - before.postgres,
    };
    const documents = await countTexts(database);
    const workerPeaks = await Promise.all(workers.map(({ pid }) => readPeakRssBytes(pid)));
    await Promise.all(workers.map((worker) => worker.stop()));
    const { faults, tableCount: verifiedTables } = await verifyWorkspace(database, WORKSPACE);
    if (faults.length > 0) throw new Error(`verify: ${faults.join('; ')}`);
    await runChild('./copy-child.ts', 'save', connectionString, rows);
    const copy = await measureInChild('./copy-child.ts', 'load', connectionString, rows);
    const { bytes, milliseconds: ingestedMs } = backfill;
    const peakRssBytes = { backfill: backfill.peakRssBytes, worker: Math.max(...workerPeaks) };
    const times = { ingestedMs, queryableMs, copyMs: copy.milliseconds };
    return { bytes, documents, ...times, cpuSeconds, peakRssBytes, verifiedTables };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await database.close();
    await dropDatabase(serverUrl.href, DATABASE);
    await Promise.all([store, rows].map((each) => rm(each, { recursive: true })));
  }
}

type Backfilled = Measurement & { bytes: number; cpuSeconds: number };

async function backfillInChild(connectionString: string, store: string, path: string): Promise<Backfilled> {
  return JSON.parse(await runChild('./backfill-child.ts', connectionString, store, WORKSPACE, path)) as Backfilled;
}

async function waitForSearch({ database }: DatabasePool): Promise<void> {
  while ((await readSearchBacklog(database)).waitingSessions > 0) await sleep(POLL_MS);
}

async function readPostgresCpu({ pool }: DatabasePool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return await readServerCpuSeconds(rows[0]?.pid ?? 0);
}

async function countTexts({ pool }: DatabasePool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'SELECT coalesce(sum(document_count), 0)::int AS count FROM recount.search_segments',
  );
  return rows[0]?.count ?? 0;
}
