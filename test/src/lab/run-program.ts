import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ProgramRun {
  exitCode: number | null;
  stdout: string;
  stderr: string;
  /** It ran until its deadline. */
  isLate: boolean;
}

export interface ProgramStart {
  command: readonly [string, ...string[]];
  arguments: readonly string[];
  cwd: string;
  environment: Record<string, string>;
  timeoutMs: number;
  /** Aborts to kill the program immediately. */
  kill?: AbortSignal | undefined;
}

/** Nothing listens on it, so a program that asks for anything but loopback fails immediately. */
const DEAD_PROXY = 'http://127.0.0.1:9';
/** The size of the stored part of a program's output. */
const MAX_OUTPUT_CHARACTERS = 64 * 1024 ** 2;

/** The environment of every program, with no variable of the machine but the path, and no way out. */
export function toBaseEnvironment(home: string): Record<string, string> {
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    USERPROFILE: home,
    TZ: 'UTC',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    CI: '1',
    DO_NOT_TRACK: '1',
    NO_PROXY: '127.0.0.1,localhost,::1',
    no_proxy: '127.0.0.1,localhost,::1',
    ...Object.fromEntries(proxies.map((name) => [name, DEAD_PROXY])),
  };
}

/** An environment variable that identifies the daemons of a run, which leave its process group. */
const RUN_MARK = 'RECOUNT_LAB_RUN';

/** Runs a program to its end, in a separate process group, which is killed at the deadline. */
export async function runProgram(start: ProgramStart): Promise<ProgramRun> {
  const [file, ...words] = start.command;
  const mark = randomUUID();
  const child = spawn(file, [...words, ...start.arguments], {
    cwd: start.cwd,
    env: { ...start.environment, [RUN_MARK]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      if (text[name].length < MAX_OUTPUT_CHARACTERS) text[name] += chunk;
    });
  }
  running.add(child);
  const deadline = new AbortController();
  const ended = once(child, 'exit', { signal: deadline.signal });
  const timer = setTimeout(() => deadline.abort(), start.timeoutMs);
  const stop = () => killGroup(child);
  start.kill?.addEventListener('abort', stop);
  try {
    const [exitCode] = (await ended) as [number | null];
    return { exitCode, ...text, isLate: false };
  } catch (error) {
    if (!deadline.signal.aborted) throw error;
    return { exitCode: null, ...text, isLate: true };
  } finally {
    clearTimeout(timer);
    start.kill?.removeEventListener('abort', stop);
    // Everything that it started in the background ends as well.
    killGroup(child);
    await killDaemons(mark);
    running.delete(child);
    await sleep(50);
  }
}

const running = new Set<ChildProcess>();

/** Kills what runs at present, for a lab that is interrupted. */
export function killPrograms(): void {
  for (const child of running) killGroup(child);
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/** Kills the processes with this mark in their environment, where the system shows it (`/proc`, on Linux). */
async function killDaemons(mark: string): Promise<void> {
  const names = await readdir('/proc').catch(() => []);
  for (const pid of names.filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (!environment.split('\0').includes(`${RUN_MARK}=${mark}`)) continue;
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended since then.
    }
  }
}
