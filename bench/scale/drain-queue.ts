import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabasePool } from '@recount/db';
import { readCpuSeconds } from './process-resources.ts';
import {
  readServerCounters,
  readStatementShares,
  type ServerCounters,
  type StatementShare,
} from './server-counters.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

export interface DrainFigures extends ServerCounters {
  workers: number;
  /** From the release of the jobs to the end of the last. */
  seconds: number;
  workerCpuSeconds: number;
  /** Average number of active backends, by what they wait for; `CPU` if they wait for nothing. */
  backendsByWait: Record<string, number>;
  statementShares: StatementShare[];
  /** From the release of the jobs until everything was indexed for search as well. */
  secondsWithSearch: number;
  /** The cost of that, including the ingestion. */
  withSearch: ServerCounters & { workerCpuSeconds: number };
}

export interface DrainOptions {
  connectionString: string;
  rawStoreFolder: string;
  workers: number;
}

const SAMPLE_INTERVAL_MS = 200;
const MAX_IDLE_MS = 120_000;

/** Makes worker processes take all held-back jobs of a database, and measures from their release. */
export async function drainQueue(database: DatabasePool, options: DrainOptions): Promise<DrainFigures> {
  const { connectionString, rawStoreFolder, workers: workerCount } = options;
  const starting = Array.from({ length: workerCount }, () => startWorkerProcess(connectionString, rawStoreFolder));
  const workers = await Promise.all(starting);
  const readCounters = async () => ({
    workerCpuSeconds: await sumCpuSeconds(workers),
    ...(await readServerCounters(database)),
  });
  try {
    await database.pool.query('CHECKPOINT');
    await database.pool.query('SELECT pg_stat_statements_reset()');
    const before = await readCounters();
    const releasedAtMs = performance.now();
    await database.pool.query('UPDATE recount.ingest_jobs SET not_before = NULL');
    const backendsByWait = await sampleUntilDone(database, 'SELECT FROM recount.ingest_jobs');
    const seconds = (performance.now() - releasedAtMs) / 1000;
    const drained = subtract(await readCounters(), before);
    const statementShares = await readStatementShares(database);
    await sampleUntilDone(database, 'SELECT FROM recount.search_waiting');
    const secondsWithSearch = (performance.now() - releasedAtMs) / 1000;
    const withSearch = subtract(await readCounters(), before);
    return {
      workers: workerCount,
      seconds,
      ...drained,
      backendsByWait,
      statementShares,
      secondsWithSearch,
      withSearch,
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

/** Holds back the jobs of a database until `drainQueue`. */
export async function holdJobs({ pool }: DatabasePool): Promise<void> {
  await pool.query(`UPDATE recount.ingest_jobs SET not_before = now() + interval '1 year'`);
}

async function sumCpuSeconds(workers: readonly WorkerProcess[]): Promise<number> {
  let seconds = 0;
  for (const { pid } of workers) seconds += await readCpuSeconds(pid);
  return seconds;
}

const subtract = <Counters extends Record<keyof Counters, number>>(after: Counters, before: Counters): Counters =>
  Object.fromEntries(
    (Object.keys(after) as (keyof Counters)[]).map((name) => [name, after[name] - before[name]]),
  ) as Counters;

/** Samples what backends wait for until a query returns nothing more. */
async function sampleUntilDone({ pool }: DatabasePool, remaining: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let samples = 0;
  let fewest = Number.POSITIVE_INFINITY;
  let lastChange = performance.now();
  for (;;) {
    const { rows: waits } = await pool.query<{ wait: string; backends: number }>(
      `SELECT CASE WHEN wait_event IS NULL THEN 'CPU' ELSE wait_event_type || ': ' || wait_event END AS wait,
         count(*)::int AS backends
       FROM pg_stat_activity
       WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid() GROUP BY 1`,
    );
    samples++;
    for (const { wait, backends } of waits) counts[wait] = (counts[wait] ?? 0) + backends;
    const { rows } = await pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM (${remaining}) AS r`);
    const count = rows[0]?.count ?? 0;
    if (count === 0) break;
    if (count < fewest) {
      fewest = count;
      lastChange = performance.now();
    }
    if (performance.now() - lastChange > MAX_IDLE_MS) throw new Error(`${count} jobs stay undone`);
    await sleep(SAMPLE_INTERVAL_MS);
  }
  return Object.fromEntries(Object.entries(counts).map(([wait, count]) => [wait, count / samples]));
}
