import { chmod, mkdir, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { choosePostgresDirectory, systemDirectory } from './choose-postgres-directory.ts';
import { LocalPostgresError } from './local-postgres-error.ts';
import type { ServerAccount } from './server-account.ts';

const noteName = 'where-the-data-are.txt';
const ownEntries = [/^cluster(\.\d+-[0-9a-f]+\.tmp)?$/, /^owner\.pid$/, new RegExp(`^${noteName}$`)];

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

/** Creates the directory for a cluster where its account can reach it, and returns its real path. */
export async function preparePostgresDirectory(
  requestedDirectory: string,
  account: ServerAccount | undefined,
): Promise<string> {
  await mkdir(resolve(requestedDirectory), { recursive: true });
  const requested = await realpath(requestedDirectory);
  const directory = await choosePostgresDirectory(stat, { requestedDirectory: requested, account });
  if (directory !== requested) {
    await createSystemDirectory();
    await mkdir(directory, { recursive: true });
    const note = `PostgreSQL cannot reach this directory, since root runs it as user ${account?.uid}.\nIts data are in ${directory}\n`;
    await writeFile(join(requested, noteName), note);
  }
  await refuseForeignDirectory(directory);
  await chmod(directory, containerMode(account));
  return directory;
}
