import type { Readable } from 'node:stream';
import { peekChunks } from '@recount/storage';
import { type Chunks, toReadable } from './byte-stream.ts';
import { decompress } from './decompress.ts';
import { SourceError, toSourceError } from './source-error.ts';
import { EXPANSION_RATIO_FLOOR_BYTES, type SourceLimits } from './source-item.ts';
import type { ReadContext } from './transcript-item.ts';

/** Bytes needed to recognise every format. The tar magic ends at byte 263. */
export const HEAD_BYTES = 512;

export type ContentFormat = 'gzip' | 'zstd' | 'zip' | 'tar' | 'unsupported' | 'other';

type Magic = readonly [format: ContentFormat, offset: number, bytes: Buffer];

const COMPRESSION_MAGICS: readonly Magic[] = [
  ['gzip', 0, Buffer.from([0x1f, 0x8b])],
  ['zstd', 0, Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
];

/** `unsupported` are bzip2, xz, 7z and rar, which are recognised but cannot be read. */
const OTHER_MAGICS: readonly Magic[] = [
  ['zip', 0, Buffer.from('PK\x03\x04')],
  ['zip', 0, Buffer.from('PK\x05\x06')],
  ['tar', 257, Buffer.from('ustar')],
  ['unsupported', 0, Buffer.from('BZh')],
  ['unsupported', 0, Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])],
  ['unsupported', 0, Buffer.from([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c])],
  ['unsupported', 0, Buffer.from('Rar!\x1a\x07')],
];

/**
 * Detects the format from the first `HEAD_BYTES` bytes, or from all bytes if there are fewer. An incomplete compression
 * magic counts as that compression, because a gzip file cut to one byte must not pass for a one-byte transcript.
 */
export function detectFormat(head: Buffer): ContentFormat {
  if (isZstdSkippableFrame(head)) return 'zstd';
  const match =
    OTHER_MAGICS.find(([, offset, bytes]) => head.subarray(offset, offset + bytes.length).equals(bytes)) ??
    COMPRESSION_MAGICS.find(([, , bytes]) => head.length > 0 && startsAlike(head, bytes));
  return match?.[0] ?? 'other';
}

function startsAlike(head: Buffer, bytes: Buffer): boolean {
  const length = Math.min(head.length, bytes.length);
  return head.subarray(0, length).equals(bytes.subarray(0, length));
}

function isZstdSkippableFrame(head: Buffer): boolean {
  return head.length >= 4 && (head.readUInt32LE(0) & 0xffff_fff0) >>> 0 === 0x184d_2a50;
}

interface DecodeLimits {
  maxDecodedBytes: number;
  /** Decoded ÷ stored bytes. */
  maxExpansionRatio: number;
}

/**
 * Decompresses gzip or zstd, detected by the first bytes; passes other content unchanged. Yields no empty chunks.
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
 * Decodes the stored bytes of one transcript. Content that turns out to be an archive, or compressed twice, is rejected
 * as `unsupported`, because it is not a transcript.
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

/** The stored bytes unchanged, up to the limit. */
async function* limitBytes(stored: Chunks, { maxTranscriptBytes }: SourceLimits): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  for await (const chunk of stored) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxTranscriptBytes) {
      throw new SourceError('limit-exceeded', `larger than ${maxTranscriptBytes} bytes`);
    }
    if (chunk.length > 0) yield chunk;
  }
}

/**
 * With `wants`, the bytes are not decoded. `release` ends `stored` when the stream is destroyed; `signal` destroys the
 * stream.
 */
export function createTranscriptStream(
  stored: Chunks,
  { limits, signal, wants }: Pick<ReadContext, 'limits' | 'signal' | 'wants'>,
  release: () => void,
): Readable {
  const chunks = wants === undefined ? decodeTranscript(stored, limits) : limitBytes(stored, limits);
  return toReadable(chunks, signal, release);
}
