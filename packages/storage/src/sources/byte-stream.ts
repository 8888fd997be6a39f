import { addAbortSignal, Readable } from 'node:stream';

/** Chunks of bytes; leaving the iteration early ends the source if possible. */
export type Chunks = AsyncIterable<Buffer>;

/** A stream of a complete buffer, in one chunk. */
export function toWholeStream(whole: Buffer, signal: AbortSignal): Readable {
  const stream = Readable.from(whole.length === 0 ? [] : [whole], { objectMode: false });
  // An abort before anyone reads must not crash the process; readers still see the error.
  stream.on('error', () => {});
  return addAbortSignal(signal, stream);
}

/** At most the first `maxBytes` bytes, in one buffer. */
export async function readAtMost(source: Chunks, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of source) {
    parts.push(chunk.subarray(0, maxBytes - length));
    length += Math.min(chunk.length, maxBytes - length);
    if (length === maxBytes) break;
  }
  return Buffer.concat(parts, length);
}

/**
 * A stream over a generator of non-empty chunks. Unlike with `Readable.from`, destroying it does not wait for a pending
 * read: `release` immediately ends what the generator reads from.
 */
export function toReadable(chunks: AsyncGenerator<Buffer>, signal: AbortSignal, release: () => void): Readable {
  const stream = new Readable({
    read() {
      chunks.next().then(
        (next) => stream.push(next.done ? null : next.value),
        (error: Error) => stream.destroy(error),
      );
    },
    destroy(error, callback) {
      release();
      // Frees what a generator suspended at a yield holds; one that waits for a read is ended by `release`.
      chunks.return(undefined).catch(() => {});
      callback(error);
    },
  });
  // Aborting the whole run must not crash a process that has dropped one of the streams; readers still see the error.
  stream.on('error', () => {});
  return addAbortSignal(signal, stream);
}

/** Destroys the stream and waits until its descriptor or socket is closed. */
export async function closeStream(stream: Readable): Promise<void> {
  if (stream.closed) return;
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  // A stream that is still opening, or just failing, reports it here; it has no reader any more.
  stream.on('error', () => {});
  stream.destroy();
  await closed;
}
