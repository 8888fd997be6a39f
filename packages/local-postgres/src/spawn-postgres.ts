import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';
import type { ServerAccount } from './server-account.ts';

/** For initdb and postgres: nothing of the caller's PG* variables, locale or time zone, which would end up in the cluster. */
export const serverEnvironment = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** A TCP port of 127.0.0.1 that nobody listens on. Another process may take it before it is used. */
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
  /** The end of all that was appended. */
  tail(): string;
}

/** Hands on complete lines, cutting those above 8,192 characters, and remembers the end of the log. */
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

/** Values from rows stay out of the log: no statements, no DETAIL with the failing row. */
const privateLogging = { log_min_error_statement: 'panic', log_error_verbosity: 'terse' };

interface SpawnPostgresOptions {
  programsDirectory: string;
  account: ServerAccount | undefined;
  dataDirectory: string;
  port: number;
  /** Of the cluster's lock. Every process of the server inherits it, and so holds the lock. */
  lockFd: number;
  settings: Readonly<Record<string, string>>;
  onLog: (line: string) => void;
}

interface PostgresProcess {
  pid: number;
  /** The end of what the server logged so far. */
  logTail(): string;
  /** Resolves to what ended it, such as `SIGKILL` or `code 1`. */
  exited: Promise<string>;
}

/**
 * Starts a server that listens on 127.0.0.1 alone. It may not accept connections yet, and may still fail. Where this
 * process exits, by an uncaught error too, the server is told to stop.
 * @throws LocalPostgresError where the program cannot be run at all
 */
export async function spawnPostgres(options: SpawnPostgresOptions): Promise<PostgresProcess> {
  const settings = {
    ...privateLogging,
    ...options.settings,
    listen_addresses: '127.0.0.1',
    port: String(options.port),
    unix_socket_directories: '',
  };
  const commandArguments = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(
    join(options.programsDirectory, 'bin', 'postgres'),
    ['-D', options.dataDirectory, ...commandArguments],
    {
      ...options.account,
      cwd: '/',
      env: serverEnvironment,
      // A process group of its own: Ctrl-C reaches recount alone, which stops the server when its own work is done.
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
