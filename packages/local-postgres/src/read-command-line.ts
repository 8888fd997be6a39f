import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

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
    // ps exits with 1 where there is no such process.
    if ((error as { code?: unknown }).code === 1) return '';
    throw error;
  }
}

/**
 * The command line of a process, its arguments joined by spaces; undefined where no such process runs.
 * A zombie counts as not running: signal 0 would still find it, for ever where nobody collects its exit status.
 */
export async function readCommandLine(pid: number): Promise<string | undefined> {
  const commandLine = await (process.platform === 'linux' ? readFromProc(pid) : readFromPs(pid));
  const trimmed = commandLine.trim();
  return trimmed === '' || trimmed.endsWith('<defunct>') ? undefined : trimmed;
}
