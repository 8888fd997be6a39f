/** Bytes that suffice to tell every format: the tar magic ends at byte 263. */
export const HEAD_BYTES = 512;

export type ContentFormat = 'gzip' | 'zstd' | 'zip' | 'tar' | 'unsupported' | 'other';

type Magic = readonly [format: ContentFormat, offset: number, bytes: Buffer];

const COMPRESSION_MAGICS: readonly Magic[] = [
  ['gzip', 0, Buffer.from([0x1f, 0x8b])],
  ['zstd', 0, Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
];

/** `unsupported` is bzip2, xz, 7z and rar: compressed for certain, and not readable here. */
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
 * Tells the format from the first `HEAD_BYTES` bytes, or from all there are. The mere beginning of a compression magic is taken
 * for it: a gzip file cut to one byte must not pass for a transcript of one byte.
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
