interface PeekedChunks<Chunk> {
  /** The chunks read so far. */
  held: Chunk[];
  /** True if the source has nothing more. */
  isWhole: boolean;
  /** All chunks from the first one on, starting with `held`. Leaving the iteration early ends the source. */
  chunks: AsyncGenerator<Chunk, void>;
}

/** Reads until at least `minBytes` are available, or the source ends. */
export async function peekChunks<Chunk extends Uint8Array>(
  source: AsyncIterable<Chunk>,
  minBytes: number,
): Promise<PeekedChunks<Chunk>> {
  const iterator = source[Symbol.asyncIterator]();
  const held: Chunk[] = [];
  let isWhole = false;
  for (let heldBytes = 0; heldBytes < minBytes; ) {
    const next = await iterator.next();
    isWhole = next.done === true;
    if (next.done) break;
    held.push(next.value);
    heldBytes += next.value.byteLength;
  }
  return { held, isWhole, chunks: continueFrom(held, iterator) };
}

async function* continueFrom<Chunk>(held: Chunk[], rest: AsyncIterator<Chunk>): AsyncGenerator<Chunk, void> {
  try {
    for (let chunk = held.shift(); chunk !== undefined; chunk = held.shift()) yield chunk;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
