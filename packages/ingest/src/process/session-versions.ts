import type { TranscriptRow } from '@recount/db';
import { type RawStore, RawStoreError } from '@recount/storage';
import { hashPrefixes } from './hash-prefixes.ts';

/**
 * The longer version whose first bytes are this transcript's, if there is one among the others of its session. One whose
 * object is lost cannot be compared and is none. Of one whose secrets were taken out, the beginning is compared with this
 * transcript's bytes without secrets: they were replaced in place, the same way in both.
 */
export async function findExtension(
  rawStore: RawStore,
  transcript: TranscriptRow,
  others: readonly TranscriptRow[],
  { signal, toRedactedHash }: { signal: AbortSignal | undefined; toRedactedHash: () => Promise<string> },
): Promise<TranscriptRow | undefined> {
  let redactedHash = transcript.stored_sha256;
  for (const other of others) {
    if (other.size_bytes <= transcript.size_bytes) continue;
    const sha256 = await hashBeginning(rawStore, other.object_key, transcript.size_bytes, signal);
    if (sha256 === transcript.sha256) return other;
    if (other.stored_sha256 === null || sha256 === undefined) continue;
    redactedHash ??= await toRedactedHash();
    if (sha256 === redactedHash) return other;
  }
  return undefined;
}

async function hashBeginning(
  rawStore: RawStore,
  objectKey: string,
  lengthBytes: number,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (lengthBytes === 0) return hashPrefixes(toEmpty(), []).toDigest();
  const range = { startByte: 0, endByteExclusive: lengthBytes };
  const bytes = await rawStore.get(objectKey, { range, signal }).catch((error: unknown) => {
    if (error instanceof RawStoreError && error.code === 'not-found') return undefined;
    throw error;
  });
  if (bytes === undefined) return undefined;
  const hashes = hashPrefixes(bytes, []);
  for await (const _chunk of hashes.chunks);
  return hashes.toDigest();
}

async function* toEmpty(): AsyncGenerator<Uint8Array> {}

/**
 * The shorter versions that are beginnings of a transcript, by its hashes at their lengths: of its bytes as they were
 * uploaded, or of its redacted copy, which is compared with theirs.
 */
export function findBeginnings(
  transcript: TranscriptRow,
  hashesByLength: ReadonlyMap<number, string>,
  others: readonly TranscriptRow[],
): TranscriptRow[] {
  const isRedacted = transcript.stored_sha256 !== null;
  return others.filter((other) => {
    const sha256 = hashesByLength.get(other.size_bytes);
    return sha256 === other.sha256 || (isRedacted && sha256 === other.stored_sha256);
  });
}
