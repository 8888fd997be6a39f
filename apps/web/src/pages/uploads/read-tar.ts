import {
  type ArchiveMember,
  DamagedArchiveError,
  decodeName,
  leaveOutByName,
  MAX_MEMBER_BYTES,
  TOO_LARGE,
  toMemberPath,
} from './archive-member.ts';
import { type ByteReader, createByteReader } from './byte-reader.ts';

const BLOCK_BYTES = 512;
const SPACE = 0x20;

interface Header {
  name: string;
  type: string;
  sizeBytes: number;
}

/** The content of headers before a member about it, or about all that follow. */
interface Extended {
  path?: string;
  sizeBytes?: number;
  isSparse?: boolean;
}

/** Headers about a member have its path and its size. */
const MAX_EXTENDED_BYTES = 1024 * 1024;
const NO_BYTES = new Uint8Array(0);

/**
 * The members of a tar archive (POSIX ustar and pax, GNU long names) in its order, also if several have one name, and
 * also beyond an end mark, as archives that were put together have several. Holds one member at a time. Throws
 * DamagedArchiveError after the members before the damage.
 */
export async function* readTar(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<ArchiveMember> {
  const reader = createByteReader(stream);
  try {
    yield* readMembers(reader);
  } finally {
    await reader.close();
  }
}

async function* readMembers(reader: ByteReader): AsyncGenerator<ArchiveMember> {
  let common: Extended = {};
  let next: Extended = {};
  let isEnded = false;
  for (;;) {
    const block = await reader.read(BLOCK_BYTES);
    if (block.length === 0) break;
    isEnded = block.length === BLOCK_BYTES && block.every((byte) => byte === 0);
    if (isEnded) continue;
    const header = readHeader(block);
    const sizeBytes = header.type === '5' ? 0 : (next.sizeBytes ?? common.sizeBytes ?? header.sizeBytes);
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) throw new DamagedArchiveError();
    if ('xgLNK'.includes(header.type)) {
      if (sizeBytes > MAX_EXTENDED_BYTES) throw new DamagedArchiveError();
      const content = await readContent(reader, sizeBytes);
      if (header.type === 'x') next = { ...next, ...readPax(content) };
      else if (header.type === 'g') common = { ...common, ...readPax(content) };
      else if (header.type !== 'K') next = { ...next, path: decodeName(untilZero(content)) };
    } else {
      const extended = { ...common, ...next };
      const member = toMember({ ...header, name: extended.path ?? header.name, sizeBytes }, extended);
      next = {};
      if (member !== undefined && 'name' in member)
        yield { name: member.name, bytes: await readContent(reader, sizeBytes) };
      else {
        await skipContent(reader, sizeBytes);
        if (member !== undefined) yield member;
      }
    }
  }
  // Otherwise an archive that was cut between two members would pass for a whole one.
  if (!isEnded) throw new DamagedArchiveError();
}

const toPadding = (sizeBytes: number): number => (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;

async function readContent(reader: ByteReader, sizeBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const content = sizeBytes === 0 ? NO_BYTES : await reader.read(sizeBytes);
  if (content.length < sizeBytes) throw new DamagedArchiveError();
  await reader.skip(toPadding(sizeBytes));
  return content;
}

async function skipContent(reader: ByteReader, sizeBytes: number): Promise<void> {
  if ((await reader.skip(sizeBytes)) < sizeBytes) throw new DamagedArchiveError();
  await reader.skip(toPadding(sizeBytes));
}

/** The outcome of a member by its header; its content is to be read if it has a name. Undefined for a folder. */
function toMember(
  { name, type, sizeBytes }: Header,
  { isSparse = false }: Extended,
): { name: string } | Exclude<ArchiveMember, { bytes: unknown }> | undefined {
  const isFile = type === '0' || type === '\0' || type === '7';
  if (type === '5' || (isFile && name.endsWith('/') && sizeBytes === 0)) return undefined;
  const path = toMemberPath(name);
  if (type === '1' || type === '2') return { leftOut: 'as a link' };
  if (isSparse || type === 'S') return { path, reason: 'It is a sparse file in its archive. Unpack it' };
  if (!isFile || name.endsWith('/')) return { leftOut: 'as neither file nor folder' };
  const leftOut = leaveOutByName(path);
  if (leftOut !== undefined) return { leftOut };
  return sizeBytes > MAX_MEMBER_BYTES ? { path, reason: TOO_LARGE } : { name: path };
}

function readHeader(block: Uint8Array): Header {
  const field = (start: number, length: number): Uint8Array => block.subarray(start, start + length);
  const sum = block.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? SPACE : byte), 0);
  if (block.length < BLOCK_BYTES || readNumber(field(148, 8)) !== sum) throw new DamagedArchiveError();
  const name = decodeName(untilZero(field(0, 100)));
  // GNU tar's own format has `ustar ` here, and times where the beginning of long names would be.
  const isPosix = decodeName(field(257, 6)) === 'ustar\0';
  const prefix = isPosix ? decodeName(untilZero(field(345, 155))) : '';
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: String.fromCharCode(block[156] ?? 0),
    sizeBytes: readNumber(field(124, 12)),
  };
}

/** Octal digits, or a binary number with the highest bit set. */
function readNumber(field: Uint8Array): number {
  const [first = 0, ...rest] = field;
  if ((first & 0x80) !== 0) return rest.reduce((total, byte) => total * 256 + byte, first & 0x7f);
  return Number.parseInt(decodeName(untilZero(field)).trim() || '0', 8);
}

function untilZero(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0);
  return end === -1 ? bytes : bytes.subarray(0, end);
}

/** Records of the form `<length> <key>=<value>\n`, where the length counts the bytes of the whole record. */
function readPax(bytes: Uint8Array): Extended {
  const extended: Extended = {};
  for (let start = 0; start < bytes.length; ) {
    const length = Number.parseInt(decodeName(bytes.subarray(start, start + 12)), 10);
    if (!(length > 0)) break;
    const [, key = '', value = ''] =
      /^\d+ ([^=]*)=(.*)\n$/s.exec(decodeName(bytes.subarray(start, start + length))) ?? [];
    if (key === 'path') extended.path = value;
    if (key === 'size') extended.sizeBytes = Number(value);
    if (key.startsWith('GNU.sparse.')) extended.isSparse = true;
    start += length;
  }
  return extended;
}
