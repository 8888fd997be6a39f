import type { ChunkPool } from './chunk-pool.ts';

/** A UTF-16 unit takes at most three bytes of UTF-8. */
const MAX_BYTES_PER_UNIT = 3;
const NOTHING = Buffer.alloc(0);

/** Growing list of chunks of bytes in network byte order. */
export interface BinaryBuffer {
  /** Since the last take. */
  readonly byteLength: number;
  writeByte(value: number): void;
  writeInt16(value: number): void;
  writeInt32(value: number): void;
  /** A safe integer or a bigint, as a signed 64-bit integer. */
  writeInt64(value: number | bigint): void;
  writeBytes(bytes: Buffer): void;
  /** UTF-8 followed by a zero byte. For short texts, which must not contain zero bytes. */
  writeTerminatedText(text: string): void;
  /** UTF-8 preceded by its byte length and, if given, `firstByte`, which the length includes. */
  writeSizedText(text: string, firstByte?: number): void;
  /** The bytes written since the last take, in order; none is empty. They may go back to the pool. */
  take(): Buffer[];
}

export function createBinaryBuffer(pool: ChunkPool): BinaryBuffer {
  let chunks: Buffer[] = [];
  let chunkedBytes = 0;
  let bytes: Buffer = NOTHING;
  let length = 0;

  const closeChunk = (): void => {
    if (length > 0) chunks.push(bytes.subarray(0, length));
    chunkedBytes += length;
    bytes = NOTHING;
    length = 0;
  };
  /** Makes room for this many contiguous bytes. */
  const ensure = (extraBytes: number): void => {
    if (length + extraBytes <= bytes.length) return;
    closeChunk();
    bytes = pool.take(extraBytes);
  };

  return {
    get byteLength() {
      return chunkedBytes + length;
    },
    writeByte(value) {
      ensure(1);
      length = bytes.writeUInt8(value, length);
    },
    writeInt16(value) {
      ensure(2);
      length = bytes.writeInt16BE(value, length);
    },
    writeInt32(value) {
      ensure(4);
      length = bytes.writeInt32BE(value, length);
    },
    writeInt64(value) {
      ensure(8);
      if (typeof value === 'bigint') {
        length = bytes.writeBigInt64BE(value, length);
        return;
      }
      bytes.writeInt32BE(Math.floor(value / 2 ** 32), length);
      bytes.writeUInt32BE(value - Math.floor(value / 2 ** 32) * 2 ** 32, length + 4);
      length += 8;
    },
    writeBytes(source) {
      ensure(source.length);
      length += source.copy(bytes, length);
    },
    writeTerminatedText(text) {
      ensure(text.length * MAX_BYTES_PER_UNIT + 1);
      const start = length;
      // Faster than calling `write` for the few bytes of an ASCII word.
      for (let index = 0; index < text.length; index++) {
        const code = text.charCodeAt(index);
        if (code > 127) {
          length = start + bytes.write(text, start, 'utf8');
          break;
        }
        bytes[length++] = code;
      }
      bytes[length++] = 0;
    },
    writeSizedText(text, firstByte) {
      // Counting the bytes reads the text a second time, so this is done only if the chunk may be too short.
      const maxBytes = text.length * MAX_BYTES_PER_UNIT;
      ensure(5 + (length + 5 + maxBytes <= bytes.length ? maxBytes : Buffer.byteLength(text)));
      const lengthAt = length;
      length += 4;
      if (firstByte !== undefined) length = bytes.writeUInt8(firstByte, length);
      length += bytes.write(text, length, 'utf8');
      bytes.writeInt32BE(length - lengthAt - 4, lengthAt);
    },
    take() {
      closeChunk();
      const taken = chunks;
      chunks = [];
      chunkedBytes = 0;
      return taken;
    },
  };
}
