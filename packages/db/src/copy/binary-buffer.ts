const MIN_BYTES = 64 * 1024;
const MAX_KEPT_BYTES = 1024 * 1024;
/** A UTF-16 unit takes at most three bytes of UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

/** Growing buffer for network byte order. */
export interface BinaryBuffer {
  readonly byteLength: number;
  writeByte(value: number): void;
  writeInt16(value: number): void;
  writeInt32(value: number): void;
  /** A safe integer as a signed 64-bit one. */
  writeInt64(value: number): void;
  writeBytes(bytes: Buffer): void;
  /** UTF-8 with its byte length before it, and `firstByte`, counted in the length, where given. */
  writeSizedText(text: string, firstByte?: number): void;
  /** The bytes written since the last take, which are the caller's from now on. */
  take(): Buffer;
}

export function createBinaryBuffer(): BinaryBuffer {
  let bytes = Buffer.allocUnsafe(0);
  let length = 0;
  let nextBytes = MIN_BYTES;

  const ensure = (extraBytes: number): void => {
    if (length + extraBytes <= bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(nextBytes, bytes.length * 2, length + extraBytes));
    bytes.copy(grown, 0, 0, length);
    bytes = grown;
  };

  return {
    get byteLength() {
      return length;
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
      bytes.writeInt32BE(Math.floor(value / 2 ** 32), length);
      bytes.writeUInt32BE(value - Math.floor(value / 2 ** 32) * 2 ** 32, length + 4);
      length += 8;
    },
    writeBytes(source) {
      ensure(source.length);
      length += source.copy(bytes, length);
    },
    writeSizedText(text, firstByte) {
      // Counting the bytes reads the text once more: only where the buffer may have to grow.
      const maxBytes = text.length * MAX_BYTES_PER_UNIT;
      ensure(5 + (length + 5 + maxBytes <= bytes.length ? maxBytes : Buffer.byteLength(text)));
      const lengthAt = length;
      length += 4;
      if (firstByte !== undefined) length = bytes.writeUInt8(firstByte, length);
      length += bytes.write(text, length, 'utf8');
      bytes.writeInt32BE(length - lengthAt - 4, lengthAt);
    },
    take() {
      const taken = bytes.subarray(0, length);
      nextBytes = Math.min(bytes.length, MAX_KEPT_BYTES);
      bytes = Buffer.allocUnsafe(0);
      length = 0;
      return taken;
    },
  };
}
