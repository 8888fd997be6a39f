import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { cutCharacters, parseTimestampMs, readIdentifier, readText, toIsoTimestamp } from './fields.ts';

describe('parseTimestampMs', () => {
  it.each([
    ['2025-06-01T12:34:56.789Z', '2025-06-01T12:34:56.789Z'],
    ['2025-06-01t12:34:56.789z', '2025-06-01T12:34:56.789Z'],
    ['2025-06-01 12:34:56', '2025-06-01T12:34:56.000Z'],
    ['2025-06-01T12:34:56', '2025-06-01T12:34:56.000Z'],
    ['2025-06-01T12:34Z', '2025-06-01T12:34:00.000Z'],
    ['2025-06-01T12:34:56.7Z', '2025-06-01T12:34:56.700Z'],
    ['2025-06-01T12:34:56,789999999Z', '2025-06-01T12:34:56.789Z'],
    ['2025-06-01T12:34:56.789+02:00', '2025-06-01T10:34:56.789Z'],
    ['2025-06-01T12:34:56.789-0530', '2025-06-01T18:04:56.789Z'],
    ['2025-06-01 12:34:56+00', '2025-06-01T12:34:56.000Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('reads %s', (text, expected) => {
    expect(new Date(parseTimestampMs(text) ?? Number.NaN).toISOString()).toBe(expected);
  });

  it.each([
    ['no date', 'yesterday'],
    ['a date without time', '2025-06-01'],
    ['a month that is none', '2025-13-01T00:00:00Z'],
    ['an hour that is none', '2025-06-01T25:00:00Z'],
    ['an offset that is none', '2025-06-01T00:00:00+99:99'],
    ['something before', ' 2025-06-01T00:00:00Z'],
    ['something behind', '2025-06-01T00:00:00Zx'],
    ['the date of an unset clock', '0001-01-01T00:00:00Z'],
    ['a year that Postgres refuses', '0000-01-01T00:00:00Z'],
    ['a year of five digits, once in UTC', '9999-12-31T23:59:59-12:00'],
    ['an expanded year', '+010000-01-01T00:00:00Z'],
    ['words that Date.parse takes', 'Sun Jun 01 2025'],
    ['the empty string', ''],
    ['milliseconds', 1_748_736_000_000],
    ['null', null],
    ['a list', ['2025-06-01T00:00:00Z']],
  ])('refuses %s', (_name, value) => {
    expect(parseTimestampMs(value)).toBeUndefined();
  });

  it('reads back what Date writes', () => {
    const date = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true });
    fc.assert(fc.property(date, (value) => parseTimestampMs(value.toISOString()) === value.getTime()));
  });
});

describe('toIsoTimestamp', () => {
  it('writes a time as Date does, whatever it was parsed from', () => {
    const part = (max: number, length: number) => fc.nat({ max }).map((value) => String(value).padStart(length, '0'));
    const parts = fc.tuple(
      part(9999, 4),
      part(13, 2),
      part(32, 2),
      part(24, 2),
      part(60, 2),
      part(60, 2),
      part(999, 3),
    );
    fc.assert(
      fc.property(parts, ([year, month, day, hour, minute, second, millisecond]) => {
        const text = `${year}-${month}-${day}T${hour}:${minute}:${second}.${millisecond}Z`;
        const timeMs = parseTimestampMs(text);
        expect(timeMs).toBe(Date.parse(text) >= 0 ? Date.parse(text) : undefined);
        expect(toIsoTimestamp(timeMs, text)).toBe(timeMs === undefined ? null : new Date(timeMs).toISOString());
      }),
      { numRuns: 1000 },
    );
    expect(toIsoTimestamp(0, '1970-01-01 00:00')).toBe('1970-01-01T00:00:00.000Z');
    expect(toIsoTimestamp(0)).toBe('1970-01-01T00:00:00.000Z');
  });
});

describe('cutCharacters', () => {
  it('counts UTF-16 units and never splits a pair', () => {
    expect(cutCharacters('abc', 3)).toBe('abc');
    expect(cutCharacters('abcd', 3)).toBe('abc');
    expect(cutCharacters('ab🎉', 4)).toBe('ab🎉');
    expect(cutCharacters('ab🎉', 3)).toBe('ab');
    expect(cutCharacters('ab🎉c', 4)).toBe('ab🎉');
  });
});

describe('readIdentifier', () => {
  it('takes non-empty strings and numbers', () => {
    const onCut = vi.fn();
    expect(readIdentifier('a', onCut)).toBe('a');
    expect(readIdentifier(17, onCut)).toBe('17');
    expect(readIdentifier('x'.repeat(512), onCut)).toHaveLength(512);
    for (const value of ['', null, undefined, true, {}, []]) expect(readIdentifier(value, onCut)).toBeNull();
    expect(onCut).not.toHaveBeenCalled();
  });

  it('cuts long ones and says so', () => {
    const onCut = vi.fn();
    expect(readIdentifier(`${'x'.repeat(511)}🎉`, onCut)).toBe('x'.repeat(511));
    expect(onCut).toHaveBeenCalledOnce();
  });
});

describe('readText', () => {
  it('takes non-empty strings only', () => {
    expect([readText('a'), readText(''), readText(1), readText(undefined)]).toEqual(['a', null, null, null]);
  });
});
