import type { Transform } from 'node:stream';
import {
  type BrotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflateRaw,
  createZstdDecompress,
  type Gunzip,
  type InflateRaw,
  type ZstdDecompress,
} from 'node:zlib';
import type { Chunks } from './byte-stream.ts';
import { SourceError } from './source-error.ts';

/** A decoder of `node:zlib` that takes its input step by step and reports how many bytes belong to the member. */
interface StepDecoder {
  /** Yields the decoded bytes and returns how many input bytes were used (fewer than passed if a member ends). */
  decode(bytes: Buffer): AsyncGenerator<Buffer, number>;
  /** Yields the rest. Throws if the member is incomplete. */
  finish(): AsyncGenerator<Buffer, void>;
  destroy(): void;
}

/**
 * Node's decoders stop at the end of a member (gzip) or silently ignore the rest of the chunk (zstd), and drop buffered
 * output when they fail in a pipeline. Driven step by step, every byte that can be decoded comes out before the error,
 * which `toError` makes from zlib's.
 */
function createStepDecoder(zlib: ZlibDecoder, toError: (failure: Error & { code?: string }) => Error): StepDecoder {
  let failure: (Error & { code?: string }) | undefined;
  let wake = (): void => undefined;
  zlib.on('readable', () => wake());
  zlib.on('error', (error) => {
    failure = error;
    wake();
  });

  /** Yields all output of one step. The step is over when it has called `done` and nothing is left to read. */
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

export type Compression = 'gzip' | 'zstd' | 'deflate' | 'br';

/**
 * As fast as 1 MiB, and three times as fast as the default of 16 KiB; buffers of 1 MiB and more cost small transcripts
 * 0.3 ms each.
 */
const OUTPUT_CHUNK_BYTES = 256 * 1024;
/**
 * If the data are damaged, the output for up to this many bytes before the damage may be lost. 64 KiB would be a fifth
 * faster.
 */
const DEFAULT_INPUT_STEP_BYTES = 16 * 1024;
/**
 * 2^25 = 32 MiB: enough for every level but the highest, and for Codex's rollouts. The decoder holds the window in
 * memory.
 */
const MAX_ZSTD_WINDOW_LOG = 25;
const ZSTD_WINDOW_ADVICE = 'decompress it first, or compress it without --long and --ultra';
/** A new decoder takes 0.1 ms, however short its frame. */
const DEFAULT_MAX_FRAMES = 1_000_000;

type ZlibDecoder = (Gunzip | InflateRaw | ZstdDecompress | BrotliDecompress) & Transform;

const CREATE_ZLIB: Readonly<Record<Compression, () => ZlibDecoder>> = {
  gzip: () => createGunzip({ chunkSize: OUTPUT_CHUNK_BYTES }),
  deflate: () => createInflateRaw({ chunkSize: OUTPUT_CHUNK_BYTES }),
  br: () => createBrotliDecompress({ chunkSize: OUTPUT_CHUNK_BYTES }),
  zstd: () =>
    createZstdDecompress({
      chunkSize: OUTPUT_CHUNK_BYTES,
      params: { [constants.ZSTD_d_windowLogMax]: MAX_ZSTD_WINDOW_LOG },
    }),
};

interface DecompressOptions {
  /** Default 1,000,000. */
  maxFrames?: number;
  /** Bytes decoded at a time; the output of up to this many bytes before damaged data may be lost. Default 16 KiB. */
  inputStepBytes?: number;
}

/**
 * Decompresses all gzip members or zstd frames of a source; brotli and deflate have only one. If the source is
 * truncated, every byte that can be decoded comes before the error, because a stream pipeline would drop its buffers,
 * and with them the last members of a truncated archive. Holds one chunk of output at a time.
 *
 * @throws SourceError `truncated`, `corrupt` or `limit-exceeded`
 */
export async function* decompress(
  source: Chunks,
  compression: Compression,
  { maxFrames = DEFAULT_MAX_FRAMES, inputStepBytes = DEFAULT_INPUT_STEP_BYTES }: DecompressOptions = {},
): AsyncGenerator<Buffer> {
  let decoder: StepDecoder | undefined;
  let frames = 0;
  try {
    for await (const chunk of source) {
      let rest = chunk;
      while (rest.length > 0) {
        if (decoder === undefined) {
          // Gzip files may be padded with zeros, as on tapes.
          if (compression === 'gzip' && frames > 0) rest = withoutLeadingZeros(rest);
          if (rest.length === 0) break;
          frames += 1;
          if (frames > 1 && compression === 'br')
            throw new SourceError('corrupt', 'the br data continues after its end');
          if (frames > maxFrames) {
            throw new SourceError('limit-exceeded', `the ${compression} data has more than ${maxFrames} frames`);
          }
          decoder = createStepDecoder(CREATE_ZLIB[compression](), (failure) =>
            toDecompressionError(failure, compression),
          );
        }
        const step = rest.subarray(0, inputStepBytes);
        const usedBytes = yield* decoder.decode(step);
        rest = rest.subarray(usedBytes);
        if (usedBytes < step.length) {
          decoder.destroy();
          decoder = undefined;
        }
      }
    }
    if (frames === 0) throw new SourceError('truncated', `there is no ${compression} data`);
    if (decoder !== undefined) yield* decoder.finish();
  } finally {
    decoder?.destroy();
  }
}

function toDecompressionError(error: Error & { code?: string }, compression: Compression): SourceError {
  const { code = error.name } = error;
  if (code === 'Z_BUF_ERROR') {
    return new SourceError('truncated', `the ${compression} data ends too early`, { cause: error });
  }
  if (code.includes('frameParameter_windowTooLarge')) {
    const message = `the zstd data needs a window of more than 32 MiB: ${ZSTD_WINDOW_ADVICE}`;
    return new SourceError('limit-exceeded', message, { cause: error });
  }
  return new SourceError('corrupt', `the ${compression} data is damaged (${code})`, { cause: error });
}

function withoutLeadingZeros(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  return start < 0 ? bytes.subarray(bytes.length) : bytes.subarray(start);
}
