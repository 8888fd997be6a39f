import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toJsonText } from './column-types.ts';

it.each([
  ['a\ud800b', '"a\uFFFDb"'],
  ['\udc00', '"\uFFFD"'],
  ['\u{1f600}', '"\u{1f600}"'],
  ['written out: \\ud800', '"written out: \\\\ud800"'],
])('replaces lone surrogates by U+FFFD, and nothing else', (text, json) => {
  expect(toJsonText(text)).toBe(json);
});

it('stores the well-formed texts of any value', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\\', 'u', 'd8', '\ud83d', '\ude00', '"', '\u0000') });
  fc.assert(
    fc.property(fc.array(fc.record({ text, number: fc.integer(), list: fc.array(text) })), (rows) => {
      const wellFormed = rows.map((row) => ({
        ...row,
        text: row.text.toWellFormed(),
        list: row.list.map((item) => item.toWellFormed()),
      }));
      expect(JSON.parse(toJsonText(rows))).toEqual(wellFormed);
    }),
  );
});
