/** Room of a chunk; a single text that is longer has a chunk of its own. */
export const CHUNK_BYTES = 128 * 1024;
/** Chunks that are kept to be written over. What is beyond them waits for the garbage collector. */
const MAX_SPARE_CHUNKS = 64;

/** Chunks of memory outside the heap, which are used again and again. */
export interface ChunkPool {
  /** A chunk with room for so many bytes at least. What stands in it is undefined. */
  take(minBytes: number): Buffer;
  /** Takes chunks back, or views of their beginnings, each once: they are written over. */
  giveBack(chunks: readonly Buffer[]): void;
}

export function createChunkPool(): ChunkPool {
  const spares: ArrayBufferLike[] = [];
  return {
    take(minBytes) {
      const spare = minBytes <= CHUNK_BYTES ? spares.pop() : undefined;
      return spare === undefined ? Buffer.allocUnsafeSlow(Math.max(minBytes, CHUNK_BYTES)) : Buffer.from(spare);
    },
    giveBack(chunks) {
      for (const { buffer } of chunks) {
        if (buffer.byteLength === CHUNK_BYTES && spares.length < MAX_SPARE_CHUNKS) spares.push(buffer);
      }
    },
  };
}
