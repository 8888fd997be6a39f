import type { TranscriptRow } from '@recount/db';
import type { RawStore } from '@recount/storage';
import { hashPrefixes } from './hash-prefixes.ts';

/** The longer version whose first bytes are this transcript's, if there is one among the others of its session. */
export async function findExtension(
  rawStore: RawStore,
  transcript: TranscriptRow,
  others: readonly TranscriptRow[],
): Promise<TranscriptRow | undefined> {
  for (const other of others) {
    if (other.size_bytes <= transcript.size_bytes) continue;
    if ((await hashBeginning(rawStore, other.object_key, transcript.size_bytes)) === transcript.sha256) return other;
  }
  return undefined;
}

async function hashBeginning(rawStore: RawStore, objectKey: string, lengthBytes: number): Promise<string> {
  if (lengthBytes === 0) return hashPrefixes(toEmpty(), []).toDigest();
  const bytes = await rawStore.get(objectKey, { range: { startByte: 0, endByteExclusive: lengthBytes } });
  const hashes = hashPrefixes(bytes, []);
  for await (const _chunk of hashes.chunks);
  return hashes.toDigest();
}

async function* toEmpty(): AsyncGenerator<Uint8Array> {}

/** The shorter versions that are beginnings of a transcript, by its hashes at their lengths. */
export function findBeginnings(
  hashesByLength: ReadonlyMap<number, string>,
  others: readonly TranscriptRow[],
): TranscriptRow[] {
  return others.filter((other) => hashesByLength.get(other.size_bytes) === other.sha256);
}
