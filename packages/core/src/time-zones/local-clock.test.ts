import { describe, expect, it } from 'vitest';
import { createLocalClock, toLocalClock } from './local-clock.ts';

const toIso = (ms: number): string => new Date(ms).toISOString();
const HOUR_MS = 3_600_000;

describe('createLocalClock', () => {
  it.each([
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
    ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
    ['2026-06-02', 'Asia/Kathmandu', '2026-06-01T18:15:00.000Z'],
    ['2026-03-01', 'UTC', '2026-03-01T00:00:00.000Z'],
    // Clocks go from midnight to one o'clock, so the day begins at one.
    ['2026-03-08', 'America/Havana', '2026-03-08T05:00:00.000Z'],
    // Clocks go back from one o'clock to midnight, so the day begins with the first midnight.
    ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00.000Z'],
    // Samoa left this day out.
    ['2011-12-30', 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
    ['2011-12-31', 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
    ['1900-01-01', 'Europe/Berlin', '1899-12-31T23:00:00.000Z'],
    ['9999-12-31', 'Asia/Tokyo', '9999-12-30T15:00:00.000Z'],
  ])('finds the beginning of %s in %s', (day, timeZone, moment) => {
    expect(toIso(createLocalClock(timeZone).toDayStartMs(day))).toBe(moment);
  });

  it('knows no beginning of what is no date', () => {
    expect(createLocalClock('Europe/Berlin').toDayStartMs('2026-13-01')).toBeNaN();
  });

  it.each([
    ['Europe/Berlin', 2026],
    ['Australia/Lord_Howe', 2026],
    ['Africa/Casablanca', 2026],
    ['America/Edmonton', 2026],
    ['America/St_Johns', 2026],
    // Clocks change twice within a week.
    ['America/Noronha', 2000],
    ['Asia/Gaza', 2054],
    ['Asia/Gaza', 2072],
    ['Asia/Gaza', 2150],
    ['America/Havana', 3026],
    ['Europe/Berlin', 9999],
  ])('shows in %s what Intl shows in %i', (timeZone, year) => {
    const clock = createLocalClock(timeZone);
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
    for (let timeMs = Date.UTC(year, 0, 1, 0, 45); timeMs < Date.UTC(year + 1, 0); timeMs += 6.25 * HOUR_MS) {
      expect(toIso(clock.toLocalMs(timeMs)).slice(0, 19).replace('T', ' ')).toBe(format.format(timeMs));
    }
  });

  it('lists the offsets of a span, from the one at its beginning', () => {
    const list = (from: string, to: string) =>
      createLocalClock('Europe/Berlin')
        .listOffsets(Date.parse(from), Date.parse(to))
        .map(({ fromMs, offsetMs }) => [toIso(fromMs), offsetMs / HOUR_MS]);
    expect(list('2025-11-01T00:00:00Z', '2026-10-25T01:00:00Z')).toEqual([
      ['2025-11-01T00:00:00.000Z', 1],
      ['2026-03-29T01:00:00.000Z', 2],
      ['2026-10-25T01:00:00.000Z', 1],
    ]);
    expect(list('2026-03-29T00:59:59Z', '2026-03-29T00:59:59Z')).toHaveLength(1);
    expect(list('3026-01-01T00:00:00Z', '3026-12-31T00:00:00Z').map(([, offset]) => offset)).toEqual([1, 2, 1]);
  });

  it('throws for an unknown zone', () => {
    expect(() => createLocalClock('Europe/Atlantis')).toThrow(RangeError);
  });
});

describe('toLocalClock', () => {
  it('changes at the first 15-minute boundary with the new offset', () => {
    const changeMs = Date.UTC(2026, 5, 1, 3, 31);
    const clock = toLocalClock('Made/Up', (timeMs) => (timeMs < changeMs ? 0 : HOUR_MS));
    expect(clock.listOffsets(Date.UTC(2026, 0), Date.UTC(2026, 11)).map(({ fromMs }) => toIso(fromMs))).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2026-06-01T03:45:00.000Z',
    ]);
  });

  it.each([
    ['2026-01-01T00:00:00.000Z', ['2026-01-01T00:00:00.000Z']],
    ['2026-12-31T23:45:00.000Z', ['2026-01-01T00:00:00.000Z', '2026-12-31T23:45:00.000Z']],
    ['2027-01-01T00:00:00.000Z', ['2026-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z']],
  ])('finds a change at %s, however near to the edge of a year', (change, starts) => {
    const clock = toLocalClock('Made/Up', (timeMs) => (timeMs < Date.parse(change) ? 0 : HOUR_MS));
    const found = clock.listOffsets(Date.UTC(2026, 0), Date.UTC(2027, 6));
    expect(found.map(({ fromMs }) => toIso(fromMs))).toEqual(starts);
  });

  it('follows rules that change from one version of the database to the next', () => {
    // Morocco: +01 until 2026-09-20 (tzdata 2026c), in older versions always except in Ramadan.
    const leavesMs = Date.UTC(2026, 8, 20, 2);
    const [older, newer] = [
      toLocalClock('Africa/Casablanca', () => HOUR_MS),
      toLocalClock('Africa/Casablanca', (timeMs) => (timeMs < leavesMs ? HOUR_MS : 0)),
    ];
    const timeMs = Date.parse('2026-10-01T23:30:00Z');
    expect(toIso(older.toLocalMs(timeMs)).slice(0, 10)).toBe('2026-10-02');
    expect(toIso(newer.toLocalMs(timeMs)).slice(0, 10)).toBe('2026-10-01');
    expect(toIso(newer.toDayStartMs('2026-10-02'))).toBe('2026-10-02T00:00:00.000Z');
  });
});
