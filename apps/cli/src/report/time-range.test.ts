import { describe, expect, it } from 'vitest';
import { toTimeRange } from './time-range.ts';

// A Sunday evening in London, Monday in Kathmandu.
const nowMs = Date.parse('2026-03-29T20:07:00Z');
const read = (options: Parameters<typeof toTimeRange>[0], timeZone = 'UTC') => {
  const { from, to } = toTimeRange(options, timeZone, nowMs);
  return [from, to];
};

describe('toTimeRange', () => {
  it.each([
    ['today', '2026-03-29', '2026-03-30'],
    ['Yesterday', '2026-03-28', '2026-03-29'],
    ['this week', '2026-03-23', '2026-03-30'],
    ['last-week', '2026-03-16', '2026-03-23'],
    ['this month', '2026-03-01', '2026-04-01'],
    ['last month', '2026-02-01', '2026-03-01'],
    ['last year', '2025-01-01', '2026-01-01'],
    ['7d', '2026-03-22', undefined],
    ['2w', '2026-03-15', undefined],
    ['12h', '2026-03-29T08:00:00.000Z', undefined],
    ['2025-12', '2025-12-01', '2026-01-01'],
    ['2024', '2024-01-01', '2025-01-01'],
    ['2026-02-28', '2026-02-28', '2026-03-01'],
    ['2026-02-27..2026-02-28', '2026-02-27', '2026-03-01'],
    ['last month..yesterday', '2026-02-01', '2026-03-29'],
  ])('reads %s', (text, from, to) => {
    expect(read({ in: text })).toEqual([from, to]);
  });

  it('uses the date in the time zone', () => {
    expect(read({ in: 'today' }, 'Asia/Kathmandu')).toEqual(['2026-03-30', '2026-03-31']);
    expect(read({ in: ['last', 'week'] }, 'Asia/Kathmandu')).toEqual(['2026-03-23', '2026-03-30']);
    expect(() => read({ in: 'today' }, 'Mars/Base')).toThrow('not a time zone');
  });

  it('treats a day as both ends, and otherwise ends before a date', () => {
    expect(read({ from: '2026-03-01', to: '2026-03-01' })).toEqual(['2026-03-01', '2026-03-02']);
    expect(read({ from: '2026-03-01', to: '2026-03-05' })).toEqual(['2026-03-01', '2026-03-05']);
    expect(read({ to: '2026-02' })).toEqual([undefined, '2026-03-01']);
    expect(read({ from: 'last week', to: 'yesterday' })).toEqual(['2026-03-16', '2026-03-29']);
    expect(read({})).toEqual([undefined, undefined]);
  });

  it('passes timestamps and unknown forms to the API', () => {
    expect(read({ from: '2026-03-01T12:00Z', to: 'someday' })).toEqual(['2026-03-01T12:00Z', 'someday']);
    expect(read({ from: '2026-13-01' })).toEqual(['2026-13-01', undefined]);
  });

  it('refuses what it cannot parse, and duplicates', () => {
    expect(() => read({ in: 'someday' })).toThrow('Examples: today');
    expect(() => read({ in: '2026-03-01..soon' })).toThrow('is not a time');
    expect(() => read({ in: 'today', from: '7d' })).toThrow('one or the other');
  });
});
