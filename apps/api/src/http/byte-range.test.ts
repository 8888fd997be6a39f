import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseByteRange } from './byte-range.ts';

describe('parseByteRange', () => {
  it.each([
    ['bytes=0-0', 0, 1],
    ['bytes=0-99', 0, 100],
    ['bytes=10-19', 10, 20],
    ['bytes=90-', 90, 100],
    ['bytes=90-1000000', 90, 100],
    ['bytes=-1', 99, 100],
    ['bytes=-500', 0, 100],
    ['BYTES=1-2', 1, 3],
    ['bytes= 1-2 ', 1, 3],
  ])('reads %s of 100 bytes', (header, startByte, endByteExclusive) => {
    expect(parseByteRange(header, 100)).toEqual({ startByte, endByteExclusive });
  });

  it.each(['bytes=100-', 'bytes=100-200', 'bytes=-0'])('finds no byte in %s of 100', (header) => {
    expect(parseByteRange(header, 100)).toBe('unsatisfiable');
  });

  it.each(['bytes=0-', 'bytes=-5'])('finds no byte in %s of none', (header) => {
    expect(parseByteRange(header, 0)).toBe('unsatisfiable');
  });

  it.each([
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=5-4',
    'bytes=a-b',
    'bytes=0-1,3-4',
    'lines=0-1',
    'bytes=--1',
  ])('ignores %j', (header) => {
    expect(parseByteRange(header, 100)).toBeUndefined();
  });

  it('never leaves the bytes that are there', () => {
    const part = fc.oneof(fc.constant(''), fc.nat().map(String), fc.bigInt({ min: 0n }).map(String));
    fc.assert(
      fc.property(part, part, fc.nat(), (first, last, sizeBytes) => {
        const range = parseByteRange(`bytes=${first}-${last}`, sizeBytes);
        if (range === undefined || range === 'unsatisfiable') return;
        expect(range.startByte).toBeGreaterThanOrEqual(0);
        expect(range.endByteExclusive).toBeGreaterThan(range.startByte);
        expect(range.endByteExclusive).toBeLessThanOrEqual(sizeBytes);
      }),
    );
  });
});
