import { addAbortSignal, type Readable, Transform } from 'node:stream';
import { RawStoreError } from './raw-store.ts';

/**
 * Passes `source` through, and fails with a RawStoreError if it fails or ends before `expectedBytes` (undefined if
 * unknown, and then not checked). Destroying the result destroys the source.
 */
export function createCheckedDownload(
  source: Readable,
  options: {
    expectedBytes: number | undefined;
    toError: (error: unknown) => RawStoreError;
    signal?: AbortSignal | undefined;
  },
): Readable {
  const { expectedBytes, toError, signal } = options;
  let receivedBytes = 0;
  const cutShort = () =>
    new RawStoreError('unavailable', `The raw object ended after ${receivedBytes} of ${expectedBytes ?? '?'} bytes`);
  const checked = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      receivedBytes += chunk.byteLength;
      done(null, chunk);
    },
    flush(done) {
      done(expectedBytes === undefined || receivedBytes === expectedBytes ? null : cutShort());
    },
    destroy(error, done) {
      source.destroy();
      done(error);
    },
  });
  source.on('error', (error) => checked.destroy(toError(error)));
  source.on('close', () => {
    if (!source.readableEnded) checked.destroy(cutShort());
  });
  if (signal) addAbortSignal(signal, checked);
  return source.pipe(checked);
}
