import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** PostgreSQL's signal numbers on Windows, which has no signals; 0 only checks whether the process exists. */
const SIGNAL_NUMBERS = { nothing: 0, SIGINT: 2, SIGQUIT: 3 } as const;
const BUSY_ATTEMPTS = 20;
const BUSY_PAUSE_MS = 10;

export type PostgresSignal = keyof typeof SIGNAL_NUMBERS;

/** Every PostgreSQL process on Windows listens on a pipe with its id in the name. */
export const toSignalPipe = (pid: number): string => `\\\\.\\pipe\\pgsignal_${pid}`;

/**
 * Sends PostgreSQL's equivalent of a signal. False if no PostgreSQL process has this id, `busy` if it is receiving
 * another signal.
 */
export function signalOnce(pid: number, signal: PostgresSignal, pipe = toSignalPipe(pid)): boolean | 'busy' {
  let fd: number;
  try {
    fd = openSync(pipe, 'r+');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code === 'EBUSY') return 'busy';
    throw error;
  }
  try {
    writeSync(fd, Uint8Array.of(SIGNAL_NUMBERS[signal]));
    return true;
  } catch (error) {
    // It has just exited.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['EPIPE', 'EOF', 'ENOENT'].includes(code)) return false;
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Sends a signal, waiting while another one is being received. False if no PostgreSQL process has this id. */
export async function signalPostgres(pid: number, signal: PostgresSignal): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const result = signalOnce(pid, signal);
    // A process that receives a signal exists.
    if (result !== 'busy' || attempt === BUSY_ATTEMPTS) return result !== false;
    await sleep(BUSY_PAUSE_MS);
  }
}
