import fc from 'fast-check';
import { expect, it } from 'vitest';
import { COST_SCALE } from '../schema/column-types.ts';
import { BinaryBuffer } from './binary-buffer.ts';
import { writeNumeric } from './binary-row-encoder.ts';
import { createChunkPool } from './chunk-pool.ts';

/** Decodes the wire form like numeric_recv, in units of 1e-10; throws if it is malformed. */
function readUnits(value: number): bigint {
  const buffer = new BinaryBuffer(createChunkPool());
  writeNumeric(buffer, value);
  const bytes = Buffer.concat(buffer.take());
  expect(bytes.readInt32BE(0)).toBe(bytes.length - 4);
  const digitCount = bytes.readInt16BE(4);
  const weight = bytes.readInt16BE(6);
  const sign = bytes.readUInt16BE(8);
  expect(bytes.readInt16BE(10)).toBe(COST_SCALE);
  expect(bytes.length).toBe(12 + digitCount * 2);
  // Twelve decimals, because the exponent of the last digit is never below -3 in base 10,000.
  let scaled = 0n;
  for (let index = 0; index < digitCount; index++) {
    const digit = bytes.readInt16BE(12 + index * 2);
    expect(digit).toBeGreaterThanOrEqual(0);
    expect(digit).toBeLessThan(10_000);
    scaled += BigInt(digit) * 10_000n ** BigInt(weight - index + 3);
  }
  expect(scaled % 100n).toBe(0n);
  return (sign === 0x4000 ? -1n : 1n) * (scaled / 100n);
}

it.each([
  [0, 0n],
  [1, 10n ** 10n],
  [1e-10, 1n],
  [-1e-10, -1n],
  [0.0001, 10n ** 6n],
  [9999, 9999n * 10n ** 10n],
  [10_000, 10n ** 14n],
  [-12.3456789012, -123_456_789_012n],
  [0.1 + 0.2, 3n * 10n ** 9n],
  [4e-11, 0n],
  [123_456.789, 1_234_567_890_000_000n],
])('encodes %d', (value, units) => {
  expect(readUnits(value)).toBe(units);
});

it('keeps every cost up to 100,000 dollars exact to 1e-10', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e15, max: 1e15 }), (units) => {
      expect(readUnits(units / 1e10)).toBe(BigInt(units));
    }),
  );
});

it('refuses what is not a number', () => {
  expect(() => readUnits(Number.NaN)).toThrow(RangeError);
  expect(() => readUnits(Number.POSITIVE_INFINITY)).toThrow(RangeError);
});
