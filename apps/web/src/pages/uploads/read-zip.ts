import { BlobReader, configure, type Entry, ZipReader } from '@zip.js/zip.js/lib/zip-core-native.js';
import {
  type ArchiveMember,
  decodeName,
  leaveOutByName,
  MAX_MEMBER_BYTES,
  TOO_LARGE,
  toMemberPath,
} from './archive-member.ts';

// The dashboard's policy forbids workers of blob URLs, and the browser inflates by itself.
configure({ useWebWorkers: false });

const STORED = 0;
const DEFLATED = 8;
const UNIX_HOST = 3;
const FILE_TYPE_MASK = 0o170000;
const REGULAR_TYPE = 0o100000;
/** Fewer bytes before the first member hold no other. */
const LOCAL_HEADER_BYTES = 30;
/** The most that may follow a member, with its checksum and sizes. */
const DESCRIPTOR_BYTES = 24;
/** The extra fields and descriptors that tools write are shorter, and so is no member of a transcript. */
const SUSPICIOUS_GAP_BYTES = 90;
/** Bytes after the archive, and entries after the number that its directory states. */
const UNLISTED: readonly (string | undefined)[] = ['appended data', 'trailing central directory data'];

/**
 * The members of a zip archive in the order of its directory, also if several have one name; each is read from the file
 * when it is its turn. Throws an error after the members before damage.
 */
export async function* readZip(file: Blob): AsyncGenerator<ArchiveMember> {
  // Nothing is written by these names.
  const reader = new ZipReader(new BlobReader(file), { strictness: 'tolerant', checkCrc32: true });
  const places: MemberPlace[] = [];
  for await (const entry of reader.getEntriesGenerator()) {
    places.push(toPlace(entry));
    const entryName = decodeName(entry.rawFilename);
    if (entryName.endsWith('/') && entry.uncompressedSize === 0) continue;
    const name = toMemberPath(entryName);
    if (entry.symlink) yield { leftOut: 'as a link' };
    else if (entryName.endsWith('/') || isSpecial(entry)) yield { leftOut: 'as neither file nor folder' };
    else {
      const leftOut = leaveOutByName(name);
      yield leftOut === undefined ? await readMember(name, entry) : { leftOut };
    }
  }
  const isUnlisted = reader.warnings?.some(({ reason }) => UNLISTED.includes(reason));
  const hasMemberInComment = new TextDecoder('latin1').decode(reader.comment).includes('PK\x03\x04');
  if (isUnlisted || hasMemberInComment || (await hasGap(file, places, reader.directoryOffset ?? 0)))
    throw new Error('Unlisted members');
}

/** The place of a member in the archive, by the directory. Its end is later if its own header has an extra field. */
interface MemberPlace {
  start: number;
  leastEnd: number;
}

const toPlace = ({ offset: start, rawFilename, compressedSize }: Entry): MemberPlace => ({
  start,
  leastEnd: start + LOCAL_HEADER_BYTES + rawFilename.length + compressedSize,
});

/**
 * True if the directory leaves out enough bytes for a member, before, between or after its own, also for all of another
 * archive. Headers of members are read only where it does.
 */
async function hasGap(file: Blob, places: MemberPlace[], directoryStart: number): Promise<boolean> {
  let last: MemberPlace | undefined;
  for (const place of [
    ...places.sort((a, b) => a.start - b.start),
    { start: directoryStart, leastEnd: directoryStart },
  ]) {
    const gap = place.start - (last?.leastEnd ?? 0);
    if (last === undefined && gap >= LOCAL_HEADER_BYTES) return true;
    if (last !== undefined && gap >= SUSPICIOUS_GAP_BYTES) {
      const lengthAt = last.start + LOCAL_HEADER_BYTES - 2;
      const [low = 0, high = 0] = new Uint8Array(await file.slice(lengthAt, lengthAt + 2).arrayBuffer());
      if (gap - low - 256 * high >= DESCRIPTOR_BYTES + LOCAL_HEADER_BYTES) return true;
    }
    if (last === undefined || place.leastEnd > last.leastEnd) last = place;
  }
  return false;
}

function isSpecial({ versionMadeBy, externalFileAttributes }: Entry): boolean {
  const type = versionMadeBy >>> 8 === UNIX_HOST ? (externalFileAttributes >>> 16) & FILE_TYPE_MASK : 0;
  return type !== 0 && type !== REGULAR_TYPE;
}

async function readMember(name: string, entry: Entry): Promise<ArchiveMember> {
  const damaged = { path: name, reason: 'It is damaged in its archive' };
  // A folder by its attributes, a file by its name.
  if (entry.directory) return damaged;
  if (entry.encrypted) return { path: name, reason: 'It is encrypted in its archive. Unpack it' };
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED)
    return { path: name, reason: 'Its kind of compression cannot be opened here. Unpack it' };
  // The size that the archive states may be wrong.
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let total = 0;
  const bounded = new WritableStream<Uint8Array<ArrayBuffer>>({
    write(part) {
      total += part.length;
      if (total > MAX_MEMBER_BYTES) throw new RangeError(TOO_LARGE);
      parts.push(part);
    },
  });
  try {
    if (entry.uncompressedSize > MAX_MEMBER_BYTES) return { path: name, reason: TOO_LARGE };
    await entry.getData(bounded);
    return { name, bytes: new Uint8Array(await new Blob(parts).arrayBuffer()) };
  } catch {
    return total > MAX_MEMBER_BYTES ? { path: name, reason: TOO_LARGE } : damaged;
  }
}
