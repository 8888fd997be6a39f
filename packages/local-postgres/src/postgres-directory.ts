import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readdir, readFile, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { LocalPostgresError } from './local-postgres-error.ts';
import { isReachable, type ServerAccount } from './server-account.ts';
import { syncDirectory } from './sync-directory.ts';

/** A file in the requested directory that points to the one with the cluster. */
const noteName = 'where-the-data-are.txt';
/** A file beside a cluster that is not in the requested directory; it points back there. */
const recordName = 'installation.json';

const idBytes = 8;

interface InstallationNote {
  /** Holds the cluster. */
  directory: string;
  /** Undefined in notes of recount 0.3. */
  installationId: string | undefined;
}

interface InstallationRecord {
  installationId: string;
  /** The directory whose note points here, absolute, symbolic links resolved. */
  requestedDirectory: string;
}

const newInstallationId = (): string => randomBytes(idBytes).toString('hex');

/** Undefined if there is no note, or it names no directory. */
export async function readNote(requestedDirectory: string): Promise<InstallationNote | undefined> {
  const text = (await readIfThere(join(requestedDirectory, noteName))) ?? '';
  const directory = /^Its data are in (\/.+)$/m.exec(text)?.[1];
  if (directory === undefined) return undefined;
  return { directory, installationId: /^Installation: ([0-9a-f]+)$/m.exec(text)?.[1] };
}

/** Undefined if the cluster is from recount 0.3, or there is none. */
async function readRecord(directory: string): Promise<InstallationRecord | undefined> {
  const text = await readIfThere(join(directory, recordName));
  return text === undefined ? undefined : (JSON.parse(text) as InstallationRecord);
}

/** Writes record and note durably, in this order. A note never points to a cluster without a record. */
async function writeInstallation(directory: string, record: InstallationRecord, accountUid: number): Promise<void> {
  const { installationId, requestedDirectory } = record;
  await replaceFile(join(directory, recordName), `${JSON.stringify(record, null, 2)}\n`);
  const note =
    `PostgreSQL cannot reach this directory, since root runs it as user ${accountUid}.\n` +
    `Its data are in ${directory}\nInstallation: ${installationId}\n` +
    'Without this file the data would not be found. Keep it, also when this directory is moved.\n';
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
  await syncDirectory(dirname(path));
}

/** The text of a file; undefined if there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The folder where root keeps clusters that the unprivileged account could not reach in the requested place. */
export const systemDirectory = '/var/lib/recount';

interface ChosenDirectory {
  directory: string;
  /** The record that links this directory and the requested one; undefined if they are the same. */
  record: InstallationRecord | undefined;
}

const rebuildAdvice =
  'or remove the note to start with an empty database, which `recount doctor --rebuild` fills from the raw store';

/**
 * The directory that holds the cluster requested for `requestedDirectory` (absolute, symbolic links resolved).
 *
 * A note of an earlier start decides, even if that directory was moved since. Without one it is usually the requested
 * directory itself. If root runs it, PostgreSQL gets a separate account, which cannot reach a directory below a home
 * directory of mode 0700. The cluster is then in `<system directory>/postgres-<hash>`, where the hash is the first 12
 * hexadecimal digits of the SHA-256 of the requested path.
 *
 * @throws LocalPostgresError if that would start an empty database in place of an existing one, or share one between a
 * directory and its copy
 */
async function choosePostgresDirectory(
  requestedDirectory: string,
  account: ServerAccount | undefined,
  root = systemDirectory,
): Promise<ChosenDirectory> {
  const holdsCluster = await isThere(join(requestedDirectory, 'cluster'));
  const note = await readNote(requestedDirectory);
  if (note !== undefined) {
    if (!holdsCluster) return await follow(note, requestedDirectory);
    throw new LocalPostgresError(
      `There are two databases: one in ${requestedDirectory}, and one in ${note.directory}, where ` +
        `${join(requestedDirectory, noteName)} points. Remove that note to use the first one, or move ` +
        `${join(requestedDirectory, 'cluster')} away to use the second one.`,
    );
  }
  if (account === undefined || (await isReachable(stat, requestedDirectory, account))) {
    return { directory: requestedDirectory, record: undefined };
  }
  if (!holdsCluster) return await chooseBelow(root, requestedDirectory);
  throw new LocalPostgresError(
    `The database in ${requestedDirectory} is out of reach for user ${account.uid}, as whom root runs PostgreSQL. Move it ` +
      'back to where it was, or let others traverse the directories above it (chmod o+x).',
  );
}

async function follow(note: InstallationNote, requestedDirectory: string): Promise<ChosenDirectory> {
  const { directory } = note;
  const notePath = join(requestedDirectory, noteName);
  if (!(await isThere(directory))) {
    throw new LocalPostgresError(
      `The database of ${requestedDirectory} was in ${directory} (says ${notePath}), which is not there. Put it back ` +
        `from where it was moved to or from a backup, ${rebuildAdvice}.`,
    );
  }
  const record = await readRecord(directory);
  if (record === undefined) {
    // From recount 0.3: the first directory to come claims it.
    return { directory, record: { installationId: note.installationId ?? newInstallationId(), requestedDirectory } };
  }
  const { requestedDirectory: owner } = record;
  if (owner !== requestedDirectory) {
    const isSame = note.installationId === record.installationId;
    if (!isSame || (await isCopy(record, requestedDirectory))) {
      throw new LocalPostgresError(
        `${notePath} points to the database in ${directory}, which belongs to ${owner}. Two directories cannot share ` +
          `a database: use ${owner}, remove that one if ${requestedDirectory} is to take its place, ${rebuildAdvice}.`,
      );
    }
  }
  return { directory, record: { ...record, requestedDirectory } };
}

/** True if the cluster's own directory still exists. The requested one is then a copy, not moved. */
async function isCopy(
  { installationId, requestedDirectory: owner }: InstallationRecord,
  asked: string,
): Promise<boolean> {
  const note = await readNote(owner).catch(() => undefined);
  if (note?.installationId !== installationId) return false;
  // The same directory may be mounted in two places.
  const [ofOwner, ofAsked] = await Promise.all([stat(join(owner, noteName)), stat(join(asked, noteName))]);
  return ofOwner.dev !== ofAsked.dev || ofOwner.ino !== ofAsked.ino;
}

async function chooseBelow(root: string, requestedDirectory: string): Promise<ChosenDirectory> {
  const hash = createHash('sha256').update(requestedDirectory).digest('hex').slice(0, 12);
  const directory = join(root, `postgres-${hash}`);
  const record = await readRecord(directory);
  const isTaken = record !== undefined && record.requestedDirectory !== requestedDirectory;
  const installationId = isTaken || record === undefined ? newInstallationId() : record.installationId;
  // Its directory was moved away from here, together with the note.
  const own = isTaken ? join(root, `postgres-${installationId}`) : directory;
  return { directory: own, record: { installationId, requestedDirectory } };
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

const ownEntries = [
  /^cluster(\.\d+-[0-9a-f]+\.tmp)?$/,
  /^(owner|cluster)\.lock$/,
  /^owner\.pid$/,
  new RegExp(`^(${noteName}|${recordName})$`),
];

/**
 * Mode of a directory that holds files PostgreSQL's account needs. It still belongs to this process's user even if the
 * server runs as another one, so that nothing run by that account can place a link where root writes.
 */
export function containerMode(account: ServerAccount | undefined): number {
  return account === undefined ? 0o700 : 0o711;
}

/** Creates a directory below /var/lib/recount, whatever the umask. Requires root. */
export async function createSystemDirectory(): Promise<void> {
  await mkdir(systemDirectory, { recursive: true });
  await chmod(systemDirectory, 0o755);
}

async function refuseForeignDirectory(directory: string): Promise<void> {
  const { uid } = await stat(directory);
  // Windows has no user ids.
  if (process.getuid !== undefined && uid !== process.getuid()) {
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
 * Creates the directory for a cluster where its account can reach it, and returns its real path. `root` is its parent
 * if the requested one cannot be reached.
 *
 * @throws LocalPostgresError if the directory is another user's, or holds something else; if a note of an earlier start
 * points to a cluster that does not exist or belongs to another directory; or if the requested directory is new and the
 * cluster of a removed one is left
 */
export async function preparePostgresDirectory(
  requestedDirectory: string,
  account: ServerAccount | undefined,
  root = systemDirectory,
): Promise<string> {
  const isNew = (await mkdir(resolve(requestedDirectory), { recursive: true })) !== undefined;
  const requested = await realpath(requestedDirectory);
  const { directory, record } = await choosePostgresDirectory(requested, account, root);
  if (isNew && directory !== requested && (await isThere(join(directory, 'cluster')))) {
    // Otherwise the next start would assume that only its note was lost.
    await rmdir(requested);
    throw new LocalPostgresError(
      `${directory} holds the database of an earlier ${requested}, which was removed, the raw transcripts maybe with it. ` +
        `Remove ${directory} as well to start with an empty database. To continue with the existing one, make the ` +
        `directory ${requested} yourself.`,
    );
  }
  if (record !== undefined && account !== undefined) {
    if (root === systemDirectory) await createSystemDirectory();
    await mkdir(directory, { recursive: true });
  }
  await refuseForeignDirectory(directory);
  await chmod(directory, containerMode(account));
  if (record !== undefined && account !== undefined) await writeInstallation(directory, record, account.uid);
  return directory;
}
