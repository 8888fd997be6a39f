/** A source that a transcript can be read from. A Node Readable and a web ReadableStream are both AsyncIterables. */
export type TranscriptInput = string | Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>;

/** Bounds how many rows one chunk can add to a batch. */
const MAX_CHUNK_BYTES = 256 * 1024;

/**
 * The input as chunks of at most 256 KiB. Ends early, without an error, when `signal` aborts, even while the source is
 * silent. If the source fails, its error is thrown; a chunk that is neither bytes nor text throws a TypeError.
 */
export async function* toChunks(input: TranscriptInput, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const source = typeof input === 'string' || input instanceof Uint8Array ? toSingleChunk(input) : input;
  const iterator = (source as AsyncIterable<Uint8Array | string>)[Symbol.asyncIterator]();
  const encoder = createChunkEncoder();
  let isDone = false;
  try {
    while (!isDone) {
      if (signal?.aborted) return;
      const next = await nextOrAbort(iterator, signal);
      if (next === ABORTED) return;
      isDone = next.done === true;
      const bytes = isDone ? encoder.finish() : encoder.encode(next.value);
      for (let start = 0; start < bytes.length; start += MAX_CHUNK_BYTES) {
        if (start > 0) await nextTurn();
        if (signal?.aborted) return;
        yield bytes.subarray(start, start + MAX_CHUNK_BYTES);
      }
    }
  } finally {
    if (!isDone) void close(source, iterator);
  }
}

async function* toSingleChunk(chunk: Uint8Array | string): AsyncGenerator<Uint8Array | string> {
  yield chunk;
}

const ABORTED = Symbol('aborted');

/**
 * Adds a listener for every chunk. Racing the source against a single long-lived promise would keep every chunk in
 * memory, because such a promise keeps references to everything raced against it.
 */
function nextOrAbort<T>(
  iterator: AsyncIterator<T>,
  signal: AbortSignal | undefined,
): Promise<IteratorResult<T> | typeof ABORTED> {
  if (signal === undefined) return iterator.next();
  const next = async (): Promise<IteratorResult<T>> => iterator.next();
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(ABORTED);
    signal.addEventListener('abort', onAbort, { once: true });
    next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Yields to timers and I/O, including an abort, which would otherwise wait until a large chunk is parsed. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Not awaited, because a generator that is waiting for its own source would never answer. A silent Node stream must be
 * destroyed, because its iterator's `return` waits for the pending read.
 */
async function close(source: object, iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    if ('destroy' in source && typeof source.destroy === 'function') source.destroy();
    await iterator.return?.();
  } catch {
    // The parse has ended already; errors of the abandoned source no longer matter.
  }
}

/** Encodes text as UTF-8, even if a chunk ends between the halves of a surrogate pair. */
function createChunkEncoder() {
  let highSurrogate = '';
  return {
    encode(chunk: Uint8Array | string): Uint8Array {
      if (chunk instanceof Uint8Array) return chunk;
      if (typeof chunk !== 'string') throw new TypeError('A chunk of a transcript must be a Uint8Array or a string');
      const text = highSurrogate + chunk;
      highSurrogate = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? '';
      return Buffer.from(highSurrogate === '' ? text : text.slice(0, -1));
    },
    finish(): Uint8Array {
      return Buffer.from(highSurrogate);
    },
  };
}
