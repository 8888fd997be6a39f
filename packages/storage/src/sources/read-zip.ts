import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import {
  type Entry,
  fromRandomAccessReaderPromise,
  getFileNameLowLevel,
  RandomAccessReader,
  type ZipFile,
} from 'yauzl';
import { type Chunks, closeStream, readAtMost } from './byte-stream.ts';
import { createTranscriptStream, exceedsRatio } from './decode-bytes.ts';
import { decompress } from './decompress.ts';
import { SourceError, toSourceError } from './source-error.ts';
import { toFailed, type UnplacedItem } from './source-item.ts';
import { toShownName } from './source-name.ts';
import {
  type ArchiveMember,
  type ByteRange,
  type ReadContext,
  type StoredObject,
  toMemberItem,
  toMemberLocation,
} from './transcript-item.ts';

/** Bytes read for each miss (about 3,000 directory entries, or several small members). */
const WINDOW_BYTES = 256 * 1024;
/** One for the directory at the end of the archive, one for the members before it. */
const MAX_WINDOWS = 2;

interface Window {
  start: number;
  bytes: Buffer;
}

/**
 * Random access to a stored zip with few reads, because yauzl asks for about 50 bytes at a time, and each would be a
 * request to S3. Holds no descriptor between reads, so it needs no closing. It is a class because yauzl requires one.
 */
class ZipReader extends RandomAccessReader {
  readonly #object: StoredObject;
  readonly #windows: Window[] = [];

  constructor(object: StoredObject) {
    super();
    this.#object = object;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.#readWindow({ start: position, end: position + length }).then(
      (bytes) => {
        if (bytes.length < length) return callback(new Error('unexpected end of file'));
        bytes.copy(buffer, offset);
        return callback(null);
      },
      (error) => callback(toSourceError(error)),
    );
  }

  /** The bytes of a small range, fewer at the end of the archive, with one read for those close to each other. */
  async readAt(start: number, length: number): Promise<Buffer> {
    try {
      return await this.#readWindow({ start, end: Math.min(this.#object.sizeBytes, start + length) });
    } catch (error) {
      throw toSourceError(error);
    }
  }

  /** The bytes of a range, from memory if they are already loaded. */
  async openRange(range: ByteRange): Promise<Readable> {
    if (range.start === range.end) return Readable.from([]);
    const window = this.#findWindow(range);
    return window === undefined ? this.#object.open(range) : Readable.from([cut(window, range)]);
  }

  #findWindow({ start, end }: ByteRange): Window | undefined {
    return this.#windows.find((window) => window.start <= start && end <= window.start + window.bytes.length);
  }

  async #readWindow(range: ByteRange): Promise<Buffer> {
    const known = this.#findWindow(range);
    if (known !== undefined) return cut(known, range);
    const end = Math.min(this.#object.sizeBytes, Math.max(range.end, range.start + WINDOW_BYTES));
    if (!(range.start < end)) return Buffer.alloc(0);
    const stream = await this.#object.open({ start: range.start, end });
    const bytes = await readAtMost(stream, end - range.start).finally(() => closeStream(stream));
    const window = { start: range.start, bytes };
    this.#windows.push(window);
    if (this.#windows.length > MAX_WINDOWS) this.#windows.shift();
    return cut(window, range);
  }
}

function cut(window: Window, range: ByteRange): Buffer {
  return window.bytes.subarray(range.start - window.start, range.end - window.start);
}

const STORED = 0;
const DEFLATED = 8;
/** Beginnings of a member, of an entry in the directory, and of what follows the directory. */
const MEMBER_MAGIC = Buffer.from('PK\x03\x04');
const ENTRY_MAGIC = Buffer.from('PK\x01\x02');
const END_MAGIC = Buffer.from('PK\x05\x06');
const END64_MAGIC = Buffer.from('PK\x06\x06');
const END_BYTES = 22;
/** The locator of the zip64 record, between it and the end. */
const LOCATOR_BYTES = 20;
const LOCAL_HEADER_BYTES = 30;
/** The most that may follow a member, with its checksum and sizes. */
const DESCRIPTOR_BYTES = 24;
/** The extra fields and descriptors that tools write are shorter, and so is no member of a transcript. */
const SUSPICIOUS_GAP_BYTES = 90;
const UNIX_HOST = 3;
const FILE_TYPE_MASK = 0o170000;
const REGULAR_TYPE = 0o100000;
const LINK_TYPE = 0o120000;
/** Zip's first year; tools that do not know the time write its first day. */
const FIRST_YEAR = 1980;

/** The members of a zip archive, in the order of its directory. Each may be opened at any time, any number of times. */
export async function* readZip(object: StoredObject, context: ReadContext): AsyncGenerator<UnplacedItem> {
  const { limits, position } = context;
  const reader = new ZipReader(object);
  const totals = { entries: 0, storedBytes: 0, decodedBytes: 0 };
  try {
    // Names and sizes are checked here, entry by entry, because yauzl would reject the whole archive.
    const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
    const zip = await fromRandomAccessReaderPromise(reader, object.sizeBytes, options);
    const directoryStart = readPosition(zip);
    const places: MemberPlace[] = [];
    for await (const entry of zip.eachEntry()) {
      totals.entries += 1;
      totals.storedBytes += LOCAL_HEADER_BYTES + entry.fileNameLength + entry.compressedSize;
      totals.decodedBytes += entry.uncompressedSize;
      if (totals.entries > limits.maxArchiveEntries) {
        throw new SourceError('limit-exceeded', `more than ${limits.maxArchiveEntries} members`);
      }
      places.push(toPlace(entry));
      if (totals.storedBytes > object.sizeBytes) {
        throw new SourceError('corrupt', 'the members overlap, because together they are larger than the zip archive');
      }
      if (totals.decodedBytes > limits.maxArchiveDecodedBytes) {
        throw new SourceError('limit-exceeded', `decodes to more than ${limits.maxArchiveDecodedBytes} bytes`);
      }
      const member = toMember(entry);
      const isFolder = member.name.endsWith('/') && entry.uncompressedSize === 0;
      if (!isFolder) yield toZipItem(object, zip, reader, entry, member, context);
      position.bytes = totals.storedBytes;
    }
    const fault = await findUnlisted(zip, reader, object.sizeBytes, { places, directoryStart });
    if (fault !== undefined) throw new SourceError('corrupt', fault);
  } catch (error) {
    if (error instanceof SourceError || context.signal.aborted) throw error;
    throw new SourceError('corrupt', 'no zip directory, or a damaged one, so not a zip archive, or cut short');
  }
}

/** The offset of the next entry of the directory, which @types/yauzl declares as a boolean. */
const readPosition = ({ readEntryCursor }: ZipFile): number => Number(readEntryCursor);

/** The reason why the archive may hold members that its directory does not list. */
async function findUnlisted(
  zip: ZipFile,
  reader: ZipReader,
  sizeBytes: number,
  { places, directoryStart }: { places: MemberPlace[]; directoryStart: number },
): Promise<string | undefined> {
  let end = readPosition(zip);
  let next = await reader.readAt(end, END_BYTES);
  // Tools without zip64 count to 65,535 and start again at 0.
  if (startsWith(next, ENTRY_MAGIC))
    return 'the zip directory has more members than it says, so later ones are missing';
  if (startsWith(next, END64_MAGIC)) {
    end += 12 + Number(next.readBigUInt64LE(4)) + LOCATOR_BYTES;
    next = await reader.readAt(end, END_BYTES);
  }
  const isAtEnd = startsWith(next, END_MAGIC) && end + END_BYTES + next.readUInt16LE(END_BYTES - 2) === sizeBytes;
  const comment = isAtEnd ? await reader.readAt(end + END_BYTES, sizeBytes - end - END_BYTES) : undefined;
  return comment?.includes(MEMBER_MAGIC) === false && !(await hasGap(reader, places, directoryStart))
    ? undefined
    : 'the zip directory does not cover the whole file, which may be several archives, so members may be missing';
}

/** The place of a member in the archive, by the directory. Its end is later if its own header has an extra field. */
interface MemberPlace {
  start: number;
  leastEnd: number;
}

const toPlace = ({ relativeOffsetOfLocalHeader: start, fileNameLength, compressedSize }: Entry): MemberPlace => ({
  start,
  leastEnd: start + LOCAL_HEADER_BYTES + fileNameLength + compressedSize,
});

/**
 * True if the directory leaves out enough bytes for a member, before, between or after its own, also for all of another
 * archive. Headers of members are read only where it does.
 */
async function hasGap(reader: ZipReader, places: MemberPlace[], directoryStart: number): Promise<boolean> {
  let last: MemberPlace | undefined;
  for (const place of [
    ...places.sort((a, b) => a.start - b.start),
    { start: directoryStart, leastEnd: directoryStart },
  ]) {
    const gap = place.start - (last?.leastEnd ?? 0);
    if (last === undefined && gap >= LOCAL_HEADER_BYTES) return true;
    if (last !== undefined && gap >= SUSPICIOUS_GAP_BYTES) {
      const header = await reader.readAt(last.start, LOCAL_HEADER_BYTES);
      const extraBytes = header.length < LOCAL_HEADER_BYTES ? 0 : header.readUInt16LE(LOCAL_HEADER_BYTES - 2);
      if (gap - extraBytes >= DESCRIPTOR_BYTES + LOCAL_HEADER_BYTES) return true;
    }
    if (last === undefined || place.leastEnd > last.leastEnd) last = place;
  }
  return false;
}

const startsWith = (bytes: Buffer, magic: Buffer): boolean => bytes.subarray(0, magic.length).equals(magic);

function toZipItem(
  archive: StoredObject,
  zip: ZipFile,
  reader: ZipReader,
  entry: Entry,
  member: ArchiveMember,
  context: ReadContext,
): UnplacedItem {
  const open = () => openEntry(zip, reader, entry, context);
  const item = toMemberItem(archive, member, context, { reopenable: true, open });
  const fault = item.kind === 'transcript' ? findFault(entry, context) : undefined;
  return fault === undefined ? item : toFailed(toMemberLocation(archive, member.name), fault);
}

function findFault(entry: Entry, { limits }: ReadContext): SourceError | undefined {
  if (entry.isEncrypted()) return new SourceError('encrypted', 'the zip member is encrypted');
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    return new SourceError('unsupported', `zip compression method ${entry.compressionMethod} is not supported`);
  }
  if (exceedsRatio(entry.compressedSize, entry.uncompressedSize, limits.maxExpansionRatio)) {
    return new SourceError('limit-exceeded', `decodes to more than ${limits.maxExpansionRatio} times its stored size`);
  }
  return undefined;
}

function toMember(entry: Entry): ArchiveMember {
  const { uncompressedSize } = entry;
  const modified = entry.getLastModDate();
  return {
    name: toMemberName(entry),
    type: toMemberType(entry),
    sizeBytes: uncompressedSize,
    modifiedAtMs: modified.getFullYear() > FIRST_YEAR ? modified.getTime() : undefined,
  };
}

/** Names without the UTF-8 flag are decoded as code page 437, where every byte is a separate character. */
function toMemberName({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string {
  const name = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false);
  return toShownName(name.includes('\uFFFD') ? fileNameRaw : name);
}

function toMemberType(entry: Entry): ArchiveMember['type'] {
  const isUnix = entry.versionMadeBy >>> 8 === UNIX_HOST;
  const type = isUnix ? (entry.externalFileAttributes >>> 16) & FILE_TYPE_MASK : REGULAR_TYPE;
  if (type === LINK_TYPE) return 'link';
  return type === REGULAR_TYPE || type === 0 ? 'file' : 'special';
}

async function openEntry(zip: ZipFile, reader: ZipReader, entry: Entry, context: ReadContext): Promise<Readable> {
  const { fileDataStart: start } = await readDataStart(zip, entry);
  const stored = await reader.openRange({ start, end: start + entry.compressedSize });
  const data = entry.compressionMethod === DEFLATED ? decompress(stored, 'deflate') : stored;
  return createTranscriptStream(verify(data, entry), context, () => stored.destroy());
}

async function readDataStart(zip: ZipFile, entry: Entry): Promise<{ fileDataStart: number }> {
  try {
    return await zip.readLocalFileHeaderPromise(entry, { minimal: true });
  } catch (error) {
    if (error instanceof SourceError || (error instanceof Error && error.name === 'AbortError')) throw error;
    throw new SourceError('corrupt', 'the zip directory points to no member');
  }
}

/** Checks the data against the directory's size and checksum. */
async function* verify(data: Chunks, entry: Entry): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  let checksum = 0;
  for await (const chunk of data) {
    sizeBytes += chunk.length;
    if (sizeBytes > entry.uncompressedSize) throw new SourceError('corrupt', 'the zip member is longer than it says');
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (sizeBytes < entry.uncompressedSize) throw new SourceError('truncated', 'the zip member is shorter than it says');
  if (checksum !== entry.crc32) throw new SourceError('corrupt', 'the checksum of the zip member does not match');
}
