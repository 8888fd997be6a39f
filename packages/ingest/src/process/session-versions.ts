import type { TranscriptRow } from '@recount/db';
import { type RawStore, RawStoreError } from '@recount/storage';
import { hashPrefixes } from '../raw-objects/hash-prefixes.ts';

export interface Comparison {
  extension?: TranscriptRow;
  /** Longer versions whose objects are unexpectedly lost or cut. What they begin with cannot be determined. */
  lost: TranscriptRow[];
}

interface ComparisonOptions {
  signal: AbortSignal | undefined;
  /** SHA-256 (hex) of the transcript's redacted bytes. */
  toRedactedHash: () => Promise<string>;
}

/**
 * The longer version that begins with this transcript's bytes, if there is one among the others of its session. If that
 * one was redacted, its beginning is compared with this transcript's redacted bytes. Secrets are replaced in place, in
 * the same way in both.
 */
export async function findExtension(
  rawStore: RawStore,
  transcript: TranscriptRow,
  others: readonly TranscriptRow[],
  { signal, toRedactedHash }: ComparisonOptions,
): Promise<Comparison> {
  const lost: TranscriptRow[] = [];
  let redactedHash = transcript.stored_sha256;
  for (const other of others) {
    if (other.size_bytes <= transcript.size_bytes) continue;
    const sha256 = await hashPrefix(rawStore, other.object_key, transcript.size_bytes, signal);
    if (sha256 === transcript.sha256) return { extension: other, lost };
    if (sha256 === undefined && other.raw_deleted_at === null) lost.push(other);
    if (other.stored_sha256 === null || sha256 === undefined) continue;
    redactedHash ??= await toRedactedHash();
    if (sha256 === redactedHash) return { extension: other, lost };
  }
  return { lost };
}

/** SHA-256 (hex) of an object's first bytes. Undefined if it is shorter. */
async function hashPrefix(
  rawStore: RawStore,
  objectKey: string,
  lengthBytes: number,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (lengthBytes === 0) return hashPrefixes(toEmpty(), []).toDigest();
  const range = { startByte: 0, endByteExclusive: lengthBytes };
  const bytes = await rawStore.get(objectKey, { range, signal }).catch((error: unknown) => {
    if (error instanceof RawStoreError && (error.code === 'not-found' || error.code === 'invalid-range'))
      return undefined;
    throw error;
  });
  if (bytes === undefined) return undefined;
  const hashes = hashPrefixes(bytes, [lengthBytes]);
  for await (const _chunk of hashes.chunks);
  return hashes.byLength.get(lengthBytes);
}

async function* toEmpty(): AsyncGenerator<Uint8Array> {}

/**
 * The shorter versions that are beginnings of a transcript, by its hashes at their lengths. These are hashes of the
 * bytes as uploaded, or of its redacted copy if theirs are redacted.
 */
export function findPrefixes(
  transcript: Pick<TranscriptRow, 'stored_sha256'>,
  hashesByLength: ReadonlyMap<number, string>,
  others: readonly TranscriptRow[],
): TranscriptRow[] {
  const isRedacted = transcript.stored_sha256 !== null;
  return others.filter((other) => {
    const sha256 = hashesByLength.get(other.size_bytes);
    return sha256 === other.sha256 || (isRedacted && sha256 === other.stored_sha256);
  });
}
