import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locateUnescaped, unescapeJson } from './unescaped-json.ts';

describe('unescapeJson', () => {
  it.each([
    ['{"a":"b"}', '{"a":"b"}'],
    [String.raw`a\nb\tc`, 'a\nb\nc'],
    [String.raw`a\\nb`, 'a\nb'],
    [String.raw`https:\/\/x \"y\" \\\"z`, 'https://x "y" "z'],
    [String.raw`\u0041\u00e9\\u0042`, 'AéB'],
    [String.raw`\uZZ \ `, 'uZZ  '],
    [String.raw`a\u005cnb`, 'anb'],
    ['\\', ''],
    ['', ''],
  ])('reads %j', (json, text) => {
    expect(unescapeJson(json)).toBe(text);
  });

  it('knows where each character was', () => {
    const json = String.raw`ab\ncd\u0041\"e`;
    const text = unescapeJson(json);
    const { toStart, toEnd } = locateUnescaped(json);
    const places = [...text].map((_, index) => json.slice(toStart(index), toEnd(index + 1)));
    expect(places).toEqual(['a', 'b', String.raw`\n`, 'c', 'd', String.raw`\u0041`, '"', 'e']);
  });

  it('finds a word wherever it stands, and whatever surrounds it', () => {
    const around = fc.string({ unit: fc.constantFrom('\\', '"', 'n', 'u', '0', ' ', '\n', 'é') });
    fc.assert(
      fc.property(around, around, (before, after) => {
        const json = `${before}:SECRET:${after}`;
        const text = unescapeJson(json);
        const { toStart, toEnd } = locateUnescaped(json);
        const start = text.indexOf('SECRET');
        expect(json.slice(toStart(start), toEnd(start + 6))).toBe('SECRET');
      }),
    );
  });
});
