import { RawStoreError, type RawStoreErrorCode, workspacePrefix } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';

/** The raw store refuses what uploads would write. */
export interface StoreFault {
  /** One sentence that says what to do. Names no place. */
  advice: string;
  /** The store's answer, with the place. */
  message: string;
}

export type StoreFinding = { kind: 'unwritable-store'; reason: string; message: string; fixed: false };

const ADVICE: Partial<Record<RawStoreErrorCode, string>> = {
  denied:
    'Give the user or the credentials that recount runs with the right to write there, and see that the disk is not mounted read-only',
  'store-missing': 'Create or mount it, or correct RECOUNT_RAW_STORE',
  'out-of-space': 'Free space there',
};
const OTHER_ADVICE = 'See that it can be reached and is not damaged';
/** No object that uploads write has this name. */
const MARK_NAME = 'writable-check';

/**
 * Writes small objects and deletes them where uploads are stored, because permissions do not tell: root may write
 * whatever they say, but to no disk that is read-only. Returns the first refusal, or undefined. Tries the store and each
 * of the workspaces, because its folders may belong to different users.
 */
export async function findStoreFault(
  { rawStore }: Pick<IngestDependencies, 'rawStore'>,
  workspaceIds: readonly string[],
  signal?: AbortSignal,
): Promise<StoreFault | undefined> {
  try {
    for (const place of ['', ...workspaceIds.map((id) => `${workspacePrefix(id)}transcripts/`)]) {
      signal?.throwIfAborted();
      const key = `${place}${MARK_NAME}`;
      await rawStore.put(key, toMark(), { signal });
      await rawStore.delete(key);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof RawStoreError)) throw error;
    return { advice: ADVICE[error.code] ?? OTHER_ADVICE, message: error.message };
  }
}

async function* toMark(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('recount checks that this folder can be written to.\n');
}
