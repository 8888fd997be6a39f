import { chmod, lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';
import type { ServerAccount } from './server-account.ts';

/**
 * Gives a directory tree to the account, such as a cluster that 0.3 ran as `nobody`. Directories come before what is in
 * them: once one belongs to the account, the earlier owner can no longer put a link where root is about to change an
 * owner. A file with a second name may be someone else's, and is left alone. Needs root.
 * @throws LocalPostgresError where root may not do so, as in a user namespace without other users
 */
export async function takeOverFiles(path: string, account: ServerAccount): Promise<void> {
  const file = await lstat(path);
  if (file.isFile() && file.nlink > 1) return;
  if (file.uid !== account.uid || file.gid !== account.gid) await changeOwner(path, account);
  if (!file.isDirectory()) return;
  if ((file.mode & 0o777) !== 0o700) await chmod(path, 0o700);
  for (const entry of await readdir(path)) await takeOverFiles(join(path, entry), account);
}

async function changeOwner(path: string, { uid, gid }: ServerAccount): Promise<void> {
  try {
    await lchown(path, uid, gid);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'EPERM' && code !== 'EINVAL') throw cause;
    throw new LocalPostgresError(
      `PostgreSQL refuses to run as root, and root may not give ${path} to user ${uid} (${code}). ` +
        `Run recount as an ordinary user. ${useYourOwnDatabase}`,
      { cause },
    );
  }
}
