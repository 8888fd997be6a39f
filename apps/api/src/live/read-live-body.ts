import type { Readable } from 'node:stream';

export interface LiveBodyOptions {
  /** Longest silence, in milliseconds. */
  idleTimeoutMs: number;
  /** Rejects with why the body need not be read any further. */
  stopped: Promise<never>;
}

/** Nothing came for `idleTimeoutMs`. */
export class SilentBodyError extends Error {
  override name = 'SilentBodyError';
}

/**
 * The bytes of a request that may last for hours, as they come. Throws SilentBodyError, why it was stopped, and the
 * stream's own errors. Leaves the stream as it is: the connection is still needed for the answer.
 */
export async function* readLiveBody(stream: Readable, options: LiveBodyOptions): AsyncGenerator<Buffer> {
  const chunks = stream.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const step = await waitForChunk(chunks.next(), options);
      if (step.done) return;
      yield step.value;
    }
  } finally {
    // Not awaited: a read may be pending.
    chunks.return?.().catch(() => undefined);
  }
}

async function waitForChunk<T>(next: Promise<T>, { idleTimeoutMs, stopped }: LiveBodyOptions): Promise<T> {
  const { promise: silent, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new SilentBodyError('Nothing came')), idleTimeoutMs);
  // Where another one wins, nobody else waits for it.
  next.catch(() => undefined);
  try {
    return await Promise.race([next, silent, stopped]);
  } finally {
    clearTimeout(timer);
  }
}
