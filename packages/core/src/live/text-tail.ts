/** The end of a text that may never end, such as an agent's stderr. */
export interface TextTail {
  push(chunk: Uint8Array | string): void;
  toString(): string;
}

/** Keeps the last `maxBytes` of UTF-8, from a whole character on. */
export function createTextTail(maxBytes = 4096): TextTail {
  let tail: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      const added =
        typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      // A copy, which holds on to nothing else.
      tail = Buffer.concat([tail, added.subarray(-maxBytes)]).subarray(-maxBytes);
    },
    toString() {
      let start = 0;
      while (start < Math.min(tail.length, 3) && ((tail[start] ?? 0) & 0xc0) === 0x80) start++;
      return tail.toString('utf8', start);
    },
  };
}
