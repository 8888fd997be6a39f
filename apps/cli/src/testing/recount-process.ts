import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const PROGRAM = fileURLToPath(new URL('../../bin/recount.mjs', import.meta.url));
const OUTPUT_TIMEOUT_MS = 600_000;

/** Who runs recount; the tests' own user if both are left out. */
export interface Account {
  uid?: number;
  gid?: number;
}

export interface RecountProcess {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Rejects if the process ends before. */
  waitForOutput(pattern: RegExp): Promise<void>;
  /** Resolves to the exit code, or the name of the signal. */
  exited: Promise<number | string>;
}

export interface StartOptions {
  account?: Account;
  environment?: Record<string, string>;
  wrapper?: readonly string[];
}

/** An empty home owned by the account. */
export async function createHome({ uid, gid }: Account): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'recount-home-'));
  if (uid !== undefined && gid !== undefined) await chown(home, uid, gid);
  return home;
}

/** Removes a home, and the database that root keeps elsewhere. */
export async function removeHome(home: string): Promise<void> {
  const note = await readFile(join(home, '.recount/postgres/where-the-data-are.txt'), 'utf8').catch(() => '');
  const [, place] = /^Its data are in (\/var\/lib\/recount\/postgres-[0-9a-f]+)$/m.exec(note) ?? [];
  if (place !== undefined) await rm(place, { recursive: true, force: true });
  // The background sender may just be ending.
  await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/** True if the account can read the program, i.e. the checkout is not below a private folder. */
export function canRun({ uid, gid }: Account): boolean {
  if (uid === undefined || gid === undefined) return true;
  return spawnSync(process.execPath, [PROGRAM, '--version'], { uid, gid, cwd: '/' }).status === 0;
}

/** Runs `recount` with an environment of only PATH. `wrapper` is a program with arguments that runs it. */
export function startRecount(
  home: string,
  commandArguments: readonly string[],
  { account = {}, environment = {}, wrapper = [] }: StartOptions = {},
): RecountProcess {
  const [program = process.execPath, ...programArguments] = [...wrapper, process.execPath];
  const child = spawn(program, [...programArguments, PROGRAM, ...commandArguments], {
    ...account,
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, TZ: 'UTC', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk;
    });
  }
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  return {
    child,
    exited,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    async waitForOutput(pattern) {
      const deadlineMs = performance.now() + OUTPUT_TIMEOUT_MS;
      while (!pattern.test(text.stdout + text.stderr)) {
        if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadlineMs) {
          throw new Error(`No ${pattern} in:\n${text.stdout}\n${text.stderr}`);
        }
        await sleep(20);
      }
    },
  };
}

/** Runs `recount` to its end. */
export async function runRecount(
  ...start: Parameters<typeof startRecount>
): Promise<{ exitCode: number | string; stdout: string; stderr: string }> {
  const { exited, stdout, stderr } = startRecount(...start);
  const exitCode = await exited;
  return { exitCode, stdout: stdout(), stderr: stderr() };
}
