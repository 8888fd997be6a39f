import { addAbortSignal, Readable } from 'node:stream';

/** Chunks of bytes; breaking off the iteration ends the source where it can be ended. */
export type Chunks = AsyncIterable<Buffer>;

/** A stream of bytes that are all there, in one chunk. */
export function toWholeStream(whole: Buffer, signal: AbortSignal): Readable {
  const stream = Readable.from(whole.length === 0 ? [] : [whole], { objectMode: false });
  // An abort before anybody reads must not crash the process; whoever reads still sees it.
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
 * A stream over a generator of chunks, none of them empty. Unlike `Readable.from`, destroying it does not wait for a read in
 * flight: `release` ends what the generator reads from, at once.
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
      // Frees what a generator waiting at a yield holds; one that waits for a read ends by `release`.
      chunks.return(undefined).catch(() => {});
      callback(error);
    },
  });
  // Ending the whole reading must not crash a process that has dropped one of the streams; whoever reads it still sees the error.
  stream.on('error', () => {});
  return addAbortSignal(signal, stream);
}

/** Destroys the stream and waits until its descriptor or socket is given back. */
export async function closeStream(stream: Readable): Promise<void> {
  if (stream.closed) return;
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  // A stream still opening, or failing just now, reports it here; nobody reads it any more.
  stream.on('error', () => {});
  stream.destroy();
  await closed;
}
