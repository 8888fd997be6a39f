/** The end of an output that may never end. */
interface ByteTail {
  push(chunk: Uint8Array): void;
  toString(): string;
}

/** Keeps at least the last `maxBytes`, and less than a chunk more. */
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
