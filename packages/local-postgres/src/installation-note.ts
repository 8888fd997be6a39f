import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Lies in the directory that was asked for, and points to the one that holds the cluster. */
export const noteName = 'where-the-data-are.txt';
/** Lies beside a cluster that is not in the directory that was asked for, and points back to that. */
export const recordName = 'installation.json';

const idBytes = 8;

export interface InstallationNote {
  /** Holds the cluster. */
  directory: string;
  /** Undefined in notes of recount 0.3. */
  installationId: string | undefined;
}

export interface InstallationRecord {
  installationId: string;
  /** The directory whose note points here: absolute, symbolic links resolved. */
  requestedDirectory: string;
}

export const newInstallationId = (): string => randomBytes(idBytes).toString('hex');

/** Undefined where there is no note, or none that names a directory. */
export async function readNote(requestedDirectory: string): Promise<InstallationNote | undefined> {
  const text = (await readIfThere(join(requestedDirectory, noteName))) ?? '';
  const directory = /^Its data are in (\/.+)$/m.exec(text)?.[1];
  if (directory === undefined) return undefined;
  return { directory, installationId: /^Installation: ([0-9a-f]+)$/m.exec(text)?.[1] };
}

/** Undefined where the cluster is of recount 0.3, or there is none. */
export async function readRecord(directory: string): Promise<InstallationRecord | undefined> {
  const text = await readIfThere(join(directory, recordName));
  return text === undefined ? undefined : (JSON.parse(text) as InstallationRecord);
}

/** Writes record and note durably, in this order: a note never points to a cluster that does not know of it. */
export async function writeInstallation(
  directory: string,
  record: InstallationRecord,
  accountUid: number,
): Promise<void> {
  const { installationId, requestedDirectory } = record;
  await replaceFile(join(directory, recordName), `${JSON.stringify(record, null, 2)}\n`);
  const note =
    `PostgreSQL cannot reach this directory, since root runs it as user ${accountUid}.\n` +
    `Its data are in ${directory}\nInstallation: ${installationId}\n` +
    'Without this file the data would not be found: keep it, also when this directory is moved.\n';
  await replaceFile(join(requestedDirectory, noteName), note);
}

async function replaceFile(path: string, text: string): Promise<void> {
  const temporaryPath = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const file = await open(temporaryPath, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true });
    throw error;
  }
  const directory = await open(dirname(path));
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
