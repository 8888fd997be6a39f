import type { Transform } from 'node:stream';
import type { Zlib } from 'node:zlib';

/** A decoder of `node:zlib` that takes its input a step at a time and says how much of it belongs to the member. */
export interface StepDecoder {
  /** Yields what comes of the bytes and returns how many of them were used: fewer than given where a member ends. */
  decode(bytes: Buffer): AsyncGenerator<Buffer, number>;
  /** Yields the rest. Throws where the member is not complete. */
  finish(): AsyncGenerator<Buffer, void>;
  destroy(): void;
}

/**
 * Node's decoders stop where a member ends (gzip) or silently ignore all that follows in the same chunk (zstd), and drop
 * buffered output when they fail in a pipeline. Driven step by step, every byte that can be decoded comes out before
 * the error, which is what `toError` makes of zlib's.
 */
export function createStepDecoder(
  zlib: Zlib & Transform,
  toError: (failure: Error & { code?: string }) => Error,
): StepDecoder {
  let failure: (Error & { code?: string }) | undefined;
  let wake = (): void => undefined;
  zlib.on('readable', () => wake());
  zlib.on('error', (error) => {
    failure = error;
    wake();
  });

  /** Yields all output of one step, which is over when it has called `done` and nothing is left to read. */
  async function* run(step: (done: (error?: Error | null) => void) => void): AsyncGenerator<Buffer, void> {
    let isDone = false;
    step((error) => {
      isDone = true;
      failure ??= error ?? undefined;
      wake();
    });
    for (;;) {
      const output: Buffer | null = zlib.read();
      if (output !== null) yield output;
      else if (failure !== undefined) throw toError(failure);
      else if (isDone) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }

  return {
    async *decode(bytes) {
      const before = zlib.bytesWritten;
      yield* run((done) => zlib.write(bytes, done));
      return zlib.bytesWritten - before;
    },
    finish: () =>
      run((done) => {
        zlib.once('end', () => done());
        zlib.end();
      }),
    destroy: () => zlib.destroy(),
  };
}
