import { execFile } from 'node:child_process';
import { chmod, lchown, lstat, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { retry } from '@recount/service/retry';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';

/** The user and group that PostgreSQL runs as, if they differ from this process's. */
export interface ServerAccount {
  uid: number;
  gid: number;
}

/** Access to this system's users. */
export interface AccountSystem {
  /** The content of /etc/passwd, or of /etc/group. */
  readEntries(file: 'passwd' | 'group'): Promise<string>;
  /** Runs a program. Rejects if it does not exist or fails. */
  run(program: string, commandArguments: string[]): Promise<unknown>;
}

const serverUserName = 'recount-postgres';
/** Used if no user can be created. systemd, Debian and Red Hat assign no user ids from 60,706 to 61,183. */
const firstSpareId = 60_790;
const lastSpareId = 60_889;
/** 0.3 ran PostgreSQL as this user, which other services share. */
const nobody: ServerAccount = { uid: 65_534, gid: 65_534 };
const nameField = 0;
const idField = 2;
const groupField = 3;
const creation = { maxAttempts: 3, firstMs: 500, longestMs: 500 };
const commandTimeoutMs = 20_000;

const thisSystem: AccountSystem = {
  readEntries: (file) => readFile(`/etc/${file}`, 'utf8').catch(() => ''),
  run: (program, commandArguments) =>
    promisify(execFile)(program, commandArguments, {
      env: { PATH: `${process.env.PATH ?? ''}:/usr/sbin:/usr/bin:/sbin:/bin`, LC_ALL: 'C' },
      timeout: commandTimeoutMs,
    }),
};

async function readFields(system: AccountSystem, file: 'passwd' | 'group'): Promise<string[][]> {
  return (await system.readEntries(file)).split('\n').map((line) => line.split(':'));
}

async function hasGroup(system: AccountSystem): Promise<boolean> {
  return (await readFields(system, 'group')).some((fields) => fields[nameField] === serverUserName);
}

async function findServerUser(system: AccountSystem): Promise<ServerAccount | undefined> {
  const fields = (await readFields(system, 'passwd')).find((each) => each[nameField] === serverUserName);
  const [uid, gid] = [Number(fields?.[idField]), Number(fields?.[groupField])];
  return uid > 0 && gid > 0 ? { uid, gid } : undefined;
}

/** Undefined if this system does not allow creating a user. What a failed command created is removed. */
async function createServerUser(system: AccountSystem): Promise<ServerAccount | undefined> {
  const hadGroup = await hasGroup(system);
  const create = async (): Promise<ServerAccount> => {
    try {
      await system.run('useradd', [
        ...['--system', hadGroup ? '--no-user-group' : '--user-group', ...(hadGroup ? ['--gid', serverUserName] : [])],
        ...['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin', serverUserName],
      ]);
    } catch {
      // The program is missing, /etc is read-only, or another process is creating the user right now.
    }
    const user = await findServerUser(system);
    if (user !== undefined) return user;
    if (!hadGroup && (await hasGroup(system))) await system.run('groupdel', [serverUserName]).catch(() => {});
    throw new LocalPostgresError('No user was created');
  };
  return await retry(create, creation).catch((error: unknown) => {
    if (!(error instanceof LocalPostgresError)) throw error;
    return undefined;
  });
}

async function findSpareAccount(system: AccountSystem): Promise<ServerAccount | undefined> {
  const entries = [...(await readFields(system, 'passwd')), ...(await readFields(system, 'group'))];
  const taken = new Set(entries.map((fields) => Number(fields[idField])));
  for (let id = firstSpareId; id <= lastSpareId; id += 1) {
    if (!taken.has(id)) return { uid: id, gid: id };
  }
  return undefined;
}

/**
 * The account for a process with this user id. Undefined means the same user, which fits all but root, because
 * PostgreSQL refuses to run as root. Root gets the system user `recount-postgres`, created if missing; if none can be
 * created, a user id that has no entry in /etc/passwd. No other program runs as either, so none can write to the
 * cluster.
 */
export async function provideServerAccount(
  processUid: number | undefined,
  system = thisSystem,
): Promise<ServerAccount | undefined> {
  if (processUid !== 0) return undefined;
  return (
    (await findServerUser(system)) ??
    (await createServerUser(system)) ??
    (await findSpareAccount(system)) ??
    // All hundred are in use, which is unusual but no reason to fail.
    nobody
  );
}

/**
 * The account for initdb, which requires that its user has a name. If ours has none, this is `nobody` while initdb
 * runs.
 */
export async function chooseInitdbAccount(account: ServerAccount, system = thisSystem): Promise<ServerAccount> {
  const entries = await readFields(system, 'passwd');
  return entries.some((fields) => Number(fields[idField]) === account.uid) ? account : nobody;
}

interface FileMode {
  /** As in stat(2), where the lowest nine bits are the permissions. */
  mode: number;
  uid: number;
  gid: number;
}

/** Reads the mode of a path, following symbolic links. */
type ReadFileMode = (path: string) => Promise<FileMode>;

const readBit = 0o4;
const traverseBit = 0o1;

function hasPermission(file: FileMode, account: ServerAccount, bits: number): boolean {
  const shift = file.uid === account.uid ? 6 : file.gid === account.gid ? 3 : 0;
  return ((file.mode >> shift) & bits) === bits;
}

/** True if the account may enter every directory above the absolute path. Access control lists are ignored. */
export async function isReachable(readFileMode: ReadFileMode, path: string, account: ServerAccount): Promise<boolean> {
  const parent = dirname(path);
  if (parent === path) return true;
  if (!hasPermission(await readFileMode(parent), account, traverseBit)) return false;
  return isReachable(readFileMode, parent, account);
}

/**
 * True if the account may reach the absolute path, and read and execute it (a program) or list and enter it (a
 * directory).
 */
export async function isUsable(readFileMode: ReadFileMode, path: string, account: ServerAccount): Promise<boolean> {
  return (
    hasPermission(await readFileMode(path), account, readBit | traverseBit) &&
    (await isReachable(readFileMode, path, account))
  );
}

/**
 * Transfers a directory tree to the account, such as a cluster that 0.3 ran as `nobody`. Directories come before their
 * contents, because once one belongs to the account, its earlier owner can no longer put a link where root is about to
 * change an owner. A file with several names may be someone else's, and is left alone. Requires root.
 * @throws LocalPostgresError if root may not do so, e.g. in a user namespace without other users
 */
export async function takeOverFiles(path: string, account: ServerAccount): Promise<void> {
  const file = await lstat(path);
  if (file.isFile() && file.nlink > 1) return;
  if (file.uid !== account.uid || file.gid !== account.gid) await changeOwner(path, account);
  if (!file.isDirectory()) return;
  if ((file.mode & 0o777) !== 0o700) await chmod(path, 0o700);
  for (const entry of await readdir(path)) {
    // A server that another process started may still run there, and delete its files.
    await takeOverFiles(join(path, entry), account).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
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
