import type { IncomingHttpHeaders } from 'node:http';
import { LIVE_CHUNK_ENCODING } from '@recount/contract';
import { ProblemError } from '../problems/problem-error.ts';
import { hasDigests, parseDigests } from '../uploads/digests.ts';
import { decodeChunks, holdUntilVerified } from './decode-chunks.ts';

export type LiveDecoder = (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

/**
 * How the bytes of a request become those of its stream, once they were compared with the digests that came along. Throws
 * ProblemError `unsupported-encoding` and `invalid-digest`.
 */
export function chooseLiveDecoder(headers: IncomingHttpHeaders): LiveDecoder {
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  const digests = parseDigests(headers);
  if (encoding === LIVE_CHUNK_ENCODING) {
    if (!hasDigests(digests)) return decodeChunks;
    throw new ProblemError('invalid-digest', `With ${LIVE_CHUNK_ENCODING}, each chunk has its digest: send no other`);
  }
  if (encoding !== 'identity') {
    const detail = `A stream is taken without Content-Encoding, or with ${LIVE_CHUNK_ENCODING}`;
    throw new ProblemError('unsupported-encoding', detail, { headers: { 'accept-encoding': LIVE_CHUNK_ENCODING } });
  }
  if (!hasDigests(digests)) return (source) => source;
  return (source) => holdUntilVerified(source, [...digests.sent, ...digests.decoded]);
}
