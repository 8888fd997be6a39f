/** Size of a chunk; a single longer text gets a separate chunk. */
export const CHUNK_BYTES = 128 * 1024;
/** Number of chunks kept for reuse. Any more are left to the garbage collector. */
const MAX_SPARE_CHUNKS = 64;

/** Reusable chunks of memory outside the heap. */
export interface ChunkPool {
  /** A chunk of at least this size, with undefined content. */
  take(minBytes: number): Buffer;
  /** Returns chunks, or views of their beginnings, to the pool, each once. They will be overwritten. */
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
