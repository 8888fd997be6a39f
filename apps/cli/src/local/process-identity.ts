import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * What tells a process from a later one that was given the same number: when it was started, and on Linux in which boot.
 * Undefined where no such process runs; a zombie does not.
 */
export async function readProcessIdentity(pid: number): Promise<string | undefined> {
  return process.platform === 'linux' ? await readFromProc(pid) : await readFromPs(pid);
}

const STATE_FIELD = 0;
const START_TIME_FIELD = 19;

async function readFromProc(pid: number): Promise<string | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses, and may hold anything.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    if (fields[STATE_FIELD] === 'Z' || fields[STATE_FIELD] === 'X') return undefined;
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    return `${boot}/${fields[START_TIME_FIELD]}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}

async function readFromPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const [, state = 'Z', startedAt] = /^\s*(\S+)\s+(.*\S)/.exec(stdout) ?? [];
    return state.startsWith('Z') ? undefined : startedAt;
  } catch (error) {
    // ps exits with 1 where there is no such process.
    if ((error as { code?: unknown }).code === 1) return undefined;
    throw error;
  }
}
