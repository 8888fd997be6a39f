import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';
import { toProgramPath } from './postgres-binaries.ts';
import { findPostmaster } from './postmaster.ts';
import type { ServerAccount } from './server-account.ts';
import { signalOnce } from './windows-signals.ts';

/**
 * For initdb and postgres. Leaves out the caller's PG* variables, locale and time zone, which would end up in the
 * cluster.
 */
export const serverEnvironment = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** A free TCP port of 127.0.0.1. Another process may take it before it is used. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has no port');
  return address.port;
}

const maxLogTailChars = 2_000;
const maxLogLineChars = 8_192;

/** The last lines of a log, short enough for an error message. */
export function toLogTail(log: string): string {
  return log.trimEnd().slice(-maxLogTailChars);
}

interface ServerLog {
  append(text: string): void;
  /** The end of everything appended. */
  tail(): string;
}

/** Passes on complete lines, cut after 8,192 characters, and remembers the end of the log. */
export function createServerLog(onLine: (line: string) => void): ServerLog {
  let tail = '';
  let partialLine = '';
  return {
    append(text) {
      tail = (tail + text).slice(-maxLogTailChars);
      const lines = (partialLine + text).split('\n');
      partialLine = (lines.pop() ?? '').slice(0, maxLogLineChars);
      for (const line of lines) onLine(line.slice(0, maxLogLineChars));
    },
    tail: () => toLogTail(tail),
  };
}

/** Keeps row values out of the log, with no statements and no DETAIL with the failing row. */
const privateLogging = { log_min_error_statement: 'panic', log_error_verbosity: 'terse' };

interface SpawnPostgresOptions {
  programsDirectory: string;
  account: ServerAccount | undefined;
  dataDirectory: string;
  port: number;
  /** Descriptor of the cluster's lock. Every process of the server inherits it, and so holds the lock. */
  lockFd: number;
  settings: Readonly<Record<string, string>>;
  onLog: (line: string) => void;
}

interface PostgresProcess {
  pid: number;
  /** The end of the server's log so far. */
  logTail(): string;
  /** Resolves to what ended it, such as `SIGKILL` or `code 1`. */
  exited: Promise<string>;
}

/**
 * Starts a server that listens only on 127.0.0.1. It may not accept connections yet, and may still fail. If this
 * process exits, even by an uncaught error, the server gets a signal to stop.
 * @throws LocalPostgresError if the program cannot be run at all
 */
export async function spawnPostgres(options: SpawnPostgresOptions): Promise<PostgresProcess> {
  const settings = {
    ...privateLogging,
    ...options.settings,
    listen_addresses: '127.0.0.1',
    port: String(options.port),
    unix_socket_directories: '',
  };
  if (process.platform === 'win32') return await spawnByPgCtl(options, settings);
  const commandArguments = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(
    toProgramPath(options.programsDirectory, 'postgres'),
    ['-D', options.dataDirectory, ...commandArguments],
    {
      ...options.account,
      cwd: '/',
      env: serverEnvironment,
      // In its own process group: Ctrl-C reaches only recount, which stops the server when its own work is done.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', options.lockFd],
    },
  );
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve(signal ?? `code ${exitCode}`));
  });
  const log = createServerLog(options.onLog);
  child.stderr?.setEncoding('utf8').on('data', (text: string) => log.append(text));
  try {
    await once(child, 'spawn');
  } catch (cause) {
    throw new LocalPostgresError(`postgres cannot be run: ${(cause as Error).message}. ${useYourOwnDatabase}`, {
      cause,
    });
  }
  const stopAtExit = () => child.kill('SIGINT');
  process.once('exit', stopAtExit);
  child.once('exit', () => process.off('exit', stopAtExit));
  if (child.pid === undefined) throw new LocalPostgresError(`postgres cannot be run. ${useYourOwnDatabase}`);
  return { pid: child.pid, logTail: log.tail, exited };
}

const PID_FILE_POLL_MS = 50;

/** Settings as one argument of pg_ctl, which passes it to the shell unchanged. */
export function toServerOptions(settings: Readonly<Record<string, string>>): string {
  const words = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const unsafe = words.find((word) => !/^-c [\w.]+=[\w.,:/-]*$/.test(word));
  if (unsafe !== undefined) throw new LocalPostgresError(`A setting that cannot be given on Windows: ${unsafe}`);
  return words.join(' ');
}

/**
 * The same on Windows, where PostgreSQL refuses to run with administrator rights, and pg_ctl drops them. pg_ctl exits
 * once the server runs, but the server keeps its output open. When that closes, the server is gone.
 */
async function spawnByPgCtl(
  { programsDirectory, dataDirectory, onLog }: SpawnPostgresOptions,
  settings: Readonly<Record<string, string>>,
): Promise<PostgresProcess> {
  const words = ['start', '--silent', '--no-wait', '--pgdata', dataDirectory, '--options', toServerOptions(settings)];
  const child = spawn(toProgramPath(programsDirectory, 'pg_ctl'), words, {
    cwd: '/',
    env: serverEnvironment,
    stdio: ['ignore', 'pipe', 'pipe'],
    // In its own console: Ctrl-C reaches only recount.
    detached: true,
    windowsHide: true,
  });
  const log = createServerLog(onLog);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => log.append(text.replaceAll('\r\n', '\n')));
  }
  let isGone = false;
  const exited = new Promise<string>((resolve) => {
    child.once('error', () => resolve('not run'));
    child.once('close', () => resolve('gone'));
  }).finally(() => {
    isGone = true;
  });
  let pid: number | undefined;
  while (pid === undefined && !isGone) {
    await sleep(PID_FILE_POLL_MS);
    pid = (await findPostmaster(dataDirectory))?.pid;
  }
  // It failed, so there is no process.
  if (pid === undefined) return { pid: 0, logTail: log.tail, exited };
  const server = pid;
  const stopAtExit = () => void signalOnce(server, 'SIGINT');
  process.once('exit', stopAtExit);
  void exited.then(() => process.off('exit', stopAtExit));
  return { pid, logTail: log.tail, exited };
}
