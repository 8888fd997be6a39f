import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { RawStoreError, type RawStoreErrorCode } from './raw-store.ts';

const CODES: Readonly<Record<string, RawStoreErrorCode>> = {
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
  ENOSPC: 'out-of-space',
  EDQUOT: 'out-of-space',
  EFBIG: 'out-of-space',
  ENOENT: 'store-missing',
  EEXIST: 'store-missing',
  ENOTDIR: 'store-missing',
};

const systemCodeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/**
 * True if nothing is at the path, either because there is no entry, or because a file is in place of a parent folder.
 */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error));

/** Unknown errors become `unavailable`. A RawStoreError stays as it is. */
export function toFolderError(error: unknown, subject: string): RawStoreError {
  if (error instanceof RawStoreError) return error;
  const systemCode = systemCodeOf(error);
  const code = CODES[systemCode] ?? 'unavailable';
  return new RawStoreError(code, `Raw store folder: ${systemCode || 'failed'} at ${subject}`, { cause: error });
}

/** Runs an operation, whose errors become `toFolderError`'s. */
export async function withFolderErrors<T>(subject: string, operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw toFolderError(error, subject);
  }
}

export interface DurableDirectories {
  /**
   * Runs `makeName`, which creates a name in a folder. Creates the folder first if it is missing, and makes the
   * folder's own name durable.
   */
  within<Result>(directory: string, makeName: () => Promise<Result>): Promise<Result>;
  /** Resolves when the names currently in a folder are durable. Concurrent callers share a sync. */
  sync(directory: string): Promise<void>;
}

/** Each workspace has only a few. */
const MAX_KNOWN_DIRECTORIES = 1000;

/** Keeps names in `root` and the folders below it durable. A name is durable once its parent folder is synced. */
export function createDurableDirectories(root: string, mode: number): DurableDirectories {
  /** Folders whose own names are durable. */
  const known = new Set<string>();
  const syncs = new Map<string, { running: Promise<void>; next?: Promise<void> }>();

  const sync = (directory: string): Promise<void> => {
    const state = syncs.get(directory);
    if (state !== undefined) {
      // A running sync may have begun before the name existed.
      state.next ??= state.running.catch(() => undefined).then(() => sync(directory));
      return state.next;
    }
    const running = syncNow(directory).finally(() => syncs.delete(directory));
    syncs.set(directory, { running });
    return running;
  };

  const makeDurable = async (directory: string): Promise<void> => {
    if (known.has(directory)) return;
    const firstMade = await mkdir(directory, { recursive: true, mode });
    // Syncs up to the root even if the folder existed, because its creator may not have synced it yet.
    const highest = firstMade !== undefined && firstMade.length <= root.length ? dirname(firstMade) : root;
    for (let path = directory; path.length > highest.length; path = dirname(path)) await sync(dirname(path));
    if (known.size >= MAX_KNOWN_DIRECTORIES) known.clear();
    known.add(directory);
  };

  return {
    async within(directory, makeName) {
      await makeDurable(directory);
      try {
        return await makeName();
      } catch (error) {
        if (!isAbsent(error)) throw error;
        // Someone has removed the folder between the two calls.
        known.delete(directory);
        await makeDurable(directory);
        return await makeName();
      }
    },
    sync,
  };
}

async function syncNow(directory: string): Promise<void> {
  // Windows cannot open folders for syncing, and NTFS journals such changes itself.
  if (process.platform === 'win32') return;
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
