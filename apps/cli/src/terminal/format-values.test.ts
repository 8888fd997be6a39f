import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatBytes,
  formatCount,
  formatDecimal,
  formatDuration,
  formatTimestamp,
  formatUsd,
} from './format-values.ts';

describe('values for people', () => {
  it.each([
    [0, '0'],
    [1234567, '1,234,567'],
    [12.6, '13'],
  ])('count %d is %s', (count, text) => expect(formatCount(count)).toBe(text));

  it('rounds and groups amounts as Intl does, without a minus before zero', () => {
    const units = fc.integer({ min: -1_000_000_000_000, max: 1_000_000_000_000 });
    const decimals = fc.constantFrom(0, 2, 4);
    const property = fc.property(units, fc.integer({ min: 0, max: 10 }), decimals, (value, power, decimals) => {
      const amount = value / 10 ** power;
      const format = {
        minimumFractionDigits: decimals,
        maximumFractionDigits: decimals,
        signDisplay: 'negative',
      } as const;
      expect(formatDecimal(amount, decimals)).toBe(new Intl.NumberFormat('en-US', format).format(amount));
    });
    fc.assert(property, {
      examples: [
        [1005, 3, 2],
        [-799_948_574_750, 4, 2],
        [1, 10, 4],
      ],
    });
  });

  it.each([
    [0, '$0.0000'],
    [0.00004, '$0.0000'],
    [0.4321987, '$0.4322'],
    [0.99999, '$1.0000'],
    [1, '$1.00'],
    [12345.678, '$12,345.68'],
  ])('%d dollars are %s', (usd, text) => expect(formatUsd(usd)).toBe(text));

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [9_949, '9.9 kB'],
    [9_950, '10 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [26_065_538, '26 MB'],
    [5e15, '5000 TB'],
  ])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it.each([
    [-5, '0 s'],
    [499, '0 s'],
    [59_499, '59 s'],
    [59_500, '1 min 0 s'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
  ])('%d ms are %s', (durationMs, text) => expect(formatDuration(durationMs)).toBe(text));

  it('a timestamp is shown in UTC, or in local time', () => {
    expect(formatTimestamp('2026-03-02T23:59:59.999Z', true)).toBe('2026-03-02 23:59Z');
    const date = new Date(2026, 6, 1, 8, 30);
    expect(formatTimestamp(date.toISOString(), false)).toBe('2026-07-01 08:30');
    expect(formatTimestamp(null, false)).toBe('');
  });
});
