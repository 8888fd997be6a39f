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

/** Whether nothing is at the path: no entry, or a file where a folder would have to be. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error));

/** Total: what is not known to be something else is `unavailable`. A RawStoreError stays as it is. */
export function toFolderError(error: unknown, subject: string): RawStoreError {
  if (error instanceof RawStoreError) return error;
  const systemCode = systemCodeOf(error);
  const code = CODES[systemCode] ?? 'unavailable';
  return new RawStoreError(code, `Raw store folder: ${systemCode || 'failed'} at ${subject}`, { cause: error });
}

interface DurableDirectories {
  /** Runs what makes a name in a folder; the folder is made first where it is missing, and its own name is durable. */
  within<Result>(directory: string, makeName: () => Promise<Result>): Promise<Result>;
  /** Resolves when the names that are in a folder now are durable. Those who ask at once share a sync. */
  sync(directory: string): Promise<void>;
}

/** Each workspace has a few. */
const MAX_KNOWN_DIRECTORIES = 1000;

/** Keeps names in the folders at and under `root` durable: a name is so once the folder that holds it is synced. */
export function createDurableDirectories(root: string, mode: number): DurableDirectories {
  /** Their own names are durable. */
  const known = new Set<string>();
  const syncs = new Map<string, { running: Promise<void>; next?: Promise<void> }>();

  const sync = (directory: string): Promise<void> => {
    const state = syncs.get(directory);
    if (state !== undefined) {
      // The one under way may have begun before the name was there.
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
    // Up to the root also where it was there: whoever made it may not have synced it yet.
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
        // Somebody has removed the folder meanwhile.
        known.delete(directory);
        await makeDurable(directory);
        return await makeName();
      }
    },
    sync,
  };
}

async function syncNow(directory: string): Promise<void> {
  // It opens no folders to be synced, and logs such changes itself.
  if (process.platform === 'win32') return;
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
