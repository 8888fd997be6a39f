/** What a transcript can be read from; a Node Readable and a web ReadableStream are both AsyncIterables. */
export type TranscriptInput = string | Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>;

/** Bounds how many rows one chunk can bring into a batch. */
const MAX_CHUNK_BYTES = 256 * 1024;

/**
 * The input as chunks of at most 256 KiB. Ends early, without an error, when `signal` aborts, also while the source
 * is silent. A source that fails throws its own error.
 */
export async function* toChunks(input: TranscriptInput, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  if (typeof input === 'string' || input instanceof Uint8Array) {
    for (const chunk of toSlices(toBytes(input))) {
      if (signal?.aborted) return;
      yield chunk;
    }
    return;
  }
  const iterator = (input as AsyncIterable<Uint8Array | string>)[Symbol.asyncIterator]();
  const aborted = toAbortPromise(signal);
  let isDone = false;
  try {
    while (!signal?.aborted) {
      const next = iterator.next();
      const result = await (aborted === undefined ? next : Promise.race([next, aborted.promise]));
      if (result === ABORTED) {
        // The read may fail later, when nobody waits for it any more.
        next.catch(() => undefined);
        return;
      }
      if (result.done) {
        isDone = true;
        return;
      }
      yield* toSlices(toBytes(result.value));
    }
  } finally {
    aborted?.dispose();
    if (!isDone) closeSoon(iterator);
  }
}

const ABORTED = Symbol('aborted');

function toAbortPromise(
  signal: AbortSignal | undefined,
): { promise: Promise<typeof ABORTED>; dispose: () => void } | undefined {
  if (signal === undefined) return undefined;
  const { promise, resolve } = Promise.withResolvers<typeof ABORTED>();
  const onAbort = (): void => resolve(ABORTED);
  signal.addEventListener('abort', onAbort, { once: true });
  return { promise, dispose: () => signal.removeEventListener('abort', onAbort) };
}

/** Not awaited: a generator that is waiting for its own source would never answer. */
function closeSoon(iterator: AsyncIterator<unknown>): void {
  iterator.return?.().catch(() => undefined);
}

function* toSlices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += MAX_CHUNK_BYTES) {
    yield bytes.subarray(start, start + MAX_CHUNK_BYTES);
  }
}

function toBytes(chunk: Uint8Array | string): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}
