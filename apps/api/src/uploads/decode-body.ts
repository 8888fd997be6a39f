import type { Transform } from 'node:stream';
import {
  type BrotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createZstdDecompress,
  type Gunzip,
  type ZstdDecompress,
} from 'node:zlib';
import type { UploadEncoding } from '@recount/contract';
import { createStepDecoder, type StepDecoder } from '@recount/sources';
import { ProblemError } from '../problems/problem-error.ts';

/** Three times as fast as the default of 16 KiB. */
const OUTPUT_CHUNK_BYTES = 1024 ** 2;
/** 2^23 = 8 MiB: the window of the HTTP content coding (RFC 9659), which a decoder must have in memory. */
const MAX_ZSTD_WINDOW_LOG = 23;
/** A new decoder costs about a millisecond, however short its member. */
const MAX_MEMBERS = 1000;

type Zlib = (Gunzip | BrotliDecompress | ZstdDecompress) & Transform;

const CREATE_ZLIB: Readonly<Record<UploadEncoding, () => Zlib>> = {
  gzip: () => createGunzip({ chunkSize: OUTPUT_CHUNK_BYTES }),
  br: () => createBrotliDecompress({ chunkSize: OUTPUT_CHUNK_BYTES }),
  zstd: () =>
    createZstdDecompress({
      chunkSize: OUTPUT_CHUNK_BYTES,
      params: { [constants.ZSTD_d_windowLogMax]: MAX_ZSTD_WINDOW_LOG },
    }),
};

/**
 * Decodes a request body: all members of gzip and all frames of zstd, which may follow one another. Errors of `source`
 * pass through. Throws ProblemError `broken-encoding` for damaged, truncated or foreign data; what came before it is
 * then of no use. Holds one chunk of output at a time.
 */
export async function* decodeBody(source: AsyncIterable<Buffer>, encoding: UploadEncoding): AsyncGenerator<Buffer> {
  let decoder = createDecoder(encoding);
  let memberCount = 1;
  try {
    for await (const chunk of source) {
      let rest = chunk;
      while (rest.length > 0) {
        const usedBytes = yield* decoder.decode(rest);
        rest = rest.subarray(usedBytes);
        if (rest.length === 0) continue;
        memberCount += 1;
        if (encoding === 'br' || memberCount > MAX_MEMBERS) throw toBrokenEncoding(encoding, 'goes on after its end');
        decoder.destroy();
        decoder = createDecoder(encoding);
      }
    }
    yield* decoder.finish();
  } finally {
    decoder.destroy();
  }
}

function createDecoder(encoding: UploadEncoding): StepDecoder {
  return createStepDecoder(CREATE_ZLIB[encoding](), (failure) =>
    toBrokenEncoding(encoding, describeFailure(failure), failure),
  );
}

function describeFailure({ code }: { code?: string }): string {
  if (code === 'Z_BUF_ERROR') return 'ends too early';
  if (code?.includes('frameParameter_windowTooLarge')) return 'needs a window of more than 8 MiB';
  return 'is damaged';
}

function toBrokenEncoding(encoding: UploadEncoding, what: string, cause?: Error): ProblemError {
  return new ProblemError('broken-encoding', `The ${encoding} data ${what}`, { cause });
}
