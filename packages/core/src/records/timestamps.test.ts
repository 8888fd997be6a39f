import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTimestampMs, toIsoTimestamp } from './timestamps.ts';

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
    ['2024-02-29T23:00:00+00', '2024-02-29T23:00:00.000Z'],
    ['2025-06-01T12:34:56.7894561230001Z', '2025-06-01T12:34:56.789Z'],
    ['2025-06-01T00:00:00+23:59', '2025-05-31T00:01:00.000Z'],
    ['2025-06-01T00:00:00-00:00', '2025-06-01T00:00:00.000Z'],
    ['2025-06-01 12:34:56+00', '2025-06-01T12:34:56.000Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('reads %s', (text, expected) => {
    expect(new Date(parseTimestampMs(text) ?? Number.NaN).toISOString()).toBe(expected);
  });

  it.each([
    ['no date', 'yesterday'],
    ['a date without time', '2025-06-01'],
    ['an invalid month', '2025-13-01T00:00:00Z'],
    ['an invalid hour', '2025-06-01T25:00:00Z'],
    ['an invalid offset', '2025-06-01T00:00:00+99:99'],
    ['the 30th of February', '2026-02-30T00:00:00Z'],
    ['the 29th of February outside leap years', '2100-02-29T00:00:00.000Z'],
    ['the 31st of April', '2026-04-31T23:59:59.999Z'],
    ['day 0', '2026-04-00T00:00:00Z'],
    ['the hour 24', '2026-03-01T24:00:00Z'],
    ['the hour 24 in the form that Date writes', '2026-03-01T24:00:00.000Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['an offset of a day', '2025-06-01T00:00:00+24:00'],
    ['something behind', '2025-06-01T00:00:00Zx'],
    ['the date of an unset clock', '0001-01-01T00:00:00Z'],
    ['a year that Postgres refuses', '0000-01-01T00:00:00Z'],
    ['a year of five digits, only in UTC', '9999-12-31T23:59:59-12:00'],
    ['an expanded year', '+010000-01-01T00:00:00Z'],
    ['words that Date.parse accepts', 'Sun Jun 01 2025'],
    ['the empty string', ''],
    ['a moment before 1970', -1],
    ['a number beyond the range of dates', 1e300],
    ['words and a number', 'Nov 5'],
    ['the 30th of February in words', '30 Feb 2026 10:00 GMT'],
    ['the hour 24 in words', '1 Feb 2026 24:00 GMT'],
    ['null', null],
    ['a list', ['2025-06-01T00:00:00Z']],
  ])('refuses %s', (_name, value) => {
    expect(parseTimestampMs(value)).toBeUndefined();
  });

  const inUtc = Date.UTC(2026, 10, 5, 14, 30, 15);
  it.each([
    inUtc,
    String(inUtc),
    inUtc / 1000,
    String(inUtc / 1000),
    'Thu, 05 Nov 2026 14:30:15 +0000',
    '5 Nov 2026 14:30:15 GMT',
    'Thu, 05 Nov 2026 09:30:15 EST',
    ' 2026-11-05T14:30:15Z ',
  ])('reads %j, as a Unix number or an RFC 2822 date', (value) => {
    expect(parseTimestampMs(value)).toBe(inUtc);
  });

  it('reads fractions of Unix seconds', () => {
    expect(parseTimestampMs(1_700_000_000.25)).toBe(1_700_000_000_250);
  });

  it('accepts every offset of RFC 3339, and no day or hour that does not exist', () => {
    const number = (max: number) => fc.nat({ max });
    const parts = fc.tuple(number(9999), number(13), number(32), number(24), number(60), number(25), number(60));
    const pad = (value: number, length = 2) => String(value).padStart(length, '0');
    fc.assert(
      fc.property(parts, fc.constantFrom(1, -1), ([year, month, day, hour, minute, ahead, minutes], sign) => {
        const offset = `${sign < 0 ? '-' : '+'}${pad(ahead)}:${pad(minutes)}`;
        const text = `${pad(year, 4)}-${pad(month)}-${pad(day)}T${pad(hour)}:${pad(minute)}:00${offset}`;
        const localMs =
          countDays(year, month, day) === undefined || hour > 23 || minute > 59 || ahead > 23 || minutes > 59
            ? Number.NaN
            : (((countDays(year, month, day) ?? 0) * 24 + hour) * 60 + minute) * 60_000;
        const timeMs = localMs - sign * (ahead * 60 + minutes) * 60_000;
        const isKnown = timeMs >= 0 && timeMs < ((countDays(9999, 12, 31) ?? 0) + 1) * 86_400_000;
        expect(parseTimestampMs(text)).toBe(isKnown ? timeMs : undefined);
      }),
    );
  });

  it('reads back what Date writes', () => {
    const date = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true });
    fc.assert(fc.property(date, (value) => parseTimestampMs(value.toISOString()) === value.getTime()));
  });
});

/** Days since 1970 of a date in the Gregorian calendar, counted without `Date`; undefined if there is no such date. */
function countDays(year: number, month: number, day: number): number | undefined {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  if (day < 1 || day > (lengths[month - 1] ?? 0)) return undefined;
  const before = year - 1;
  const leapDays = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400);
  const ofYear = lengths.slice(0, month - 1).reduce((sum, length) => sum + length, 0) + day - 1;
  return before * 365 + leapDays + ofYear - 719_162;
}

function toExpectedMs([year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0]: number[]) {
  const days = countDays(year, month, day);
  if (days === undefined || days < 0 || hour > 23 || minute > 59 || second > 59) return undefined;
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + ms;
}

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
        expect(timeMs).toBe(toExpectedMs([year, month, day, hour, minute, second, millisecond].map(Number)));
        expect(toIsoTimestamp(timeMs, text)).toBe(timeMs === undefined ? null : new Date(timeMs).toISOString());
      }),
    );
    expect(toIsoTimestamp(0, '1970-01-01 00:00')).toBe('1970-01-01T00:00:00.000Z');
    expect(toIsoTimestamp(0)).toBe('1970-01-01T00:00:00.000Z');
  });
});
