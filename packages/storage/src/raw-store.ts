import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

export interface RawObjectInfo {
  key: string;
  sizeBytes: number;
  modifiedAtMs: number;
}

/**
 * The bytes from `startByte` up to, but not including, `endByteExclusive` (left out: the object's end).
 * An end beyond the object is the object's end; a start at or beyond it is `invalid-range`.
 */
export interface ByteRange {
  startByte: number;
  endByteExclusive?: number;
}

/** What an object's bytes do not tell, read from JSON. */
export type ObjectDescription = Readonly<Record<string, unknown>>;

/** Of the disk that something lies on. */
export interface StoreSpace {
  /** What an ordinary user may still write. */
  freeBytes: number;
  totalBytes: number;
}

/**
 * Where raw transcript bytes live. Keys come from `rawObjectKey`: unique to an upload, so nothing is overwritten on
 * purpose (a put to a key in use replaces the object).
 *
 * Every method rejects with a `RawStoreError`, save for two errors that are passed on unchanged: what the body of a
 * put threw, and the `reason` of an aborted signal.
 */
export interface RawStore {
  /**
   * Stores the body's bytes and resolves once they are complete and durable; until then the key shows nothing of them.
   *
   * If the body throws or the signal aborts, nothing stays. After a failure of the store itself the object may be
   * there (a lost answer looks like a lost request), but only ever whole.
   *
   * Memory is bounded, whatever the size of the body. Chunks are held until they are written: the body must not reuse
   * their memory. Where put ends early it calls the body's `return()`, which destroys a Node stream.
   */
  put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<{ sizeBytes: number }>;
  /**
   * Rejects before there is a stream with `not-found`, `invalid-range` and the like. A failure later, or an end before
   * the last byte, is a RawStoreError on the stream; an abort is an AbortError on it.
   * The stream holds a file or a connection until it has ended or is destroyed.
   */
  get(key: string, options?: { range?: ByteRange | undefined; signal?: AbortSignal | undefined }): Promise<Readable>;
  stat(key: string): Promise<RawObjectInfo | undefined>;
  /**
   * Stores what is to be known of the object beside its bytes, in place of what was there, and resolves once that is
   * durable. It goes where the object is deleted, and is not listed. Rejects with `too-large` beyond 1 MiB.
   */
  describe(key: string, description: object): Promise<void>;
  /** Undefined where nobody has described the object, or something else lies in the description's place. */
  readDescription(key: string): Promise<ObjectDescription | undefined>;
  /** Deletes the object if it is there, with its description. */
  delete(key: string): Promise<void>;
  /** The objects whose key starts with `prefix` (`''`: all), in no particular order, read page by page. */
  list(prefix: string): AsyncIterable<RawObjectInfo>;
  /**
   * For readiness: puts a small object and reads it back, so that it fails where an upload would fail for want of a
   * bucket, a folder, credentials or room. The object stays at READINESS_OBJECT_KEY, which every check writes again.
   */
  check(): Promise<void>;
  /** The room that the store has; undefined if it cannot be known, as with S3. */
  readSpace(): Promise<StoreSpace | undefined>;
  /**
   * Removes what puts cut off by a crash left behind (temporary files, unfinished multipart uploads), where nothing
   * was written for `olderThanMs`; on S3, where the upload began that long ago. Resolves to the number removed.
   */
  abortStaleUploads(olderThanMs: number): Promise<number>;
  close(): Promise<void>;
}

/**
 * - `not-found`: no object under the key
 * - `invalid-key`, `invalid-range`, `invalid-location`, `too-large`: the argument is at fault
 * - `denied`: credentials or permissions
 * - `store-missing`: the bucket or folder itself is not there
 * - `out-of-space`: the disk or quota is full
 * - `unavailable`: anything else, from a refused connection to an error never seen before
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

/** The one error class of the port. Messages name keys, buckets and folders, never content. */
export class RawStoreError extends Error {
  override readonly name = 'RawStoreError';
  readonly code: RawStoreErrorCode;
  /** Whether the same call may succeed later: false only where no change of the store's state or set-up can help it. */
  readonly retryable: boolean;

  constructor(code: RawStoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.retryable = !FINAL_CODES.has(code);
  }
}

/** Throws RawStoreError `invalid-range` unless the bounds are whole, not negative, and hold at least one byte. */
export function assertByteRange({ startByte, endByteExclusive = Number.MAX_SAFE_INTEGER }: ByteRange): void {
  if (!Number.isSafeInteger(startByte) || !Number.isSafeInteger(endByteExclusive) || startByte < 0) {
    throw new RawStoreError('invalid-range', 'A byte range needs whole bounds of at least 0');
  }
  if (endByteExclusive <= startByte) throw new RawStoreError('invalid-range', 'The byte range is empty');
}

/** Not below `workspaces/`, so that nothing takes it for a transcript. */
export const READINESS_OBJECT_KEY = 'readiness-check';
/** Enough for a disk or a quota to refuse, and little enough to be written every half a minute. */
const CHECK_BYTES = 64 * 1024;

/** As RawStore's `check`. The bytes are always the same: checks of several processes need not know of each other. */
export async function checkStore({ put, get }: Pick<RawStore, 'put' | 'get'>): Promise<void> {
  const bytes = Buffer.alloc(CHECK_BYTES, 'recount checks that the store can be written to and read.\n');
  await put(
    READINESS_OBJECT_KEY,
    (async function* () {
      yield bytes;
    })(),
  );
  const stored = await buffer(await get(READINESS_OBJECT_KEY));
  if (!stored.equals(bytes))
    throw new RawStoreError('unavailable', `Other bytes at ${READINESS_OBJECT_KEY} than were put`);
}
