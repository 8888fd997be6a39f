const MAX_NAME_LENGTH = 150;

/** A Content-Disposition that saves to a file named after `name`, whatever characters that contains. */
export function toAttachment(name: string, extension: string): string {
  const safeName = name.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^\.+/, '');
  return `attachment; filename="${safeName.slice(0, MAX_NAME_LENGTH) || 'transcript'}${extension}"`;
}

/** Part of a representation, from `startByte` up to, but not including, `endByteExclusive`. */
export interface SatisfiableRange {
  startByte: number;
  endByteExclusive: number;
}

/**
 * Parses a Range header for `sizeBytes` bytes. Undefined if it must be ignored (RFC 9110: no header, another unit,
 * malformed, or several ranges, which this server does not serve); `unsatisfiable` if it contains no byte.
 */
export function parseByteRange(
  header: string | undefined,
  sizeBytes: number,
): SatisfiableRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d{0,16})-(\d{0,16})[ \t]*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const lengthBytes = Math.min(Number(last), sizeBytes);
    return lengthBytes === 0 ? 'unsatisfiable' : { startByte: sizeBytes - lengthBytes, endByteExclusive: sizeBytes };
  }
  const startByte = Number(first);
  const endByteExclusive = last === '' ? sizeBytes : Number(last) + 1;
  if (endByteExclusive <= startByte && last !== '') return undefined;
  if (startByte >= sizeBytes) return 'unsatisfiable';
  return { startByte, endByteExclusive: Math.min(endByteExclusive, sizeBytes) };
}

/** True if an If-None-Match header matches the entity tag. It is `*`, or lists the tag, possibly as weak. */
export function matchesEntityTag(header: string | undefined, entityTag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === entityTag);
}

/** True if a Range may be honoured, because there is no If-Range, or it is exactly this (strong) entity tag. */
export function mayServeRange(ifRange: string | undefined, entityTag: string): boolean {
  return ifRange === undefined || ifRange.trim() === entityTag;
}
