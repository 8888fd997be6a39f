import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { TOKEN_COUNT, type TokenRange } from './tokens.ts';

/** Maximum number of documents in a segment. */
export const MAX_SEGMENT_DOCUMENTS = 4096;
const DOCUMENT_BITS = 12;

/** A document that has a token, as one number, sorted by token, then by document. */
export type Posting = number;
export const toPosting = (token: number, document: number): Posting => (token << DOCUMENT_BITS) | document;
const toToken = (posting: Posting): number => posting >>> DOCUMENT_BITS;

/**
 * Postings are split by token into 1, 8, 64 or 512 shards, so that a query reads little of a large segment, and a small
 * one is a single row. A shard's number is unique among all sizes: the number of shards plus its place.
 */
const SHARD_COUNTS = [1, 8, 64, 512] as const;
/** More postings than this for each shard need the next number of shards. */
const MAX_SHARD_POSTINGS = 8192;
const MAX_SORTED_POSTINGS = 16_384;

const toShardCount = (postings: number): number =>
  SHARD_COUNTS.find((count) => postings <= count * MAX_SHARD_POSTINGS) ?? SHARD_COUNTS[SHARD_COUNTS.length - 1] ?? 1;

/** Numbers of all shards that a segment with so many postings may have. */
export function listShards(postings: number): number[] {
  const count = toShardCount(postings);
  return Array.from({ length: count }, (_, place) => count + place);
}

/** Numbers of the shards that have the tokens, whatever a segment's size. */
export function toShards(ranges: readonly TokenRange[]): number[] {
  const shards = new Set<number>();
  for (const { from, to } of ranges) {
    for (const count of SHARD_COUNTS) {
      const width = TOKEN_COUNT / count;
      for (let place = Math.floor(from / width); place <= Math.floor(to / width); place++) shards.add(count + place);
    }
  }
  return [...shards];
}

const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export const compress = (bytes: Uint8Array): Buffer => zstdCompressSync(bytes, COMPRESSION);
/** In one piece of the right size, which takes half the time of Node's own pieces. */
export const decompress = (bytes: Uint8Array): Buffer =>
  zstdDecompressSync(bytes, { chunkSize: Math.max(MIN_CHUNK_BYTES, readContentSize(bytes)) });

/** Node's least. */
const MIN_CHUNK_BYTES = 64;
/** A larger text comes in several pieces. */
const MAX_CHUNK_BYTES = 1024 * 1024;

/** The size that the header of a zstd frame names, or 0 (RFC 8878, section 3.1.1.1). */
function readContentSize(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const descriptor = bytes[4] ?? 0;
  const isSingleSegment = (descriptor & 32) !== 0;
  const at = 5 + (isSingleSegment ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0);
  if (bytes.byteLength < at + 8) return 0;
  const sizeCode = descriptor >>> 6;
  if (sizeCode === 0) return isSingleSegment ? view.getUint8(at) : 0;
  if (sizeCode === 1) return view.getUint16(at, true) + 256;
  return sizeCode === 2 ? Math.min(view.getUint32(at, true), MAX_CHUNK_BYTES) : MAX_CHUNK_BYTES;
}

export interface Shard {
  shard: number;
  postings: Buffer;
}

/**
 * The shards of a segment, compressed; those without postings are left out. `postings` are of ascending documents, in
 * any order of tokens; they are overwritten. In a shard each token has its distance from the last one, the number of
 * its documents, and their distances, as numbers of 7 bits a byte.
 */
export function encodeShards(postings: Uint32Array): Shard[] {
  const sorted = sortPostings(postings);
  const count = toShardCount(sorted.length);
  const width = TOKEN_COUNT / count;
  const shards: Shard[] = [];
  let [start, end] = [0, 0];
  while (start < sorted.length) {
    const place = Math.floor(toToken(sorted[start] ?? 0) / width);
    const limit = toPosting((place + 1) * width, 0);
    while (end < sorted.length && (sorted[end] ?? 0) < limit) end += 1;
    shards.push({ shard: count + place, postings: encodeShard(sorted.subarray(start, end), place * width) });
    start = end;
  }
  return shards;
}

/** By token, keeping the order of documents. */
function sortPostings(postings: Uint32Array): Uint32Array {
  // Counting the tokens takes longer than sorting a few postings.
  if (postings.length <= MAX_SORTED_POSTINGS) return postings.sort();
  const next = new Uint32Array(TOKEN_COUNT + 1);
  const count = postings.length;
  for (let index = 0; index < count; index++) {
    const after = toToken(postings[index] ?? 0) + 1;
    next[after] = (next[after] ?? 0) + 1;
  }
  for (let token = 0; token < TOKEN_COUNT; token++) next[token + 1] = (next[token + 1] ?? 0) + (next[token] ?? 0);
  const sorted = new Uint32Array(count);
  for (let index = 0; index < count; index++) {
    const posting = postings[index] ?? 0;
    const token = toToken(posting);
    const at = next[token] ?? 0;
    next[token] = at + 1;
    sorted[at] = posting;
  }
  return sorted;
}

/** The parts of a posting: its token's distance, the number of documents, its document's distance. */
const MAX_POSTING_BYTES = 8;
let buffer = Buffer.alloc(64 * 1024);

function encodeShard(sorted: Uint32Array, firstToken: number): Buffer {
  if (buffer.length < sorted.length * MAX_POSTING_BYTES) buffer = Buffer.alloc(sorted.length * MAX_POSTING_BYTES * 2);
  const bytes = buffer;
  let length = 0;
  const write = (value: number): void => {
    let rest = value;
    while (rest >= 128) {
      bytes[length++] = (rest & 127) | 128;
      rest >>= 7;
    }
    bytes[length++] = rest;
  };
  let nextToken = firstToken;
  for (let index = 0; index < sorted.length; ) {
    const token = toToken(sorted[index] ?? 0);
    let end = index + 1;
    while (end < sorted.length && toToken(sorted[end] ?? 0) === token) end += 1;
    write(token - nextToken);
    write(end - index);
    let nextPosting = toPosting(token, 0);
    for (; index < end; index++) {
      const posting = sorted[index] ?? 0;
      const distance = posting - nextPosting;
      if (distance < 128) bytes[length++] = distance;
      else write(distance);
      nextPosting = posting + 1;
    }
    nextToken = token + 1;
  }
  return compress(bytes.subarray(0, length));
}

/** Reads the tokens of a decompressed shard in order. */
class ShardReader {
  readonly #bytes: Uint8Array;
  readonly #shard: number;
  #at = 0;
  #nextToken: number;

  constructor(bytes: Uint8Array, shard: number) {
    this.#bytes = bytes;
    this.#shard = shard;
    const count = SHARD_COUNTS.findLast((each) => each <= shard) ?? 1;
    this.#nextToken = (shard - count) * (TOKEN_COUNT / count);
  }

  /** The next token, or undefined at the end. Its documents must be read or skipped. */
  nextToken(): number | undefined {
    if (this.#at >= this.#bytes.length) return undefined;
    const token = this.#nextToken + this.#read();
    this.#nextToken = token + 1;
    return token;
  }

  skipDocuments(): void {
    const bytes = this.#bytes;
    let left = this.#read();
    let at = this.#at;
    while (left > 0 && at < bytes.length) if ((bytes[at++] ?? 0) < 128) left -= 1;
    this.#at = at;
  }

  readDocuments(): Uint16Array {
    const documents = new Uint16Array(this.#read());
    let next = 0;
    for (let index = 0; index < documents.length; index++) {
      const document = next + this.#read();
      documents[index] = document;
      next = document + 1;
    }
    return documents;
  }

  #read(): number {
    let value = 0;
    let shift = 0;
    for (;;) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new RangeError(`Shard ${this.#shard} of a search segment is cut`);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
      shift += 7;
    }
  }
}

/** The documents of a decompressed shard that have a token in the range, ascending. */
export function findDocuments(bytes: Uint8Array, shard: number, { from, to }: TokenRange): Uint16Array {
  const reader = new ShardReader(bytes, shard);
  const lists: Uint16Array[] = [];
  for (let token = reader.nextToken(); token !== undefined && token <= to; token = reader.nextToken()) {
    if (token < from) reader.skipDocuments();
    else lists.push(reader.readDocuments());
  }
  return lists.length === 1 ? (lists[0] ?? new Uint16Array()) : uniteDocuments(lists);
}

/** Calls `visit` with all postings of a decompressed shard, in order. */
export function visitPostings(
  bytes: Uint8Array,
  shard: number,
  visit: (token: number, document: number) => void,
): void {
  const reader = new ShardReader(bytes, shard);
  for (let token = reader.nextToken(); token !== undefined; token = reader.nextToken()) {
    for (const document of reader.readDocuments()) visit(token, document);
  }
}

/** Ascending, each once. */
export function uniteDocuments(lists: readonly Uint16Array[]): Uint16Array {
  if (lists.length === 0) return new Uint16Array();
  const has = new Uint8Array(MAX_SEGMENT_DOCUMENTS);
  for (const list of lists) for (const document of list) has[document] = 1;
  const united: number[] = [];
  for (let document = 0; document < MAX_SEGMENT_DOCUMENTS; document++) if (has[document] === 1) united.push(document);
  return Uint16Array.from(united);
}

/** The documents of both lists; all are ascending. */
export function intersectDocuments(one: Uint16Array, other: Uint16Array): Uint16Array {
  const common = new Uint16Array(Math.min(one.length, other.length));
  let [length, at] = [0, 0];
  for (const document of one) {
    while (at < other.length && (other[at] ?? 0) < document) at += 1;
    if (at < other.length && other[at] === document) common[length++] = document;
  }
  return common.subarray(0, length);
}
