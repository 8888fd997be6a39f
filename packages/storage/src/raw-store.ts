import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

export interface RawObjectInfo {
  key: string;
  sizeBytes: number;
  modifiedAtMs: number;
}

export interface ListedObject extends RawObjectInfo {
  /** False if the object has no description, neither beside it nor with its batch's. An unreadable one counts. */
  isDescribed: boolean;
}

/**
 * The bytes from `startByte` up to, but not including, `endByteExclusive` (by default the object's end). An end beyond
 * the object means its end; a start at or beyond it is `invalid-range`.
 */
export interface ByteRange {
  startByte: number;
  endByteExclusive?: number;
}

/** Facts that an object's bytes do not contain, parsed from JSON. */
export type ObjectDescription = Readonly<Record<string, unknown>>;

/** An object to be put with others. */
export interface NewObject {
  key: string;
  body: AsyncIterable<Uint8Array>;
  signal?: AbortSignal | undefined;
}

/** Space of a disk. */
export interface StoreSpace {
  /** Bytes that an unprivileged user may still write. */
  freeBytes: number;
  totalBytes: number;
}

/**
 * The store of raw transcript bytes. Keys come from `rawObjectKey` and are unique to an upload, so nothing is
 * overwritten on purpose (a put to an existing key replaces the object).
 *
 * Every method rejects with a `RawStoreError`, except for two errors that are passed on unchanged, one thrown by the
 * body of a put, and the `reason` of an aborted signal.
 */
export interface RawStore {
  /**
   * Stores the body's bytes and resolves once they are complete and durable; until then the key shows nothing.
   *
   * If the body throws or the signal aborts, nothing remains. After a failure of the store itself the object may exist
   * (a lost answer looks like a lost request), but only complete.
   *
   * Memory is bounded, whatever the size of the body. Chunks stay in memory until they are written, so the body must
   * not reuse their memory. If put ends early it calls the body's `return()`, which destroys a Node stream.
   */
  put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<{ sizeBytes: number }>;
  /**
   * Stores several objects like `put`, with fewer syncs. Resolves to their outcomes, in order, once all that succeeded
   * are durable; never rejects.
   */
  putAll(objects: readonly NewObject[]): Promise<PromiseSettledResult<{ sizeBytes: number }>[]>;
  /**
   * Rejects with `not-found`, `invalid-range` and the like before there is a stream. A later failure, or an end before
   * the last byte, is a RawStoreError on the stream; an abort is an AbortError on it. The stream holds a file or a
   * connection until it has ended or is destroyed.
   */
  get(key: string, options?: { range?: ByteRange | undefined; signal?: AbortSignal | undefined }): Promise<Readable>;
  stat(key: string): Promise<RawObjectInfo | undefined>;
  /**
   * Stores facts about the object besides its bytes, replacing earlier ones, and resolves once they are durable. They
   * are deleted with the object, and are not listed. Rejects with `too-large` beyond 1 MiB.
   */
  describe(key: string, description: object): Promise<void>;
  /**
   * Describes objects of the same batch, by key, with one put, and resolves once all descriptions are durable. It may
   * be called once for a batch. `describe` replaces a single one later. Rejects with `invalid-key` if the keys do not
   * name one batch, and with `too-large` like `describe`.
   */
  describeTogether(descriptions: ReadonlyMap<string, object>): Promise<void>;
  /** Undefined if the object has no description, or something else has its name. */
  readDescription(key: string): Promise<ObjectDescription | undefined>;
  /** Deletes the object if it is there, with its description. */
  delete(key: string): Promise<void>;
  /** Deletes all objects whose key starts with `prefix`, with their descriptions. */
  deleteAll(prefix: string): Promise<void>;
  /** The objects whose key starts with `prefix` (`''` for all), in no particular order, loaded page by page. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /**
   * Readiness check. It puts a small object and reads it back, so that it fails whenever an upload would fail for lack
   * of a bucket, a folder, credentials or space. The object stays at READINESS_OBJECT_KEY; every check overwrites it.
   */
  check(): Promise<void>;
  /** The store's disk space; undefined if it cannot be determined, as with S3. */
  readSpace(): Promise<StoreSpace | undefined>;
  /**
   * Removes what puts interrupted by a crash left behind (temporary files, unfinished multipart uploads), if nothing
   * was written for `olderThanMs`; on S3, if the upload began that long ago. Resolves to the number removed.
   */
  abortStaleUploads(olderThanMs: number): Promise<number>;
  close(): Promise<void>;
}

/**
 * - `not-found` means no object under the key
 * - `invalid-key`, `invalid-range`, `invalid-location`, `too-large` means the argument is at fault
 * - `denied` is about credentials or permissions
 * - `store-missing` means the bucket or folder itself is not there
 * - `out-of-space` means the disk or quota is full
 * - `unavailable` means anything else, from a refused connection to an error never seen before
 */
export type RawStoreErrorCode =
  | 'not-found'
  | 'invalid-key'
  | 'invalid-range'
  | 'invalid-location'
  | 'too-large'
  | 'denied'
  | 'store-missing'
  | 'out-of-space'
  | 'unavailable';

const FINAL_CODES: ReadonlySet<RawStoreErrorCode> = new Set([
  'not-found',
  'invalid-key',
  'invalid-range',
  'invalid-location',
  'too-large',
]);

/** The only error class of this port. Messages name keys, buckets and folders, never content. */
export class RawStoreError extends Error {
  override readonly name = 'RawStoreError';
  readonly code: RawStoreErrorCode;
  /**
   * True if the same call may succeed later; false only if no change of the store's state or configuration can help.
   */
  readonly retryable: boolean;

  constructor(code: RawStoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.retryable = !FINAL_CODES.has(code);
  }
}

/** Throws RawStoreError `invalid-range` unless the bounds are non-negative integers and span at least one byte. */
export function assertByteRange({ startByte, endByteExclusive = Number.MAX_SAFE_INTEGER }: ByteRange): void {
  if (!Number.isSafeInteger(startByte) || !Number.isSafeInteger(endByteExclusive) || startByte < 0) {
    throw new RawStoreError('invalid-range', 'A byte range needs whole bounds of at least 0');
  }
  if (endByteExclusive <= startByte) throw new RawStoreError('invalid-range', 'The byte range is empty');
}

/** Not below `workspaces/`, so that it is not mistaken for a transcript. */
export const READINESS_OBJECT_KEY = 'readiness-check';
/** Large enough for a full disk or quota to refuse, small enough to be written every half a minute. */
const CHECK_BYTES = 64 * 1024;

/**
 * Implements RawStore's `check`. The bytes are always the same, so concurrent checks by several processes do not
 * conflict.
 */
export async function checkStore(store: Pick<RawStore, 'put' | 'get'>): Promise<void> {
  const bytes = Buffer.alloc(CHECK_BYTES, 'recount checks that the store can be written to and read.\n');
  await store.put(
    READINESS_OBJECT_KEY,
    (async function* () {
      yield bytes;
    })(),
  );
  const stored = await buffer(await store.get(READINESS_OBJECT_KEY));
  if (!stored.equals(bytes))
    throw new RawStoreError('unavailable', `Other bytes at ${READINESS_OBJECT_KEY} than were put`);
}
