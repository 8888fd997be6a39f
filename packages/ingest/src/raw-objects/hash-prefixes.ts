import { createHash } from 'node:crypto';

export interface PrefixHashes {
  /** The bytes, unchanged, hashed while they pass. */
  chunks: AsyncIterable<Uint8Array>;
  /** SHA-256 (hex) of the first bytes, for each of the given lengths that was reached. */
  byLength: ReadonlyMap<number, string>;
  /** SHA-256 (hex) of all bytes; to be called once, after the last chunk. */
  toDigest(): string;
}

/** Hashes a stream as a whole and at each of `lengths` (bytes). */
export function hashPrefixes(source: AsyncIterable<Uint8Array>, lengths: Iterable<number>): PrefixHashes {
  const hash = createHash('sha256');
  const pending = [...new Set(lengths)].sort((a, b) => a - b);
  const byLength = new Map<number, string>();
  let offset = 0;

  const update = (chunk: Uint8Array): void => {
    for (const part of cutAtLengths(chunk, offset, pending)) {
      hash.update(part);
      offset += part.length;
      if (offset !== pending[0]) continue;
      byLength.set(offset, hash.copy().digest('hex'));
      pending.shift();
    }
  };

  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      update(chunk);
      yield chunk;
    }
  }
  return { chunks: hashed(), byLength, toDigest: () => hash.digest('hex') };
}

/** Splits a chunk that begins at `offset` at each of the ascending `lengths` within it. */
export function cutAtLengths(chunk: Uint8Array, offset: number, lengths: readonly number[]): Uint8Array[] {
  const ends = lengths.map((length) => length - offset).filter((end) => end >= 0 && end <= chunk.length);
  return [...ends, chunk.length].map((end, index) => chunk.subarray(ends[index - 1] ?? 0, end));
}
