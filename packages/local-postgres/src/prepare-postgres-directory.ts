import { chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { choosePostgresDirectory, systemDirectory } from './choose-postgres-directory.ts';
import { noteName, recordName, writeInstallation } from './installation-note.ts';
import { LocalPostgresError } from './local-postgres-error.ts';
import type { ServerAccount } from './server-account.ts';

const ownEntries = [
  /^cluster(\.\d+-[0-9a-f]+\.tmp)?$/,
  /^(owner|cluster)\.lock$/,
  /^owner\.pid$/,
  new RegExp(`^(${noteName}|${recordName})$`),
];

/**
 * Mode of a directory that holds what PostgreSQL's account needs. It stays the property of this process's user even
 * where the server runs as another one, so that nothing run by that account can place a link where root writes.
 */
export function containerMode(account: ServerAccount | undefined): number {
  return account === undefined ? 0o700 : 0o711;
}

/** Creates a directory below /var/lib/recount, whatever the umask. Needs root. */
export async function createSystemDirectory(): Promise<void> {
  await mkdir(systemDirectory, { recursive: true });
  await chmod(systemDirectory, 0o755);
}

async function refuseForeignDirectory(directory: string): Promise<void> {
  const { uid } = await stat(directory);
  if (uid !== process.getuid?.()) {
    throw new LocalPostgresError(
      `${directory} belongs to user ${uid}. Run recount as that user or remove the directory.`,
    );
  }
  const entries = await readdir(directory);
  if (entries.length > 0 && !entries.some((entry) => ownEntries.some((pattern) => pattern.test(entry)))) {
    throw new LocalPostgresError(`${directory} holds other files. Name an empty or new directory for PostgreSQL.`);
  }
}

/**
 * Creates the directory for a cluster where its account can reach it, and returns its real path. `root` is where it lies
 * if the requested one is out of reach.
 *
 * @throws LocalPostgresError where the directory is another user's, or holds something else, or a note of an earlier
 * start points to a cluster that is not there or belongs to another directory
 */
export async function preparePostgresDirectory(
  requestedDirectory: string,
  account: ServerAccount | undefined,
  root = systemDirectory,
): Promise<string> {
  await mkdir(resolve(requestedDirectory), { recursive: true });
  const requested = await realpath(requestedDirectory);
  const { directory, record } = await choosePostgresDirectory(requested, account, root);
  if (record !== undefined && account !== undefined) {
    if (root === systemDirectory) await createSystemDirectory();
    await mkdir(directory, { recursive: true });
  }
  await refuseForeignDirectory(directory);
  await chmod(directory, containerMode(account));
  if (record !== undefined && account !== undefined) await writeInstallation(directory, record, account.uid);
  return directory;
}
