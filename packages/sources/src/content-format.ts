/** Bytes that suffice to tell every format: the tar magic ends at byte 263. */
export const HEAD_BYTES = 512;

export type ContentFormat = 'gzip' | 'zstd' | 'zip' | 'tar' | 'unsupported' | 'other';

const TAR_MAGIC_OFFSET = 257;

/** `unsupported` is bzip2, xz, 7z and rar: compressed for certain, and not readable here. */
const MAGICS: readonly [ContentFormat, number, Buffer][] = [
  ['gzip', 0, Buffer.from([0x1f, 0x8b])],
  ['zstd', 0, Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
  ['zip', 0, Buffer.from('PK\x03\x04')],
  ['zip', 0, Buffer.from('PK\x05\x06')],
  ['tar', TAR_MAGIC_OFFSET, Buffer.from('ustar')],
  ['unsupported', 0, Buffer.from('BZh')],
  ['unsupported', 0, Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])],
  ['unsupported', 0, Buffer.from([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c])],
  ['unsupported', 0, Buffer.from('Rar!\x1a\x07')],
];

/** Tells the format from the first `HEAD_BYTES` bytes, or from as many as there are. */
export function detectFormat(head: Buffer): ContentFormat {
  if (isZstdSkippableFrame(head)) return 'zstd';
  const match = MAGICS.find(([, offset, magic]) => head.subarray(offset, offset + magic.length).equals(magic));
  return match?.[0] ?? 'other';
}

function isZstdSkippableFrame(head: Buffer): boolean {
  return head.length >= 4 && (head.readUInt32LE(0) & 0xffff_fff0) >>> 0 === 0x184d_2a50;
}
