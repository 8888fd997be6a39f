/**
 * Runs `write` over the chunks of a put's body and resolves to their number of bytes.
 *
 * If `write` fails because the body threw, that same error is rethrown, however libraries in between wrapped it; after
 * an abort, the signal's reason. An abort also ends a pending read of the body.
 */
export async function writeBody(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  write: (chunks: AsyncGenerator<Uint8Array>, bytesRead: () => number) => Promise<void>,
): Promise<number> {
  const iterator = body[Symbol.asyncIterator]();
  let sizeBytes = 0;
  let bodyFailure: { error: unknown } | undefined;

  async function* readChunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const step = await readNext(iterator, signal).catch((error: unknown) => {
        bodyFailure = { error };
        throw error;
      });
      if (step.done) return;
      sizeBytes += step.value.byteLength;
      yield step.value;
    }
  }

  try {
    await write(readChunks(), () => sizeBytes);
  } catch (error) {
    if (bodyFailure) throw bodyFailure.error;
    signal?.throwIfAborted();
    throw error;
  } finally {
    closeIterator(iterator);
  }
  if (bodyFailure) throw bodyFailure.error;
  return sizeBytes;
}

function readNext(
  iterator: AsyncIterator<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<IteratorResult<Uint8Array>> {
  if (!signal) return iterator.next();
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const rejectWithReason = () => reject(signal.reason);
    signal.addEventListener('abort', rejectWithReason, { once: true });
    iterator
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', rejectWithReason));
  });
}

/**
 * Not awaited, because a generator answers `return()` only after its pending `next()`, which may never come after an
 * abort. Its failure adds nothing. The put already reports why the body was abandoned, or the body had ended.
 */
function closeIterator(iterator: AsyncIterator<Uint8Array>): void {
  iterator.return?.().catch(() => undefined);
}
