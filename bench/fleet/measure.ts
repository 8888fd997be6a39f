import type { DatabasePool } from '@recount/db';
import { median } from '../child.ts';
import { readServerCpuSeconds } from '../scale/process-resources.ts';

/** The cost of one query. */
export interface Cost {
  /** Median wall-clock time. */
  milliseconds: number;
  /** Mean processor time of all PostgreSQL processes. */
  serverCpuMs: number;
}

const RUNS = 7;

/** Runs a query once to warm up, and then several times. */
export async function measure(database: DatabasePool, ask: () => Promise<unknown>, runs = RUNS): Promise<Cost> {
  await ask();
  const times: number[] = [];
  const before = await readServerCpu(database);
  for (let run = 0; run < runs; run += 1) {
    const startMs = performance.now();
    await ask();
    times.push(performance.now() - startMs);
  }
  return { milliseconds: median(times), serverCpuMs: ((await readServerCpu(database)) - before) / runs };
}

/** Measures something that can only be done once. */
export async function measureOnce(database: DatabasePool, work: () => Promise<unknown>): Promise<Cost> {
  const before = await readServerCpu(database);
  const startMs = performance.now();
  await work();
  const milliseconds = performance.now() - startMs;
  return { milliseconds, serverCpuMs: (await readServerCpu(database)) - before };
}

/** Milliseconds of processor time used by PostgreSQL so far. */
async function readServerCpu({ pool }: DatabasePool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return (await readServerCpuSeconds(rows[0]?.pid ?? 0)) * 1000;
}
