import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LocalPostgres, startLocalPostgres } from '@recount/local-postgres';

/** Its parent process, one that serves a connection, or all together, as in a power failure. */
const VICTIMS = ['postmaster', 'backend', 'all processes'];

export interface KillablePostgres {
  /** URL of the server itself, without a proxy; changes with each start. */
  connectionString(): string;
  /** Undefined for a cluster, which runs independently. */
  directory: string | undefined;
  /** The arguments that `kill` accepts. */
  victims: readonly string[];
  /** Kills, waits `pauseMs`, and starts what does not restart by itself. */
  kill(victim: string, pauseMs: number): Promise<void>;
  /** Starts it, as `recount up` would, if a full disk ended it while it was recovering from a kill. */
  ensureRunning(): Promise<void>;
  /** Why starting failed, each time it did. */
  failedStarts: string[];
  /** Duration of the longest start, including recovery and retries. */
  longestStartMs(): number;
  stop(): Promise<void>;
}

const START_ATTEMPTS = 20;

/** A PostgreSQL that syncs to disk, so that committed data survive a kill. `onStart` gets its port each time. */
export async function startKillablePostgres(
  directory: string,
  onStart: (port: number) => void,
): Promise<KillablePostgres> {
  const failedStarts: string[] = [];
  let longestStartMs = 0;
  let running: LocalPostgres = await start();

  async function start(): Promise<LocalPostgres> {
    const startedAtMs = performance.now();
    for (let attempt = 1; ; attempt += 1) {
      try {
        const postgres = await startLocalPostgres({ directory });
        longestStartMs = Math.max(longestStartMs, performance.now() - startedAtMs);
        onStart(postgres.port);
        return postgres;
      } catch (error) {
        failedStarts.push((error as Error).message);
        if (attempt >= START_ATTEMPTS) throw error;
        await sleep(500);
      }
    }
  }

  async function ensureRunning(): Promise<void> {
    if ((await readPostmaster(running.directory)) === undefined) running = await start();
  }

  return {
    connectionString: () => running.connectionString,
    ensureRunning,
    directory: running.directory,
    victims: VICTIMS,
    failedStarts,
    longestStartMs: () => longestStartMs,
    async kill(victim, pauseMs) {
      const postmaster = await readPostmaster(running.directory);
      if (postmaster === undefined) return ensureRunning();
      const children = await listChildren(postmaster);
      const backend = children.at(-1);
      if (victim === 'backend' && backend !== undefined) return killProcess(backend);
      killProcess(postmaster);
      if (victim === 'all processes') children.forEach(killProcess);
      await sleep(pauseMs);
      running = await start();
    },
    stop: () => running.stop(),
  };
}

/** Undefined if no server is running, because one that ends normally removes the file. */
async function readPostmaster(directory: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(directory, 'cluster/data/postmaster.pid'), 'utf8'), 10);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

/** Oldest first, so that those serving connections come last. Empty if the system does not report them. */
async function listChildren(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  );
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number)).sort((a, b) => a - b);
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
