import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { LocalPostgresError } from './local-postgres-error.ts';
import { readIfThere } from './postgres-directory.ts';
import { signalPostgres } from './windows-signals.ts';

async function readFromProc(pid: number): Promise<string> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}

async function readFromPs(pid: number): Promise<string> {
  try {
    return (await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout;
  } catch (error) {
    // ps exits with 1 if there is no such process.
    if ((error as { code?: unknown }).code === 1) return '';
    throw error;
  }
}

/**
 * The command line of a process, its arguments joined by spaces; undefined if no such process runs. A zombie counts as
 * not running, because signal 0 would still find it, forever if no process collects its exit status.
 */
async function readCommandLine(pid: number): Promise<string | undefined> {
  const commandLine = await (process.platform === 'linux' ? readFromProc(pid) : readFromPs(pid));
  const trimmed = commandLine.trim();
  return trimmed === '' || trimmed.endsWith('<defunct>') ? undefined : trimmed;
}

/** The content that a server writes to `postmaster.pid` in its data directory. */
interface PostmasterPid {
  pid: number;
  port: number;
}

const pidLine = 0;
const portLine = 3;
const highestPort = 65_535;

function parsePositiveInteger(text: string | undefined): number | undefined {
  if (text === undefined || !/^ *\d{1,10} *$/.test(text)) return undefined;
  const value = Number(text);
  return value > 0 ? value : undefined;
}

/** Undefined for an empty or incomplete file, as a crash or a start in progress leaves it. */
export function parsePostmasterPid(text: string): PostmasterPid | undefined {
  const lines = text.split(/\r?\n/);
  const pid = parsePositiveInteger(lines[pidLine]);
  const port = parsePositiveInteger(lines[portLine]);
  if (pid === undefined || port === undefined || port > highestPort) return undefined;
  return { pid, port };
}

const fastShutdownTimeoutMs = 20_000;
const immediateShutdownTimeoutMs = 10_000;
const pollIntervalMs = 20;

/**
 * Checks the command line. Both this package and pg_ctl start servers as `…/postgres -D <directory> …`. On Windows,
 * where reading a command line is slow, checks the file that the server holds while it runs.
 */
export async function isPostmasterOf(dataDirectory: string, pid: number): Promise<boolean> {
  if (process.platform === 'win32') {
    const text = await readIfThere(toPidFile(dataDirectory));
    const isNoted = text !== undefined && parsePostmasterPid(text)?.pid === pid;
    return isNoted && (await signalPostgres(pid, 'nothing'));
  }
  return `${await readCommandLine(pid)} `.includes(`/postgres -D ${dataDirectory} `);
}

const toPidFile = (dataDirectory: string) => join(dataDirectory, 'postmaster.pid');

/** The server that runs on a data directory, if this process can see it. */
export async function findPostmaster(dataDirectory: string): Promise<PostmasterPid | undefined> {
  const text = await readIfThere(toPidFile(dataDirectory));
  const postmaster = text === undefined ? undefined : parsePostmasterPid(text);
  if (postmaster === undefined || !(await isPostmasterOf(dataDirectory, postmaster.pid))) return undefined;
  return postmaster;
}

/**
 * Removes the `postmaster.pid` of a server that is gone: PostgreSQL would mistake an unrelated process with the same
 * number, e.g. after a reboot, for a running server. Only for a process that holds the cluster's lock. A server without
 * the lock, started by 0.3 or by hand, is stopped first.
 */
export async function clearPostmaster(dataDirectory: string): Promise<void> {
  const unlocked = await findPostmaster(dataDirectory);
  if (unlocked !== undefined) await stopPostmaster(dataDirectory, unlocked.pid);
  await rm(toPidFile(dataDirectory), { force: true });
}

/** Waits until the process is gone; false if it still runs after `timeoutMs`. */
export async function waitForExit(
  dataDirectory: string,
  pid: number,
  timeoutMs: number,
  intervalMs = pollIntervalMs,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (await isPostmasterOf(dataDirectory, pid)) {
    if (performance.now() > deadline) return false;
    await sleep(intervalMs, undefined, { ref: Number.isFinite(timeoutMs) });
  }
  return true;
}

async function sendSignal(pid: number, signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  if (process.platform === 'win32') return void (await signalPostgres(pid, signal));
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Stops a server by a fast shutdown, which ends sessions and writes a checkpoint, then by an immediate shutdown if that
 * takes longer than 20 s. It is no error if it no longer runs.
 * @throws LocalPostgresError if the server is still running after another 10 s
 */
export async function stopPostmaster(dataDirectory: string, pid: number): Promise<void> {
  for (const [signal, timeoutMs] of [
    ['SIGINT', fastShutdownTimeoutMs],
    ['SIGQUIT', immediateShutdownTimeoutMs],
  ] as const) {
    if (!(await isPostmasterOf(dataDirectory, pid))) return;
    await sendSignal(pid, signal);
    if (await waitForExit(dataDirectory, pid, timeoutMs)) return;
  }
  throw new LocalPostgresError(`PostgreSQL (process ${pid}, data in ${dataDirectory}) does not stop.`);
}
