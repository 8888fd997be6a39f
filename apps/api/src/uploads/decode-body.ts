import type { UploadEncoding } from '@recount/contract';
import { decompress, SourceError } from '@recount/storage/sources';
import { ProblemError } from '../problems/problem-error.ts';

/** Each needs a new decoder. */
const MAX_FRAMES = 1000;
/** Damaged bodies are refused as a whole, so that nothing is gained by small steps. */
const INPUT_STEP_BYTES = 1024 ** 2;

/**
 * Decodes a request body: all members of gzip and all frames of zstd, which may follow one another. Errors of `source`
 * pass through. Throws ProblemError `broken-encoding` for damaged, truncated or foreign data; what came before it is
 * then of no use.
 */
export async function* decodeBody(source: AsyncIterable<Buffer>, encoding: UploadEncoding): AsyncGenerator<Buffer> {
  try {
    yield* decompress(source, encoding, { maxFrames: MAX_FRAMES, inputStepBytes: INPUT_STEP_BYTES });
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new ProblemError('broken-encoding', `The body cannot be decoded: ${error.message}`, { cause: error });
  }
}
