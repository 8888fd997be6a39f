import type { ChunkPool } from './chunk-pool.ts';

/** A UTF-16 unit takes at most three bytes of UTF-8. */
const MAX_BYTES_PER_UNIT = 3;
const NOTHING = Buffer.alloc(0);

/** Growing list of chunks of bytes in network byte order. */
export class BinaryBuffer {
  readonly #pool: ChunkPool;
  #chunks: Buffer[] = [];
  #chunkedBytes = 0;
  #bytes: Buffer;
  #length = 0;

  constructor(pool: ChunkPool) {
    this.#pool = pool;
    this.#bytes = NOTHING;
  }

  /** Since the last take. */
  get byteLength(): number {
    return this.#chunkedBytes + this.#length;
  }

  writeByte(value: number): void {
    this.#ensure(1);
    this.#length = this.#bytes.writeUInt8(value, this.#length);
  }

  writeInt16(value: number): void {
    this.#ensure(2);
    this.#length = this.#bytes.writeInt16BE(value, this.#length);
  }

  writeInt32(value: number): void {
    this.#ensure(4);
    this.#length = this.#bytes.writeInt32BE(value, this.#length);
  }

  /** A safe integer, as a signed 64-bit integer. */
  writeInt64(value: number): void {
    this.#ensure(8);
    this.#bytes.writeInt32BE(Math.floor(value / 2 ** 32), this.#length);
    this.#bytes.writeUInt32BE(value - Math.floor(value / 2 ** 32) * 2 ** 32, this.#length + 4);
    this.#length += 8;
  }

  writeBytes(source: Uint8Array): void {
    this.#ensure(source.length);
    this.#bytes.set(source, this.#length);
    this.#length += source.length;
  }

  /** UTF-8 preceded by its byte length and, if given, `firstByte`, which the length includes. */
  writeSizedText(text: string, firstByte?: number): void {
    // Counting the bytes reads the text a second time, so this is done only if the chunk may be too short.
    const maxBytes = text.length * MAX_BYTES_PER_UNIT;
    this.#ensure(5 + (this.#length + 5 + maxBytes <= this.#bytes.length ? maxBytes : Buffer.byteLength(text)));
    const lengthAt = this.#length;
    this.#length += 4;
    if (firstByte !== undefined) this.#length = this.#bytes.writeUInt8(firstByte, this.#length);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
    this.#bytes.writeInt32BE(this.#length - lengthAt - 4, lengthAt);
  }

  /** The bytes written since the last take, in order; none is empty. They may go back to the pool. */
  take(): Buffer[] {
    this.#closeChunk();
    const taken = this.#chunks;
    this.#chunks = [];
    this.#chunkedBytes = 0;
    return taken;
  }

  #closeChunk(): void {
    if (this.#length > 0) this.#chunks.push(this.#bytes.subarray(0, this.#length));
    this.#chunkedBytes += this.#length;
    this.#bytes = NOTHING;
    this.#length = 0;
  }

  /** Makes room for this many contiguous bytes. */
  #ensure(extraBytes: number): void {
    if (this.#length + extraBytes <= this.#bytes.length) return;
    this.#closeChunk();
    this.#bytes = this.#pool.take(extraBytes);
  }
}
