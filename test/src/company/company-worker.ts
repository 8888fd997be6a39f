import { createDatabasePool, type DatabasePool } from '@recount/db';
import { type AlertOptions, runBudgets, runDeliveries, runDigests, runRepricing } from '@recount/ingest';
import { expect } from 'vitest';

const PATIENCE = { timeout: 300_000, interval: 20 };
const APPLICATION_NAME = 'worker of the made company';
const INTERVAL_MS = 50;

export interface CompanyWorkerOptions {
  connectionString: string;
  now: () => number;
  alerts: AlertOptions;
}

interface Deps {
  database: DatabasePool;
  onReport: () => void;
  onFailure: (reason: string) => void;
}

/** The loops of a worker, on a clock of the test. Each call is a worker that starts, does a part, and ends. */
export interface CompanyWorker {
  /** Looks at all budgets once. `workers` do so at a time. */
  evaluateBudgets(count: number, workers: number): Promise<void>;
  /** Begins, loses its database in the middle, and ends. */
  evaluateBudgetsAndDie(count: number): Promise<void>;
  sendDigests(count: number): Promise<void>;
  deliver(isDone: () => Promise<boolean>): Promise<void>;
  /** Ends once it has begun, and starts again. */
  reprice(isDone: () => Promise<boolean>): Promise<void>;
}

export function createCompanyWorker({ connectionString, now, alerts }: CompanyWorkerOptions): CompanyWorker {
  type Start = (deps: Deps, signal: AbortSignal) => Promise<void>;
  const run = async (start: Start, isDone: () => Promise<boolean> | boolean): Promise<string[]> => {
    const database = createDatabasePool({ connectionString, applicationName: APPLICATION_NAME });
    const failures: string[] = [];
    const stop = new AbortController();
    const deps = { database, onReport: () => undefined, onFailure: (reason: string) => void failures.push(reason) };
    const ended = start(deps, stop.signal);
    try {
      await expect.poll(async () => await isDone(), PATIENCE).toBe(true);
    } finally {
      stop.abort();
      await ended;
      await database.close();
    }
    return failures;
  };
  const counted = () => {
    let calls = 0;
    const tick = (): number => {
      calls += 1;
      return now();
    };
    return { calls: () => calls, now: tick };
  };

  return {
    async evaluateBudgets(count, workers) {
      const clock = counted();
      const start: Start = async (deps, signal) => {
        const all = Array.from({ length: workers }, () =>
          runBudgets({ ...deps, now: clock.now }, { signal, intervalMs: INTERVAL_MS }),
        );
        await Promise.all(all);
      };
      expect(await run(start, () => clock.calls() >= count)).toEqual([]);
    },
    async evaluateBudgetsAndDie(count) {
      const clock = counted();
      const killer = createDatabasePool({ connectionString });
      const kill = () =>
        killer.pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE application_name = $1 AND datname = current_database()`,
          [APPLICATION_NAME],
        );
      try {
        const start: Start = (deps, signal) =>
          runBudgets({ ...deps, now: clock.now }, { signal, intervalMs: 3_600_000 });
        await run(start, async () => {
          if (clock.calls() < count) return false;
          await kill();
          return true;
        });
      } finally {
        await killer.close();
      }
    },
    async sendDigests(count) {
      const clock = counted();
      const start: Start = (deps, signal) =>
        runDigests({ ...deps, now: clock.now }, { signal, intervalMs: INTERVAL_MS });
      expect(await run(start, () => clock.calls() >= count)).toEqual([]);
    },
    async deliver(isDone) {
      const start: Start = (deps, signal) =>
        runDeliveries({ ...deps, now }, alerts, { signal, intervalMs: INTERVAL_MS });
      expect(await run(start, isDone)).toEqual([]);
    },
    async reprice(isDone) {
      const start: Start = (deps, signal) => runRepricing(deps, { signal, intervalMs: INTERVAL_MS });
      let isStarted = false;
      await run(start, () => {
        const wasStarted = isStarted;
        isStarted = true;
        return wasStarted;
      });
      expect(await run(start, isDone)).toEqual([]);
    },
  };
}
