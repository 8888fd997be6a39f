import { type ByteRange, RawStoreError } from './raw-store.ts';

/** Throws RawStoreError `invalid-range` unless the bounds are whole, not negative, and hold at least one byte. */
export function assertByteRange({ startByte, endByteExclusive = Number.MAX_SAFE_INTEGER }: ByteRange): void {
  if (!Number.isSafeInteger(startByte) || !Number.isSafeInteger(endByteExclusive) || startByte < 0) {
    throw new RawStoreError('invalid-range', 'A byte range needs whole bounds of at least 0');
  }
  if (endByteExclusive <= startByte) throw new RawStoreError('invalid-range', 'The byte range is empty');
}
