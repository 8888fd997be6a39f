import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldCase, toGrams } from './search-grams.ts';

describe('toGrams', () => {
  it('are of letters and digits in a row, in any case', () => {
    expect(toGrams('ab cd e.f => {}')).toEqual([]);
    expect(toGrams('abc')).toHaveLength(1);
    expect(toGrams('ABC')).toEqual(toGrams('abc'));
    expect(toGrams('GRÖẞE')).toEqual(toGrams('größe'));
    expect(toGrams('abcd xabcx')).toHaveLength(4);
    expect(toGrams('東京都')).toHaveLength(1);
    expect(toGrams('zzz')).not.toEqual(toGrams('000'));
  });

  it('of a part are among those of the whole', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.nat(), fc.nat(), (text, a, b) => {
        const [start, end] = [a % (text.length + 1), b % (text.length + 1)].sort((x, y) => x - y);
        const grams = new Set(toGrams(text));
        for (const gram of toGrams(text.slice(start, end))) expect(grams).toContain(gram);
        for (const gram of grams) expect(Math.abs(gram)).toBeLessThanOrEqual(32_768);
      }),
    );
  });
});

it('foldCase keeps every character in its place', () => {
  expect(foldCase('ABCİΣς')).toBe('abcİσσ');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(foldCase(text)).toHaveLength(text.length);
    }),
  );
});
