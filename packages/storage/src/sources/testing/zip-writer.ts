import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipMember {
  name: string;
  content: string | Buffer;
  method?: 'stored' | 'deflated';
  /** Unix mode, including the file type. */
  mode?: number;
  modifiedAt?: Date;
  isEncrypted?: boolean;
  /** Sizes and offset in a zip64 extra field. */
  isZip64?: boolean;
  methodCode?: number;
  declaredSizeBytes?: number;
  declaredCrc32?: number;
  /** Bytes of an extra field that only the header before the data has. */
  localExtraBytes?: number;
  /** Points to the previous member's data instead of having its own. */
  overlapsPrevious?: boolean;
}

const UNIX_VERSION_MADE_BY = 0x031e;
const UTF8_NAME = 0x0800;
const NOT_HERE = 0xffff_ffff;

interface Written {
  offset: number;
  data: Buffer;
}

export function createZip(members: readonly ZipMember[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  let previous: Written | undefined;
  for (const member of members) {
    const data = encode(member);
    const written: Written = member.overlapsPrevious && previous ? previous : { offset, data };
    if (written !== previous) {
      const local = header(member, written, false);
      parts.push(local, data);
      offset += local.length + data.length;
    }
    directory.push(header(member, written, true));
    previous = written;
  }
  return Buffer.concat([...parts, ...directory, end(members.length, Buffer.concat(directory).length, offset)]);
}

function encode({ content, method = 'deflated' }: ZipMember): Buffer {
  return method === 'deflated' ? deflateRawSync(content) : Buffer.from(content);
}

/** A local header, or a directory entry, which has the same fields and more. */
function header(member: ZipMember, { offset, data }: Written, isDirectory: boolean): Buffer {
  const name = Buffer.from(member.name);
  const size = member.declaredSizeBytes ?? Buffer.byteLength(member.content);
  const extra = member.isZip64
    ? zip64Extra(size, data.length, isDirectory ? offset : undefined)
    : Buffer.alloc(isDirectory ? 0 : (member.localExtraBytes ?? 0));
  const fixed = Buffer.alloc(isDirectory ? 46 : 30);
  fixed.writeUInt32LE(isDirectory ? 0x02014b50 : 0x04034b50, 0);
  if (isDirectory) fixed.writeUInt16LE(UNIX_VERSION_MADE_BY, 4);
  const common = isDirectory ? 6 : 4;
  fixed.writeUInt16LE(45, common);
  fixed.writeUInt16LE(UTF8_NAME | (member.isEncrypted ? 1 : 0), common + 2);
  fixed.writeUInt16LE(member.methodCode ?? (member.method === 'stored' ? 0 : 8), common + 4);
  fixed.writeUInt16LE(dosDate(member.modifiedAt), common + 8);
  fixed.writeUInt32LE(member.declaredCrc32 ?? crc32(member.content), common + 10);
  fixed.writeUInt32LE(member.isZip64 ? NOT_HERE : data.length, common + 14);
  fixed.writeUInt32LE(member.isZip64 ? NOT_HERE : size, common + 18);
  fixed.writeUInt16LE(name.length, common + 22);
  fixed.writeUInt16LE(extra.length, common + 24);
  if (isDirectory) {
    fixed.writeUInt32LE(((member.mode ?? 0o100644) << 16) >>> 0, 38);
    fixed.writeUInt32LE(member.isZip64 ? NOT_HERE : offset, 42);
  }
  return Buffer.concat([fixed, name, extra]);
}

function zip64Extra(size: number, compressedSize: number, offset: number | undefined): Buffer {
  const values = [size, compressedSize, ...(offset === undefined ? [] : [offset])];
  const extra = Buffer.alloc(4 + values.length * 8);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(values.length * 8, 2);
  values.forEach((value, index) => {
    extra.writeBigUInt64LE(BigInt(value), 4 + index * 8);
  });
  return extra;
}

function dosDate(date: Date | undefined): number {
  return date ? ((date.getFullYear() - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate() : 0x21;
}

function end(entries: number, directoryBytes: number, directoryOffset: number): Buffer {
  const record = Buffer.alloc(22);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(entries, 8);
  record.writeUInt16LE(entries, 10);
  record.writeUInt32LE(directoryBytes, 12);
  record.writeUInt32LE(directoryOffset, 16);
  return record;
}
