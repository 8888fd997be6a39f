import { type ArchiveMember, DamagedArchiveError, decodeName, leaveOutByName, toMemberPath } from './archive-member.ts';

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

/**
 * The members of a tar archive (POSIX ustar and pax, GNU long names) in its order, also if several have one name, and
 * also beyond an end mark, as archives that were put together have several. Throws DamagedArchiveError after the
 * members before the damage.
 */
export function* readTar(bytes: Uint8Array<ArrayBuffer>): Generator<ArchiveMember> {
  let common: Extended = {};
  let next: Extended = {};
  let isEnded = false;
  for (let offset = 0; offset < bytes.length; ) {
    const block = bytes.subarray(offset, offset + BLOCK_BYTES);
    offset += BLOCK_BYTES;
    isEnded = block.length === BLOCK_BYTES && block.every((byte) => byte === 0);
    if (isEnded) continue;
    const header = readHeader(block);
    const sizeBytes = next.sizeBytes ?? common.sizeBytes ?? header.sizeBytes;
    const content = header.type === '5' ? bytes.subarray(0, 0) : bytes.subarray(offset, offset + sizeBytes);
    if (header.type !== '5' && content.length < sizeBytes) throw new DamagedArchiveError();
    offset += Math.ceil(content.length / BLOCK_BYTES) * BLOCK_BYTES;
    if (header.type === 'x') next = { ...next, ...readPax(content) };
    else if (header.type === 'g') common = { ...common, ...readPax(content) };
    else if (header.type === 'L' || header.type === 'N') next = { ...next, path: decodeName(untilZero(content)) };
    else if (header.type !== 'K') {
      const extended = { ...common, ...next };
      yield* toMember({ ...header, name: extended.path ?? header.name }, extended, content);
      next = {};
    }
  }
  // Otherwise an archive that was cut between two members would pass for a whole one.
  if (!isEnded) throw new DamagedArchiveError();
}

function* toMember(
  { name, type }: Header,
  { isSparse = false }: Extended,
  content: Uint8Array<ArrayBuffer>,
): Generator<ArchiveMember> {
  const isFile = type === '0' || type === '\0' || type === '7';
  if (type === '5' || (isFile && name.endsWith('/') && content.length === 0)) return;
  const path = toMemberPath(name);
  if (type === '1' || type === '2') yield { leftOut: 'as a link' };
  else if (isSparse || type === 'S') yield { path, reason: 'It is a sparse file in its archive. Unpack it' };
  else if (!isFile || name.endsWith('/')) yield { leftOut: 'as neither file nor folder' };
  else {
    const leftOut = leaveOutByName(path);
    yield leftOut === undefined ? { name: path, bytes: content } : { leftOut };
  }
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
