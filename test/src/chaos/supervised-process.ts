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
  /** It runs, and has said that it is ready. */
  isReady(): boolean;
  waitUntilReady(): Promise<void>;
  /** SIGKILL; resolves when it is gone. Started again after `pauseMs`. False where it does not run. */
  kill(pauseMs: number): Promise<boolean>;
  /** SIGTERM, for good; resolves to its exit code, or the signal that ended it. */
  stop(): Promise<number | string | undefined>;
  /** Of the process that runs now. */
  pid(): number | undefined;
  /** What it said last, each time it ended by itself after it had been ready. */
  crashes: string[];
  /** Ends before it was ready, as while the database is away. */
  failedStarts(): number;
}

export interface SupervisedProcessOptions {
  name: string;
  commandArguments: readonly string[];
  /** A command that runs the program, e.g. with limits. */
  launcher?: readonly string[] | undefined;
  environment: Record<string, string>;
  /** In its output, once it works. */
  readyPattern: RegExp;
  logPath: string;
}

/** Runs `recount …`, and starts it again whenever it ends. */
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

  // Nothing is left running where the process that supervises ends first.
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
