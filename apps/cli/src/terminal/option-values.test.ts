import { describe, expect, it } from 'vitest';
import { parseScopes } from '../commands/keys.ts';
import { parseSince, parseTimeSpan, wholeNumber } from './option-values.ts';

const now = Date.UTC(2026, 2, 10, 12);
const HOUR_MS = 3_600_000;

describe('parseSince', () => {
  it.each([
    ['30m', HOUR_MS / 2],
    ['12h', 12 * HOUR_MS],
    ['7d', 7 * 24 * HOUR_MS],
    ['2w', 14 * 24 * HOUR_MS],
  ])('reads %s as a duration before now', (text, agoMs) => expect(parseSince(text, now)).toBe(now - agoMs));

  it('reads a date as local midnight, and a time with a zone as that moment', () => {
    expect(parseSince('2026-03-01', now)).toBe(new Date(2026, 2, 1).getTime());
    expect(parseSince('2026-03-01T12:00Z', now)).toBe(Date.UTC(2026, 2, 1, 12));
  });

  it.each([
    '',
    '7',
    'd',
    '7y',
    '-7d',
    '1.5d',
    '2026-13-01',
    '2026-02-30x',
    '2026-02-30',
    '2026-03-01T24:00',
    'yesterday',
    '99999999d',
  ])('refuses %j', (text) => {
    expect(() => parseSince(text, now)).toThrow('Must be a date');
  });
});

describe('wholeNumber', () => {
  it('accepts whole numbers within its bounds, and nothing else', () => {
    const parse = wholeNumber(1, 16);
    expect([parse('1'), parse('16')]).toEqual([1, 16]);
    for (const text of ['0', '17', '', '1.5', '1e1', '-1', '0x4', ' 4', 'four'])
      expect(() => parse(text)).toThrow('1 to 16');
  });
});

describe('parseScopes', () => {
  it('accepts known scopes, each once', () => {
    expect(parseScopes('ingest, read,ingest')).toEqual(['ingest', 'read']);
    for (const text of ['', 'write', 'read,', 'READ'])
      expect(() => parseScopes(text)).toThrow('Give some of ingest,read,');
  });
});

describe('parseTimeSpan', () => {
  it.each([
    ['0m', 0],
    ['90m', 5_400_000],
    ['12h', 43_200_000],
    ['7d', 604_800_000],
    ['2w', 1_209_600_000],
  ])('reads %s', (text, spanMs) => {
    expect(parseTimeSpan(text)).toBe(spanMs);
  });

  it.each(['', '5', 'm', '-1m', '1.5h', '1y', '2026-03-01'])('refuses %j', (text) => {
    expect(() => parseTimeSpan(text)).toThrow('Must be a time span');
  });
});
