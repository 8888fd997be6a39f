import { chmod, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CliContext } from '../cli-context.ts';
import { CliError, UsageError } from '../cli-error.ts';

/** Where a local installation keeps what. */
export interface DataDirectory {
  path: string;
  postgres: string;
  /** PostgreSQL's programs, of an installation from npm. */
  programs: string;
  rawStore: string;
  credentials: string;
  /** Tells where the running installation is; see installation-lock.ts. */
  lock: string;
  /** There once the samples were loaded. */
  samplesMark: string;
  /** Recorded streams that are not sent yet. */
  liveSpool: string;
  log: string;
}

/** RECOUNT_DATA_DIR, else `.recount` in the user's home. It need not exist. Throws UsageError. */
export function toDataDirectory({ environment, workingDirectory }: CliContext): DataDirectory {
  const { RECOUNT_DATA_DIR: configured } = environment;
  const home = homedir();
  if (!configured && home === '') throw new UsageError('HOME is not set: name a folder in RECOUNT_DATA_DIR.');
  const path = configured ? resolve(workingDirectory, configured) : join(home, '.recount');
  return {
    path,
    postgres: join(path, 'postgres'),
    programs: join(path, 'programs'),
    rawStore: join(path, 'raw'),
    credentials: join(path, 'credentials.json'),
    lock: join(path, 'running.json'),
    samplesMark: join(path, 'samples-loaded'),
    liveSpool: join(path, 'live-spool'),
    log: join(path, 'logs', 'recount.log'),
  };
}

/** Creates the directory where it is not there, for its owner alone. Throws CliError. */
export async function createDataDirectory({ path }: DataDirectory): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await chmod(path, 0o700);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CliError(`Data cannot be kept in ${path} (${code}): name another folder in RECOUNT_DATA_DIR.`, { cause });
  }
}
