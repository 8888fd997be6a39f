import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createGzip, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** The kind of a member, which decides its outcome. */
export type MemberKind =
  | 'plain'
  | 'climbing'
  | 'absolute'
  | 'symlink'
  | 'link'
  | 'device'
  | 'fifo'
  | 'folder'
  | 'text'
  | 'archive';

interface Member {
  name: string;
  kind: MemberKind;
  content: Buffer;
}

const KINDS: readonly MemberKind[] = [
  'plain',
  'climbing',
  'absolute',
  'symlink',
  'link',
  'device',
  'fifo',
  'folder',
  'text',
  'archive',
];
const NAMES: Record<MemberKind, (index: number) => string> = {
  plain: (index) => `projects/${index}.jsonl`,
  climbing: (index) => `../../../../etc/${index}.jsonl`,
  absolute: (index) => `/etc/${index}.jsonl`,
  symlink: (index) => `projects/symlink-${index}.jsonl`,
  link: (index) => `projects/link-${index}.jsonl`,
  device: (index) => `dev/${index}.jsonl`,
  fifo: (index) => `run/${index}.jsonl`,
  folder: (index) => `projects/${index}.jsonl/`,
  text: (index) => `projects/${index}.txt`,
  archive: (index) => `projects/${index}.zip`,
};
const WITH_CONTENT: ReadonlySet<MemberKind> = new Set(['plain', 'climbing', 'absolute', 'text']);

/** Members of all kinds in turn. Those with content have one line, each a different one. */
function* toMembers(count: number): Generator<Member> {
  for (let index = 0; index < count; index += 1) {
    const kind = KINDS[index % KINDS.length] ?? 'plain';
    const line = `{"type":"user","sessionId":"${index}","message":{"content":"${index}"}}\n`;
    const content = WITH_CONTENT.has(kind) ? Buffer.from(line) : Buffer.alloc(0);
    yield { name: NAMES[kind](index), kind, content };
  }
}

/** The number of members that `writeTar` and `writeZip` write that are transcripts. */
export function countTranscriptMembers(count: number): number {
  const kinds: readonly MemberKind[] = ['plain', 'climbing', 'absolute'];
  const positions = kinds.map((kind) => KINDS.indexOf(kind));
  return positions.reduce((sum, position) => sum + Math.max(0, Math.ceil((count - position) / KINDS.length)), 0);
}

const BLOCK_BYTES = 512;
const TAR_TYPES: Record<MemberKind, string> = {
  plain: '0',
  climbing: '0',
  absolute: '0',
  symlink: '2',
  link: '1',
  device: '3',
  fifo: '6',
  folder: '5',
  text: '0',
  archive: '0',
};

function toTarHeader(name: string, type: string, sizeBytes: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0, 100);
  header.write('0000644\0', 100);
  // Base 256 if octal digits do not suffice, as in GNU tar.
  if (sizeBytes < 8 ** 11) header.write(`${sizeBytes.toString(8).padStart(11, '0')} `, 124);
  else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(sizeBytes), 128);
  }
  header.write('00000000000 ', 136);
  header.write(type, 156);
  if (type === '1' || type === '2') header.write('/etc/passwd', 157);
  header.write('ustar\x0000', 257);
  header.write(' '.repeat(8), 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function* toTar(count: number): Generator<Buffer> {
  for (const { name, kind, content } of toMembers(count)) {
    const padding = Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES);
    yield Buffer.concat([toTarHeader(name, TAR_TYPES[kind], content.length), content, padding]);
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

export async function writeTarGz(path: string, count: number): Promise<void> {
  await pipeline(Readable.from(inLargeChunks(toTar(count))), createGzip({ level: 1 }), await openToWrite(path));
}

const ZIP_MODES: Record<MemberKind, number> = {
  plain: 0o100644,
  climbing: 0o100644,
  absolute: 0o100644,
  symlink: 0o120777,
  link: 0o120777,
  device: 0o020644,
  fifo: 0o010644,
  folder: 0o040755,
  text: 0o100644,
  archive: 0o100644,
};

/** Iterates over the members twice, because the directory of a million of them would fill the memory. */
function* toZip(count: number): Generator<Buffer> {
  let directoryOffset = 0;
  for (const entry of toZipEntries(count)) {
    const local = Buffer.concat([toZipHeader(entry, false), entry.content]);
    directoryOffset += local.length;
    yield local;
  }
  let directoryBytes = 0;
  for (const entry of toZipEntries(count)) {
    const header = toZipHeader(entry, true);
    directoryBytes += header.length;
    yield header;
  }
  yield toZipEnd(count, directoryBytes, directoryOffset);
}

function* toZipEntries(count: number): Generator<ZipEntry> {
  let offset = 0;
  for (const { name, kind, content } of toMembers(count)) {
    yield { name, mode: ZIP_MODES[kind], offset, data: content, content };
    offset += LOCAL_HEADER_BYTES + Buffer.byteLength(name) + content.length;
  }
}

export async function writeZip(path: string, count: number): Promise<void> {
  await pipeline(Readable.from(inLargeChunks(toZip(count))), await openToWrite(path));
}

const LOCAL_HEADER_BYTES = 30;

interface ZipEntry {
  name: string;
  mode: number;
  offset: number;
  /** As stored in the archive, which is shorter than `content` if it is deflated. */
  data: Buffer;
  content: Buffer;
  declaredSizeBytes?: number;
}

/** A local header, or a directory entry. */
function toZipHeader({ name, mode, offset, data, content, declaredSizeBytes }: ZipEntry, isDirectory: boolean): Buffer {
  const nameBytes = Buffer.from(name);
  const header = Buffer.alloc(isDirectory ? 46 : LOCAL_HEADER_BYTES);
  header.writeUInt32LE(isDirectory ? 0x02014b50 : 0x04034b50, 0);
  if (isDirectory) header.writeUInt16LE(0x031e, 4);
  const common = isDirectory ? 6 : 4;
  header.writeUInt16LE(20, common);
  header.writeUInt16LE(data === content ? 0 : 8, common + 4);
  header.writeUInt16LE(0x21, common + 8);
  header.writeUInt32LE(crc32(content), common + 10);
  header.writeUInt32LE(data.length, common + 14);
  header.writeUInt32LE(declaredSizeBytes ?? content.length, common + 18);
  header.writeUInt16LE(nameBytes.length, common + 22);
  if (isDirectory) {
    header.writeUInt32LE((mode << 16) >>> 0, 38);
    header.writeUInt32LE(offset, 42);
  }
  return Buffer.concat([header, nameBytes]);
}

/** Includes a zip64 end record, which more than 65,535 members need. */
function toZipEnd(count: number, directoryBytes: number, directoryOffset: number): Buffer {
  const zip64 = Buffer.alloc(56 + 20);
  zip64.writeUInt32LE(0x06064b50, 0);
  zip64.writeBigUInt64LE(44n, 4);
  zip64.writeUInt16LE(45, 12);
  zip64.writeUInt16LE(45, 14);
  zip64.writeBigUInt64LE(BigInt(count), 24);
  zip64.writeBigUInt64LE(BigInt(count), 32);
  zip64.writeBigUInt64LE(BigInt(directoryBytes), 40);
  zip64.writeBigUInt64LE(BigInt(directoryOffset), 48);
  zip64.writeUInt32LE(0x07064b50, 56);
  zip64.writeBigUInt64LE(BigInt(directoryOffset + directoryBytes), 64);
  zip64.writeUInt32LE(1, 72);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.fill(0xff, 8, 20);
  return Buffer.concat([zip64, end]);
}

/** A tar.gz with one member. */
export async function writeTarGzOf(path: string, name: string, sizeBytes: number, chunks: Iterable<Buffer>) {
  function* toMemberOnly(): Generator<Buffer> {
    yield toTarHeader(name, TAR_TYPES.plain, sizeBytes);
    yield* chunks;
    yield Buffer.alloc(((BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES) + 2 * BLOCK_BYTES);
  }
  await pipeline(Readable.from(toMemberOnly()), createGzip({ level: 1 }), await openToWrite(path));
}

/** A zip with one member. */
export async function writeZipOf(path: string, name: string, content: Buffer): Promise<void> {
  // Packed as well as possible, it would be refused as a bomb.
  await writeChunks(path, toZipBomb({ name, content }, 1));
}

const MEBIBYTE = 1024 ** 2;
const ZEROS = Buffer.alloc(64 * MEBIBYTE);

/** By name; each decodes to `decodedBytes`, a multiple of 64 MiB, from a thousandth of that or less. */
export function toBombs(decodedBytes: number): Record<string, () => Generator<Buffer>> {
  const count = decodedBytes / ZEROS.length;
  function* repeat(part: Buffer): Generator<Buffer> {
    for (let index = 0; index < count; index += 1) yield part;
  }
  return {
    'bomb.jsonl.gz': () => repeat(gzipSync(ZEROS)),
    'bomb.jsonl.zst': () => repeat(zstdCompressSync(ZEROS)),
    *'bomb.tar.gz'() {
      yield gzipSync(toTarHeader('bomb.jsonl', '0', decodedBytes));
      yield* repeat(gzipSync(ZEROS));
      yield gzipSync(Buffer.alloc(2 * BLOCK_BYTES));
    },
    *'bomb.tar.zst'() {
      yield zstdCompressSync(toTarHeader('not-read.bin', '0', decodedBytes));
      yield* repeat(zstdCompressSync(ZEROS));
    },
    'honest.zip': () => toZipBomb({ name: 'bomb.jsonl', content: ZEROS, declaredSizeBytes: 2 ** 32 - 2 }),
    'lying.zip': () => toZipBomb({ name: 'bomb.jsonl', content: ZEROS, declaredSizeBytes: 1000 }),
    'inner.zip': () => toZipBomb({ name: 'bomb.jsonl.gz', content: Buffer.concat([...repeat(gzipSync(ZEROS))]) }),
  };
}

function* toZipBomb(entry: Pick<ZipEntry, 'name' | 'content' | 'declaredSizeBytes'>, level = 6): Generator<Buffer> {
  const isCompressed = entry.name.endsWith('.gz');
  const data = isCompressed ? entry.content : deflateRawSync(entry.content, { level });
  const whole = { mode: 0o100644, offset: 0, data, ...entry };
  const [local, directory] = [toZipHeader(whole, false), toZipHeader(whole, true)];
  yield Buffer.concat([local, data, directory, toZipEnd(1, directory.length, local.length + data.length)]);
}

export async function writeChunks(path: string, chunks: Iterable<Buffer>): Promise<void> {
  await pipeline(Readable.from(chunks), await openToWrite(path));
}

const openToWrite = async (path: string) => (await open(path, 'w')).createWriteStream();

function* inLargeChunks(chunks: Iterable<Buffer>): Generator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes < MEBIBYTE) continue;
    yield Buffer.concat(parts);
    parts = [];
    bytes = 0;
  }
  yield Buffer.concat(parts);
}
