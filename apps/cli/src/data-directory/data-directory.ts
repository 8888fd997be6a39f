import { chmod, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CliContext } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';

/** The files and folders of a local installation. */
export interface DataDirectory {
  path: string;
  postgres: string;
  /** PostgreSQL's programs, for an installation from npm. */
  programs: string;
  rawStore: string;
  credentials: string;
  /** The address of the running installation; see installation-lock.ts. */
  lock: string;
  /** Exists once the user was asked whether to import the sessions of this machine. */
  importMark: string;
  /** Recorded streams that are not sent yet. */
  liveSpool: string;
  log: string;
}

/** RECOUNT_DATA_DIR, else `.recount` in the user's home. It may not exist. Throws UsageError. */
export function toDataDirectory({ environment, workingDirectory }: CliContext): DataDirectory {
  const { RECOUNT_DATA_DIR: configured } = environment;
  const home = homedir();
  if (!configured && home === '') throw new UsageError('HOME is not set. Name a folder in RECOUNT_DATA_DIR.');
  const path = configured ? resolve(workingDirectory, configured) : join(home, '.recount');
  return {
    path,
    postgres: join(path, 'postgres'),
    programs: join(path, 'programs'),
    rawStore: join(path, 'raw'),
    credentials: join(path, 'credentials.json'),
    lock: join(path, 'running.json'),
    importMark: join(path, 'import-asked'),
    liveSpool: join(path, 'live-spool'),
    log: join(path, 'logs', 'recount.log'),
  };
}

/** Creates the directory if missing, accessible only to its owner. Throws CliError. */
export async function createDataDirectory({ path }: DataDirectory): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await chmod(path, 0o700);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CliError(`Cannot store data in ${path} (${code}). Name another folder in RECOUNT_DATA_DIR.`, { cause });
  }
}
