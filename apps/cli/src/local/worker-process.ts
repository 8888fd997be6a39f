import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { LocalLog } from './local-log.ts';

export interface WorkerProcess {
  /** Lets it finish what is under way, or hand it back, at most `graceMs`; then kills it. */
  close(): Promise<void>;
}

export interface WorkerProcessOptions {
  environment: NodeJS.ProcessEnv;
  graceMs: number;
  /** Called with a line for people when the process ends by itself; another is then started. */
  onDeath(line: string): void;
}

const PROGRAM = fileURLToPath(new URL('../../bin/recount.mjs', import.meta.url));
/** Batches of rows outlive two collections of a large young generation: with a small one, 500 MB take 245 MB of memory. */
const NODE_OPTIONS = ['--max-semi-space-size=8'];
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** One that lived this long has not died of its start. */
const HEALTHY_MS = 60_000;

/**
 * Runs `recount worker` as a process of its own, which is restarted when it dies. When this process is killed, the channel
 * between them closes, and the worker ends as at a SIGTERM.
 */
export function startWorkerProcess(log: LocalLog, options: WorkerProcessOptions): WorkerProcess {
  const closing = new AbortController();
  let child = spawnWorker(log, options.environment);
  let pauseMs = FIRST_PAUSE_MS;

  const keepAlive = async (): Promise<void> => {
    for (;;) {
      const startedAtMs = performance.now();
      const [exitCode, signal] = await once(child, 'exit');
      if (closing.signal.aborted) return;
      pauseMs = performance.now() - startedAtMs > HEALTHY_MS ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      options.onDeath(`the worker ended (${signal ?? `code ${exitCode}`}); another one is started`);
      await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return;
      child = spawnWorker(log, options.environment);
    }
  };
  const living = keepAlive();
  return {
    async close() {
      closing.abort();
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), options.graceMs);
      await living;
      clearTimeout(timer);
    },
  };
}

function spawnWorker(log: LocalLog, environment: NodeJS.ProcessEnv): ChildProcess {
  const child = fork(PROGRAM, ['worker'], {
    env: environment,
    execArgv: NODE_OPTIONS,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Ctrl-C is for the process that started it, which ends it in its turn.
    detached: true,
  });
  for (const [stream, write] of [
    [child.stdout, log.writeLine],
    [child.stderr, (line: string) => log.logger.warn({ reason: line }, 'worker')],
  ] as const) {
    if (stream !== null) createInterface({ input: stream }).on('line', write);
  }
  return child;
}
