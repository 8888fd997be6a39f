import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LIVE_CHUNK_ENCODING, MAX_LIVE_CHUNK_BYTES } from '@recount/contract';
import { ProblemError } from '../problems/problem-error.ts';
import { type ExpectedDigest, hasDigests, parseDigests } from '../uploads/digests.ts';

const LINE_END = '\r\n';
/** A header has at most 5 digits and the digest. */
const MAX_HEADER_BYTES = 128;
const HEADER_PATTERN = /^([0-9a-f]{1,5});sha-256=:([A-Za-z0-9+/]{43}=):$/;

/**
 * Decodes the encoding `recount-chunked` of a live stream: `<length, hexadecimal>;sha-256=:<base64>:`, CR LF, the
 * bytes, CR LF. Yields only chunks whose digest was verified. Holds one chunk. Throws ProblemError `digest-mismatch`,
 * `broken-encoding` and `upload-aborted`; errors of `source` pass through.
 */
export async function* decodeChunks(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const piece of source) {
    held = held.length === 0 ? piece : Buffer.concat([held, piece]);
    for (let chunk = takeChunk(held); chunk !== undefined; chunk = takeChunk(held)) {
      held = held.subarray(chunk.usedBytes);
      yield chunk.bytes;
    }
  }
  if (held.length > 0) throw new ProblemError('upload-aborted', 'The body ended within a chunk');
}

/** The first chunk; undefined if it is incomplete. */
function takeChunk(held: Buffer): { bytes: Buffer; usedBytes: number } | undefined {
  const headerEnd = held.indexOf(LINE_END);
  if (headerEnd === -1 && held.length <= MAX_HEADER_BYTES) return undefined;
  const [, length = '', digest = ''] = HEADER_PATTERN.exec(held.toString('latin1', 0, headerEnd)) ?? [];
  const lengthBytes = Number.parseInt(length, 16);
  if (!(lengthBytes > 0 && lengthBytes <= MAX_LIVE_CHUNK_BYTES)) {
    throw new ProblemError(
      'broken-encoding',
      `A chunk begins with its length (1 to ${MAX_LIVE_CHUNK_BYTES}) and sha-256`,
    );
  }
  const start = headerEnd + LINE_END.length;
  const end = start + lengthBytes;
  if (held.length < end + LINE_END.length) return undefined;
  if (held.toString('latin1', end, end + LINE_END.length) !== LINE_END) {
    throw new ProblemError('broken-encoding', 'A chunk is longer or shorter than declared');
  }
  const bytes = held.subarray(start, end);
  if (createHash('sha256').update(bytes).digest('base64') !== digest) throw toMismatch();
  return { bytes, usedBytes: end + LINE_END.length };
}

/** A body of at most MAX_LIVE_CHUNK_BYTES in one piece, after its digests were verified. Throws like `decodeChunks`. */
export async function* holdUntilVerified(
  source: AsyncIterable<Buffer>,
  digests: readonly ExpectedDigest[],
): AsyncGenerator<Buffer> {
  const pieces: Buffer[] = [];
  let lengthBytes = 0;
  for await (const piece of source) {
    pieces.push(piece);
    lengthBytes += piece.length;
    if (lengthBytes > MAX_LIVE_CHUNK_BYTES) {
      const detail = `With a digest, a body of a stream has ${MAX_LIVE_CHUNK_BYTES} bytes at most. Send several, or recount-chunked`;
      throw new ProblemError('invalid-digest', detail);
    }
  }
  const bytes = Buffer.concat(pieces);
  for (const { algorithm, value } of digests) {
    if (!createHash(algorithm).update(bytes).digest().equals(value)) throw toMismatch();
  }
  if (bytes.length > 0) yield bytes;
}

const toMismatch = (): ProblemError =>
  new ProblemError('digest-mismatch', 'The received bytes differ from the sent ones. Send them again');

export type LiveDecoder = (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

/**
 * The decoder of a request's bytes into the stream's, verifying the digests that were sent. Throws ProblemError
 * `unsupported-encoding` and `invalid-digest`.
 */
export function chooseLiveDecoder(headers: IncomingHttpHeaders): LiveDecoder {
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  const digests = parseDigests(headers);
  if (encoding === LIVE_CHUNK_ENCODING) {
    if (!hasDigests(digests)) return decodeChunks;
    throw new ProblemError(
      'invalid-digest',
      `With ${LIVE_CHUNK_ENCODING}, each chunk has its own digest. Do not send another one`,
    );
  }
  if (encoding !== 'identity') {
    const detail = `A stream is accepted without Content-Encoding, or with ${LIVE_CHUNK_ENCODING}`;
    throw new ProblemError('unsupported-encoding', detail, { headers: { 'accept-encoding': LIVE_CHUNK_ENCODING } });
  }
  if (!hasDigests(digests)) return (source) => source;
  return (source) => holdUntilVerified(source, [...digests.sent, ...digests.decoded]);
}
