import { createHash } from 'node:crypto';
import type { TranscriptRow } from '@recount/db';
import { type RawStore, RawStoreError } from '@recount/storage';

/** `unreadable`: the store has it, and fails to give it. */
export type RawObjectState = 'whole' | 'wrong-size' | 'wrong-content' | 'missing' | 'unreadable';

/** What decides whether an object is whole. */
export type StoredContent = Pick<TranscriptRow, 'object_key' | 'size_bytes' | 'sha256' | 'stored_sha256'>;

/**
 * Reads a transcript's raw object to its end and compares size and SHA-256 with what was stored. Throws what the store throws
 * when it is asked for the object at all, so that an outage is not taken for a fault of the object.
 */
export async function examineRawObject(
  rawStore: RawStore,
  row: StoredContent,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<RawObjectState> {
  const object = await rawStore.stat(row.object_key);
  if (object === undefined) return 'missing';
  if (object.sizeBytes !== row.size_bytes) return 'wrong-size';
  try {
    const sha256 = await hashRawObject(rawStore, row.object_key, options);
    return sha256 === (row.stored_sha256 ?? row.sha256) ? 'whole' : 'wrong-content';
  } catch (error) {
    if (!(error instanceof RawStoreError)) throw error;
    return error.code === 'not-found' ? 'missing' : 'unreadable';
  }
}

/** SHA-256 (hex) of an object's bytes. Throws RawStoreError. */
export async function hashRawObject(
  rawStore: RawStore,
  key: string,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of await rawStore.get(key, { signal })) hash.update(chunk);
  return hash.digest('hex');
}
