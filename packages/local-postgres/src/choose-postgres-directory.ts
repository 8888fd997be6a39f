import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isReachable } from './account-access.ts';
import {
  type InstallationNote,
  type InstallationRecord,
  newInstallationId,
  noteName,
  readNote,
  readRecord,
} from './installation-note.ts';
import { LocalPostgresError } from './local-postgres-error.ts';
import type { ServerAccount } from './server-account.ts';

/** Where root keeps what the unprivileged account could not reach in the place it was meant for. */
export const systemDirectory = '/var/lib/recount';

export interface ChosenDirectory {
  directory: string;
  /** What the directory and the one that was asked for have to say of each other; undefined where they are the same. */
  record: InstallationRecord | undefined;
}

const rebuildAdvice =
  'or remove the note to start with an empty database, which `recount doctor --rebuild` fills from the raw store';

/**
 * The directory that really holds the cluster asked for in `requestedDirectory` (absolute, symbolic links resolved).
 *
 * A note of an earlier start decides, also after that directory was moved. Without one it is usually that directory
 * itself. Run by root, PostgreSQL gets an account of its own, which cannot reach a directory below a home directory of
 * mode 0700. The cluster then lives in `<system directory>/postgres-<hash>`, where the hash is the first 12 hexadecimal
 * digits of the SHA-256 of the requested path.
 *
 * @throws LocalPostgresError where that would start an empty database in place of one that exists, or share one between
 * a directory and its copy
 */
export async function choosePostgresDirectory(
  requestedDirectory: string,
  account: ServerAccount | undefined,
  root = systemDirectory,
): Promise<ChosenDirectory> {
  const holdsCluster = await isThere(join(requestedDirectory, 'cluster'));
  const note = await readNote(requestedDirectory);
  if (note !== undefined) {
    if (!holdsCluster) return await follow(note, requestedDirectory);
    throw new LocalPostgresError(
      `There are two databases: one in ${requestedDirectory}, and one in ${note.directory}, to which ` +
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
    // Of recount 0.3: the first to come claims it.
    return { directory, record: { installationId: note.installationId ?? newInstallationId(), requestedDirectory } };
  }
  const { requestedDirectory: owner } = record;
  if (owner !== requestedDirectory) {
    const isSame = note.installationId === record.installationId;
    if (!isSame || (await isCopy(record, requestedDirectory))) {
      throw new LocalPostgresError(
        `${notePath} points to the database in ${directory}, which is that of ${owner}. Two directories cannot share ` +
          `a database: use ${owner}, remove that one if ${requestedDirectory} is to take its place, ${rebuildAdvice}.`,
      );
    }
  }
  return { directory, record: { ...record, requestedDirectory } };
}

/** Whether the directory that the cluster belongs to is still there: it was copied then, not moved. */
async function isCopy(
  { installationId, requestedDirectory: owner }: InstallationRecord,
  asked: string,
): Promise<boolean> {
  const note = await readNote(owner).catch(() => undefined);
  if (note?.installationId !== installationId) return false;
  // One directory may be mounted in two places.
  const [ofOwner, ofAsked] = await Promise.all([stat(join(owner, noteName)), stat(join(asked, noteName))]);
  return ofOwner.dev !== ofAsked.dev || ofOwner.ino !== ofAsked.ino;
}

async function chooseBelow(root: string, requestedDirectory: string): Promise<ChosenDirectory> {
  const hash = createHash('sha256').update(requestedDirectory).digest('hex').slice(0, 12);
  const directory = join(root, `postgres-${hash}`);
  const record = await readRecord(directory);
  const isTaken = record !== undefined && record.requestedDirectory !== requestedDirectory;
  const installationId = isTaken || record === undefined ? newInstallationId() : record.installationId;
  // Its directory was moved away from here, and the note went with it.
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
