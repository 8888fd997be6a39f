import type { Readable } from 'node:stream';
import { peekChunks } from '@recount/storage';
import { type Chunks, toReadable } from './byte-stream.ts';
import { detectFormat, HEAD_BYTES } from './content-format.ts';
import { decompress } from './decompress.ts';
import { SourceError, toSourceError } from './source-error.ts';
import { EXPANSION_RATIO_FLOOR_BYTES, type SourceLimits } from './source-limits.ts';

export interface DecodeLimits {
  maxDecodedBytes: number;
  /** Decoded ÷ stored bytes. */
  maxExpansionRatio: number;
}

/**
 * Undoes gzip or zstd, told by the first bytes; any other content passes unchanged. Yields no empty chunk.
 *
 * @throws SourceError `truncated`, `corrupt`, `limit-exceeded`, or what `stored` throws
 */
export async function* decodeBytes(stored: Chunks, limits: DecodeLimits): AsyncGenerator<Buffer> {
  let storedBytes = 0;
  async function* count(chunks: Chunks): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      storedBytes += chunk.length;
      if (chunk.length > 0) yield chunk;
    }
  }
  const { held, chunks } = await peekChunks(count(stored), HEAD_BYTES);
  const format = detectFormat(Buffer.concat(held));
  let decodedBytes = 0;
  for await (const chunk of format === 'gzip' || format === 'zstd' ? decompress(chunks, format) : chunks) {
    decodedBytes += chunk.length;
    checkDecodedBytes(storedBytes, decodedBytes, limits);
    yield chunk;
  }
}

function checkDecodedBytes(storedBytes: number, decodedBytes: number, limits: DecodeLimits): void {
  if (decodedBytes > limits.maxDecodedBytes) {
    throw new SourceError('limit-exceeded', `decodes to more than ${limits.maxDecodedBytes} bytes`);
  }
  if (exceedsRatio(storedBytes, decodedBytes, limits.maxExpansionRatio)) {
    throw new SourceError('limit-exceeded', `decodes to more than ${limits.maxExpansionRatio} times its stored size`);
  }
}

export function exceedsRatio(storedBytes: number, decodedBytes: number, maxExpansionRatio: number): boolean {
  return decodedBytes > EXPANSION_RATIO_FLOOR_BYTES && decodedBytes > storedBytes * maxExpansionRatio;
}

/**
 * The decoded bytes of one transcript, from its stored ones. Content that turns out to be an archive, or compressed twice,
 * is refused as `unsupported`: its bytes are no transcript.
 */
async function* decodeTranscript(stored: Chunks, limits: SourceLimits): AsyncGenerator<Buffer> {
  const decoded = decodeBytes(stored, {
    maxDecodedBytes: limits.maxTranscriptBytes,
    maxExpansionRatio: limits.maxExpansionRatio,
  });
  try {
    const { held, chunks } = await peekChunks(decoded, HEAD_BYTES);
    if (detectFormat(Buffer.concat(held)) !== 'other') {
      throw new SourceError('unsupported', 'the content is an archive or compressed, not a transcript');
    }
    yield* chunks;
  } catch (error) {
    throw toSourceError(error);
  } finally {
    await decoded.return(undefined);
  }
}

/** `release` ends `stored` when the stream is destroyed; `signal` destroys the stream. */
export function createTranscriptStream(
  stored: Chunks,
  context: { limits: SourceLimits; signal: AbortSignal },
  release: () => void,
): Readable {
  return toReadable(decodeTranscript(stored, context.limits), context.signal, release);
}
