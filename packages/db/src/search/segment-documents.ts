import { compress, decompress } from './postings.ts';

/** The part of a block that its text is made of; a message decides which kind of text it is. */
export const TEXT_ROLES = ['text', 'prompt', 'thinking', 'tool_input', 'tool_result'] as const;
export type TextRole = (typeof TEXT_ROLES)[number];

/** A text in a segment, by the key of its block. */
export interface SegmentDocument {
  rowSetId: string;
  messageId: string;
  blockOrder: number;
  role: TextRole;
  /** No earlier than its message, milliseconds since 1970; infinite if unknown. */
  latestMs: number;
  /** Number of its words and parts of names. */
  length: number;
}

/** Columns that select documents, by their numbers. */
export interface DocumentPlaces {
  latestMs: Float64Array;
  /** Places in the list of row sets. */
  rowSets: Uint16Array;
  /** Places in TEXT_ROLES. */
  roles: Uint8Array;
}

/** Columns that identify documents, by their numbers. */
export interface DocumentKeys {
  rowSetIds: readonly string[];
  messageIds: readonly string[];
  blockOrders: Uint32Array;
  lengths: Uint16Array;
}

const MAX_LENGTH = 0xffff;
const PLACE_BYTES = 8 + 2 + 1;
const KEY_BYTES = 4 + 2;

/** Compressed columns of a segment's documents, in order. */
export function packDocuments(documents: readonly SegmentDocument[]): { places: Buffer; keys: Buffer } {
  const count = documents.length;
  const rowSetIds = [...new Set(documents.map(({ rowSetId }) => rowSetId))];
  const rowSetOf = new Map(rowSetIds.map((id, index) => [id, index]));
  const places = Buffer.alloc(count * PLACE_BYTES);
  const numbers = Buffer.alloc(4 + count * KEY_BYTES);
  numbers.writeUInt32LE(count);
  for (const [index, { latestMs, rowSetId, role, blockOrder, length }] of documents.entries()) {
    places.writeDoubleLE(latestMs, index * 8);
    places.writeUInt16LE(rowSetOf.get(rowSetId) ?? 0, count * 8 + index * 2);
    places.writeUInt8(TEXT_ROLES.indexOf(role), count * 10 + index);
    numbers.writeUInt32LE(blockOrder, 4 + index * 4);
    numbers.writeUInt16LE(Math.min(length, MAX_LENGTH), 4 + count * 4 + index * 2);
  }
  const names = [...rowSetIds, '', ...documents.map(({ messageId }) => messageId)].join('\n');
  return { places: compress(places), keys: compress(Buffer.concat([numbers, Buffer.from(names)])) };
}

export function unpackPlaces(packed: Uint8Array): DocumentPlaces {
  const bytes = toAligned(decompress(packed));
  const count = bytes.byteLength / PLACE_BYTES;
  return {
    latestMs: new Float64Array(bytes, 0, count),
    rowSets: new Uint16Array(bytes, count * 8, count),
    roles: new Uint8Array(bytes, count * 10, count),
  };
}

export function unpackKeys(packed: Uint8Array): DocumentKeys {
  const bytes = decompress(packed);
  const count = bytes.readUInt32LE();
  const numbers = toAligned(bytes.subarray(4, 4 + count * KEY_BYTES));
  const names = bytes.toString('utf8', 4 + count * KEY_BYTES);
  const end = names.indexOf(`\n\n`);
  let messageIds: string[] | undefined;
  return {
    rowSetIds: names.slice(0, end).split('\n'),
    get messageIds() {
      // Split when asked for, because most searches need only the row sets.
      messageIds ??= names.slice(end + 2).split('\n');
      return messageIds;
    },
    blockOrders: new Uint32Array(numbers, 0, count),
    lengths: new Uint16Array(numbers, count * 4, count),
  };
}

/** Typed arrays need their own buffer. All machines that run Node have these numbers in this order of bytes. */
const toAligned = (bytes: Buffer): ArrayBuffer =>
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;

/** The documents of a segment, in order. */
export function unpackDocuments(packed: { places: Uint8Array; keys: Uint8Array }): SegmentDocument[] {
  const { latestMs, rowSets, roles } = unpackPlaces(packed.places);
  const { rowSetIds, messageIds, blockOrders, lengths } = unpackKeys(packed.keys);
  return messageIds.map((messageId, index) => ({
    rowSetId: rowSetIds[rowSets[index] ?? 0] ?? '',
    messageId,
    blockOrder: blockOrders[index] ?? 0,
    role: TEXT_ROLES[roles[index] ?? 0] ?? 'text',
    latestMs: latestMs[index] ?? 0,
    length: lengths[index] ?? 0,
  }));
}

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The time in an id, milliseconds since 1970, which is not before its message's; infinite for other ids. */
export function toLatestMs(messageId: string): number {
  if (!ULID.test(messageId)) return Number.POSITIVE_INFINITY;
  let time = 0;
  for (let index = 0; index < 10; index++) time = time * 32 + BASE32.indexOf(messageId.charAt(index));
  return time;
}
