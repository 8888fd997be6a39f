import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { GrowingStream } from '../spool/growing-stream.ts';
import { encodeChunk } from './encode-chunk.ts';

const READ_BYTES = 64 * 1024;
/**
 * A body ends after this long without a new byte, so that the API answers and the connection need not survive silence.
 */
const IDLE_MS = 15_000;

interface StreamBodyOptions {
  offset: number;
  /** True if the rest belongs in another body. */
  isOver(): boolean;
}

/**
 * A stream's bytes from an offset on, as they arrive, until it has ended, is idle or `isOver`; each chunk with its
 * digest.
 */
export function createStreamBody(
  file: FileHandle,
  growth: GrowingStream,
  { offset, isOver }: StreamBodyOptions,
): Readable {
  let position = offset;
  const readNext = async (): Promise<Uint8Array | null> => {
    if (isOver()) return null;
    if (position >= growth.size && !growth.isEnded) await growth.waitForChange(IDLE_MS);
    const length = Math.min(READ_BYTES, growth.size - position);
    // It may have been woken by the stream's name.
    if (length <= 0) return null;
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    position += bytesRead;
    return bytesRead === 0 ? null : encodeChunk(buffer.subarray(0, bytesRead));
  };
  return new Readable({
    read() {
      readNext().then(
        (chunk) => this.push(chunk),
        (error) => this.destroy(error),
      );
    },
  });
}
