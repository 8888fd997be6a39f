import type { DatabasePool } from '@recount/db';
import { median } from '../child.ts';
import { readServerCpuSeconds } from '../scale/process-cpu.ts';

/** What one question costs. */
export interface Cost {
  /** By the clock; a median. */
  milliseconds: number;
  /** Processor time of PostgreSQL, all of its processes; a mean. */
  serverCpuMs: number;
}

const RUNS = 7;

/** Asks a question once to warm it up, and then several times. */
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

/** Does something once that cannot be done again. */
export async function measureOnce(database: DatabasePool, work: () => Promise<unknown>): Promise<Cost> {
  const before = await readServerCpu(database);
  const startMs = performance.now();
  await work();
  const milliseconds = performance.now() - startMs;
  return { milliseconds, serverCpuMs: (await readServerCpu(database)) - before };
}

/** Milliseconds of processor time that PostgreSQL has taken so far. */
async function readServerCpu({ pool }: DatabasePool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return (await readServerCpuSeconds(rows[0]?.pid ?? 0)) * 1000;
}
