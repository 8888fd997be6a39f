import {
  type ArchiveMember,
  ArchiveTooLargeError,
  DamagedArchiveError,
  decodeName,
  leaveOutByName,
  MAX_ARCHIVE_BYTES,
  readBounded,
  toMemberPath,
} from './archive-member.ts';

const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL_HEADER_BYTES = 30;
const END = 0x06054b50;
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const ZIP64_LOCATOR = 0x07064b50;
const ZIP64_LOCATOR_BYTES = 20;
const IN_EXTRA_FIELD = 0xffff_ffff;
/** Tools without zip64 start again at 0. */
const COUNT_LIMIT = 0x1_0000;
const STORED = 0;
const DEFLATED = 8;
const UNIX_HOST = 3;
const FILE_TYPE_MASK = 0o170000;
const REGULAR_TYPE = 0o100000;
const LINK_TYPE = 0o120000;

interface Entry {
  name: string;
  type: 'file' | 'link' | 'special';
  isEncrypted: boolean;
  method: number;
  checksum: number;
  storedBytes: number;
  sizeBytes: number;
  /** Of its local header. */
  offset: number;
}

/**
 * The members of a zip archive in the order of its directory (APPNOTE.TXT 4.3), also if several have one name. Throws
 * ArchiveTooLargeError, or DamagedArchiveError after the members before the damage.
 */
export async function* readZip(bytes: Uint8Array<ArrayBuffer>): AsyncGenerator<ArchiveMember> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let total = 0;
  for (const entry of listEntries(bytes, view)) {
    if (entry.name.endsWith('/') && entry.sizeBytes === 0) continue;
    const name = toMemberPath(entry.name);
    if (entry.type === 'link') yield { leftOut: 'as a link' };
    else if (entry.type === 'special' || entry.name.endsWith('/')) yield { leftOut: 'as neither file nor folder' };
    else {
      const leftOut = leaveOutByName(name);
      if (leftOut === undefined) total += entry.sizeBytes;
      if (total > MAX_ARCHIVE_BYTES) throw new ArchiveTooLargeError();
      yield leftOut === undefined ? await readMember(bytes, view, name, entry) : { leftOut };
    }
  }
}

function* listEntries(bytes: Uint8Array, view: DataView): Generator<Entry> {
  const { offset, count, isCountExact } = findDirectory(view);
  let position = offset;
  let found = 0;
  while (position + ENTRY_BYTES <= view.byteLength && view.getUint32(position, true) === ENTRY) {
    const nameEnd = position + ENTRY_BYTES + view.getUint16(position + 28, true);
    const extraEnd = nameEnd + view.getUint16(position + 30, true);
    if (extraEnd > view.byteLength) throw new DamagedArchiveError();
    yield readEntry(bytes, view, position, nameEnd, extraEnd);
    position = extraEnd + view.getUint16(position + 32, true);
    found += 1;
  }
  const missing = count - found;
  if (isCountExact ? missing !== 0 : missing % COUNT_LIMIT !== 0) throw new DamagedArchiveError();
}

function findDirectory(view: DataView): { offset: number; count: number; isCountExact: boolean } {
  const lowest = Math.max(0, view.byteLength - END_BYTES - MAX_COMMENT_BYTES);
  for (let end = view.byteLength - END_BYTES; end >= lowest; end--) {
    if (view.getUint32(end, true) !== END) continue;
    const locator = end - ZIP64_LOCATOR_BYTES;
    if (locator < 0 || view.getUint32(locator, true) !== ZIP64_LOCATOR) {
      return { offset: view.getUint32(end + 16, true), count: view.getUint16(end + 10, true), isCountExact: false };
    }
    const zip64 = readUint64(view, locator + 8);
    return { offset: readUint64(view, zip64 + 48), count: readUint64(view, zip64 + 32), isCountExact: true };
  }
  throw new DamagedArchiveError();
}

function readUint64(view: DataView, offset: number): number {
  if (offset + 8 > view.byteLength) throw new DamagedArchiveError();
  return Number(view.getBigUint64(offset, true));
}

function readEntry(bytes: Uint8Array, view: DataView, start: number, nameEnd: number, extraEnd: number): Entry {
  const wide = listZip64Values(view, nameEnd, extraEnd);
  const take = (offset: number): number => {
    const value = view.getUint32(start + offset, true);
    return value === IN_EXTRA_FIELD ? (wide.shift() ?? value) : value;
  };
  const sizeBytes = take(24);
  const storedBytes = take(20);
  const isUnix = view.getUint8(start + 5) === UNIX_HOST;
  return {
    name: decodeName(bytes.subarray(start + ENTRY_BYTES, nameEnd)),
    type: isUnix ? toType(view.getUint16(start + 40, true)) : 'file',
    isEncrypted: (view.getUint16(start + 8, true) & 1) !== 0,
    method: view.getUint16(start + 10, true),
    checksum: view.getUint32(start + 16, true),
    sizeBytes,
    storedBytes,
    offset: take(42),
  };
}

function toType(mode: number): Entry['type'] {
  const type = mode & FILE_TYPE_MASK;
  if (type === LINK_TYPE) return 'link';
  return type === REGULAR_TYPE || type === 0 ? 'file' : 'special';
}

/** Sizes and offset that do not fit into 32 bits are in the extra field with the number 1. */
function listZip64Values(view: DataView, start: number, end: number): number[] {
  for (let field = start; field + 4 <= end; field += 4 + view.getUint16(field + 2, true)) {
    if (view.getUint16(field, true) !== 1) continue;
    const count = Math.min(view.getUint16(field + 2, true), end - field - 4) >>> 3;
    return Array.from({ length: count }, (_, index) => readUint64(view, field + 4 + index * 8));
  }
  return [];
}

async function readMember(
  bytes: Uint8Array<ArrayBuffer>,
  view: DataView,
  name: string,
  entry: Entry,
): Promise<ArchiveMember> {
  const refuse = (reason: string): ArchiveMember => ({ path: name, reason });
  if (entry.isEncrypted) return refuse('It is encrypted in its archive. Unpack it');
  if (entry.method !== STORED && entry.method !== DEFLATED)
    return refuse('Its kind of compression cannot be opened here. Unpack it');
  const header = entry.offset + LOCAL_HEADER_BYTES;
  if (header > view.byteLength) return refuse(DAMAGED);
  const start = header + view.getUint16(header - 4, true) + view.getUint16(header - 2, true);
  const stored = bytes.subarray(start, start + entry.storedBytes);
  if (stored.length < entry.storedBytes) return refuse(DAMAGED);
  try {
    const content = entry.method === STORED ? stored : await inflate(stored, entry.sizeBytes);
    const isWhole = content.length === entry.sizeBytes && checksumOf(content) === entry.checksum;
    return isWhole ? { name, bytes: content } : refuse(DAMAGED);
  } catch {
    return refuse(DAMAGED);
  }
}

const DAMAGED = 'It is damaged in its archive';

async function inflate(stored: Uint8Array<ArrayBuffer>, sizeBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  return await readBounded(new Blob([stored]).stream().pipeThrough(new DecompressionStream('deflate-raw')), sizeBytes);
}

const CHECKSUMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function checksumOf(bytes: Uint8Array): number {
  let value = 0xffff_ffff;
  for (const byte of bytes) value = (CHECKSUMS[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return ~value >>> 0;
}
