import { UPLOAD_ENCODINGS, type UploadEncoding } from '@recount/contract';
import { decompress, SourceError } from '@recount/storage/sources';
import { ProblemError } from '../problems/problem-error.ts';

const ALIASES: Readonly<Record<string, UploadEncoding>> = { 'x-gzip': 'gzip' };
const ACCEPTED = UPLOAD_ENCODINGS.join(', ');

/**
 * The only encoding in a Content-Encoding header; undefined if there is none. Throws ProblemError
 * `unsupported-encoding` for unknown or multiple encodings.
 */
export function parseContentEncoding(header: string | undefined): UploadEncoding | undefined {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
    .map((name) => ALIASES[name] ?? name);
  if (names.length === 0) return undefined;
  const encoding = UPLOAD_ENCODINGS.find((candidate) => candidate === names[0]);
  if (encoding === undefined || names.length > 1) {
    const detail = `Accepted are ${ACCEPTED}, or none`;
    throw new ProblemError('unsupported-encoding', detail, { headers: { 'accept-encoding': ACCEPTED } });
  }
  return encoding;
}

/** Each one needs a new decoder. */
const MAX_FRAMES = 1000;
/** Damaged bodies are rejected as a whole, so small steps gain nothing. */
const INPUT_STEP_BYTES = 1024 ** 2;

/**
 * Decodes a request body, with all consecutive gzip members or zstd frames. Errors of `source` pass through. Throws
 * ProblemError `broken-encoding` for damaged, truncated or foreign data; what was decoded before is then useless.
 */
export async function* decodeBody(source: AsyncIterable<Buffer>, encoding: UploadEncoding): AsyncGenerator<Buffer> {
  try {
    yield* decompress(source, encoding, { maxFrames: MAX_FRAMES, inputStepBytes: INPUT_STEP_BYTES });
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new ProblemError('broken-encoding', `The body cannot be decoded: ${error.message}`, { cause: error });
  }
}
