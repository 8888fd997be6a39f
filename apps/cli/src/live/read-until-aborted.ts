import type { Readable } from 'node:stream';

/** The stream's bytes until it ends or the signal aborts. */
export async function* readUntilAborted(stream: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = (): void => {
    stream.destroy();
  };
  signal.addEventListener('abort', stop);
  try {
    if (!signal.aborted) yield* stream;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
