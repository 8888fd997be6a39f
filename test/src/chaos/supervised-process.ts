import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../../apps/cli/bin/recount.mjs', import.meta.url));
/** As long as a service manager would wait. */
const RESTART_PAUSE_MS = 500;
const MAX_KEPT_OUTPUT = 4000;

export interface SupervisedProcess {
  name: string;
  /** It is running, and has reported that it is ready. */
  isReady(): boolean;
  waitUntilReady(): Promise<void>;
  /** Sends SIGKILL; resolves when it is gone. It is restarted after `pauseMs`. False if it is not running. */
  kill(pauseMs: number): Promise<boolean>;
  /** Sends SIGTERM without a restart; resolves to its exit code, or the signal that ended it. */
  stop(): Promise<number | string | undefined>;
  /** Id of the current process. */
  pid(): number | undefined;
  /** Its last output, each time it ended by itself after it had been ready. */
  crashes: string[];
  /** Number of times it ended before it was ready, e.g. because the database was unavailable. */
  failedStarts(): number;
}

export interface SupervisedProcessOptions {
  name: string;
  commandArguments: readonly string[];
  /** A command that runs the program, e.g. with limits. */
  launcher?: readonly string[] | undefined;
  environment: Record<string, string>;
  /** Output that shows that it works. */
  readyPattern: RegExp;
  logPath: string;
}

/** Runs `recount …`, and restarts it whenever it ends. */
export function superviseProcess(options: SupervisedProcessOptions): SupervisedProcess {
  const log = createWriteStream(options.logPath, { flags: 'a' });
  const crashes: string[] = [];
  let failedStarts = 0;
  let isReady = false;
  let isStopped = false;
  let restartPauseMs: number | undefined;
  let current: { child: ChildProcess; exited: Promise<number | string> } | undefined;

  const start = (): void => {
    const [command = process.execPath, ...parameters] = [
      ...(options.launcher ?? []),
      process.execPath,
      CLI,
      ...options.commandArguments,
    ];
    const child = spawn(command, parameters, {
      env: { PATH: process.env.PATH, ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        log.write(text);
        output = (output + text).slice(-MAX_KEPT_OUTPUT);
        if (!isReady && current?.child === child) isReady = options.readyPattern.test(output);
      });
    }
    const exited = new Promise<number | string>((resolve) => {
      child.once('close', (code, signal) => {
        onExit(output);
        resolve(code ?? signal ?? 'unknown');
      });
    });
    current = { child, exited };
  };

  const onExit = (output: string): void => {
    const wasReady = isReady;
    const pauseMs = restartPauseMs ?? RESTART_PAUSE_MS;
    if (restartPauseMs === undefined && !isStopped) {
      if (wasReady) crashes.push(output);
      else failedStarts += 1;
    }
    isReady = false;
    current = undefined;
    restartPauseMs = undefined;
    if (!isStopped) setTimeout(() => !isStopped && start(), pauseMs);
  };

  // Nothing keeps running if the supervising process ends first.
  const killCurrent = (): void => void current?.child.kill('SIGKILL');
  process.once('exit', killCurrent);
  start();
  return {
    name: options.name,
    crashes,
    failedStarts: () => failedStarts,
    isReady: () => isReady,
    pid: () => current?.child.pid,
    async waitUntilReady() {
      while (!isReady) await sleep(20);
    },
    async kill(pauseMs) {
      if (current === undefined) return false;
      const { child, exited } = current;
      restartPauseMs = pauseMs;
      child.kill('SIGKILL');
      await exited;
      return true;
    },
    async stop() {
      isStopped = true;
      const running = current;
      running?.child.kill('SIGTERM');
      const exit = await running?.exited;
      process.off('exit', killCurrent);
      log.end();
      return exit;
    },
  };
}
