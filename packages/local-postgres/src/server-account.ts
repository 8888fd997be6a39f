import { execFile } from 'node:child_process';
import { chmod, lchown, lstat, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';

/** The user and group that PostgreSQL runs as, where they differ from those of this process. */
export interface ServerAccount {
  uid: number;
  gid: number;
}

/** How to look at this system's users and to change them. */
export interface AccountSystem {
  /** The content of /etc/passwd, or of /etc/group. */
  readEntries(file: 'passwd' | 'group'): Promise<string>;
  /** Runs a program. Rejects where it is not there, or fails. */
  run(program: string, commandArguments: string[]): Promise<unknown>;
}

const serverUserName = 'recount-postgres';
/** Where no user can be made. systemd, Debian and Red Hat hand out no user id from 60,706 to 61,183. */
const firstSpareId = 60_790;
const lastSpareId = 60_889;
/** 0.3 ran PostgreSQL as this user, which other services share. */
const nobody: ServerAccount = { uid: 65_534, gid: 65_534 };
const nameField = 0;
const idField = 2;
const groupField = 3;
const createAttempts = 3;
const retryDelayMs = 500;
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

/** Undefined where this system lets nobody make a user. What a failed command made is taken back. */
async function createServerUser(system: AccountSystem): Promise<ServerAccount | undefined> {
  const hadGroup = await hasGroup(system);
  for (let attempt = 1; attempt <= createAttempts; attempt += 1) {
    try {
      await system.run('useradd', [
        ...['--system', hadGroup ? '--no-user-group' : '--user-group', ...(hadGroup ? ['--gid', serverUserName] : [])],
        ...['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin', serverUserName],
      ]);
    } catch {
      // No such program, a read-only /etc, or another process that makes the user at this moment.
    }
    const user = await findServerUser(system);
    if (user !== undefined) return user;
    if (!hadGroup && (await hasGroup(system))) await system.run('groupdel', [serverUserName]).catch(() => {});
    if (attempt < createAttempts) await sleep(retryDelayMs);
  }
  return undefined;
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
 * The account for a process of this user id: undefined, that is the same user, for everyone but root, as which PostgreSQL
 * refuses to run. Root gets the system user `recount-postgres`, which is made where it is missing; where none can be made,
 * a user id that no entry of /etc/passwd has. No other program runs as either, so none can write the cluster.
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
    // All hundred are taken: an odd system, but no reason to end here.
    nobody
  );
}

/** The account for initdb, which demands that its user has a name: `nobody`, for the moments it runs, where ours has none. */
export async function chooseInitdbAccount(account: ServerAccount, system = thisSystem): Promise<ServerAccount> {
  const entries = await readFields(system, 'passwd');
  return entries.some((fields) => Number(fields[idField]) === account.uid) ? account : nobody;
}

interface FileMode {
  /** As in stat(2): permission bits in the lowest nine bits. */
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

/** Whether the account may traverse every directory above the absolute path. Access control lists are not considered. */
export async function isReachable(readFileMode: ReadFileMode, path: string, account: ServerAccount): Promise<boolean> {
  const parent = dirname(path);
  if (parent === path) return true;
  if (!hasPermission(await readFileMode(parent), account, traverseBit)) return false;
  return isReachable(readFileMode, parent, account);
}

/** Whether the account may reach the absolute path and then read and execute it (a program) or list and traverse it (a directory). */
export async function isUsable(readFileMode: ReadFileMode, path: string, account: ServerAccount): Promise<boolean> {
  return (
    hasPermission(await readFileMode(path), account, readBit | traverseBit) &&
    (await isReachable(readFileMode, path, account))
  );
}

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
