import { createHash } from 'node:crypto';

export interface PrefixHashes {
  /** The bytes, unchanged, hashed as they stream by. */
  chunks: AsyncIterable<Uint8Array>;
  /** SHA-256 (hex) of the first bytes, for each of the asked lengths that was reached. */
  byLength: ReadonlyMap<number, string>;
  /** SHA-256 (hex) of all bytes; to be called once, after the last chunk. */
  toDigest(): string;
}

/** Hashes a stream as a whole and at each of `lengths` (bytes) on the way. */
export function hashPrefixes(source: AsyncIterable<Uint8Array>, lengths: Iterable<number>): PrefixHashes {
  const hash = createHash('sha256');
  const pending = [...new Set(lengths)].sort((a, b) => a - b);
  const byLength = new Map<number, string>();
  let offset = 0;

  const update = (chunk: Uint8Array): void => {
    let rest = chunk;
    for (let next = pending[0]; next !== undefined && next <= offset + rest.length; next = pending[0]) {
      hash.update(rest.subarray(0, next - offset));
      rest = rest.subarray(next - offset);
      offset = next;
      byLength.set(next, hash.copy().digest('hex'));
      pending.shift();
    }
    hash.update(rest);
    offset += rest.length;
  };

  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      update(chunk);
      yield chunk;
    }
  }
  return { chunks: hashed(), byLength, toDigest: () => hash.digest('hex') };
}
