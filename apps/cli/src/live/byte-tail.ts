/** The end of an output of unbounded length. */
interface ByteTail {
  push(chunk: Uint8Array): void;
  toString(): string;
}

/** Keeps at least the last `maxBytes`, plus less than a chunk. */
export function createByteTail(maxBytes: number): ByteTail {
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    push(chunk) {
      chunks.push(chunk);
      length += chunk.length;
      for (let first = chunks[0]; first !== undefined && length - first.length >= maxBytes; first = chunks[0]) {
        chunks.shift();
        length -= first.length;
      }
    },
    toString: () => Buffer.concat(chunks).toString('utf8'),
  };
}
