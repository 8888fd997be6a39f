import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { LocalLog } from './local-log.ts';
import { type RunningProgram, type SupervisedProgram, supervise } from './supervise.ts';

interface WorkerProcessOptions {
  environment: NodeJS.ProcessEnv;
  /** The time that it may take to finish its work, or hand it back, before it is killed. */
  graceMs: number;
}

export interface WorkerProcessesOptions extends WorkerProcessOptions {
  processes: number;
  /** Port of the first worker for metrics; the others use the following ports. */
  metricsPort: number | undefined;
}

/** Keeps worker processes running, all on the same queue. */
export function superviseWorkers(
  log: LocalLog,
  { environment, processes, metricsPort, graceMs }: WorkerProcessesOptions,
  events: Pick<SupervisedProgram, 'onWarning' | 'onGiveUp'>,
): { close(): Promise<void> } {
  const supervisors = Array.from({ length: processes }, (_, index) => {
    const own = {
      ...environment,
      RECOUNT_WORKER_PROCESSES: '1',
      ...(metricsPort !== undefined && { RECOUNT_WORKER_METRICS_PORT: String(metricsPort + index) }),
    };
    const name = processes === 1 ? 'the worker' : `worker ${index + 1}`;
    const start = (signal: AbortSignal) => startWorkerProcess(log, { environment: own, graceMs }, signal);
    return supervise({ name, start, ...events });
  });
  return {
    async close() {
      await Promise.all(supervisors.map((supervisor) => supervisor.close()));
    },
  };
}

/** Time for a worker to exit, in addition to its own grace period. */
export const WORKER_MARGIN_MS = 5000;
const PROGRAM = fileURLToPath(new URL('../../bin/recount.mjs', import.meta.url));
/**
 * Batches of rows survive two collections of a large young generation. With a small one, 500 MB take 245 MB of memory.
 */
const NODE_OPTIONS = ['--max-semi-space-size=8'];

/**
 * Runs `recount worker` as a separate process, and resolves once it takes jobs. When this process is killed, the
 * channel between them closes, and the worker ends as after a SIGTERM.
 */
async function startWorkerProcess(
  log: LocalLog,
  { environment, graceMs }: WorkerProcessOptions,
  signal: AbortSignal,
): Promise<RunningProgram> {
  const child = spawnWorker(log, environment);
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (exitCode, signalName) => resolve(signalName ?? `code ${exitCode}`));
    child.once('error', (error) => resolve(error.message));
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await exited;
    clearTimeout(timer);
  };
  const isReady = new Promise<true>((resolve) => child.once('message', () => resolve(true)));
  const aborted = new Promise<string>((resolve) => {
    signal.addEventListener('abort', () => resolve('interrupted'), { once: true });
  });
  const outcome = await Promise.race([isReady, exited, aborted]);
  if (outcome !== true) {
    await stop();
    throw new Error(outcome);
  }
  return { exited, stop };
}

function spawnWorker(log: LocalLog, environment: NodeJS.ProcessEnv): ChildProcess {
  const child = fork(PROGRAM, ['worker'], {
    env: environment,
    execArgv: NODE_OPTIONS,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Ctrl-C is for the parent process, which ends this one in turn.
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
