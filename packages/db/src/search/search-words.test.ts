import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldCase, GRAM_COUNT, MAX_LEXEME_LENGTH, toGrams, toWords } from './search-words.ts';

describe('search words', () => {
  const toLexemes = (text: string): string => Array.from(toWords(text), ({ lexemes }) => lexemes.join('|')).join(' ');

  describe('toWords', () => {
    it.each([
      ['Hello, World!', 'hello world'],
      ['snake_case --dry-run a.b', 'snake case dry run a b'],
      ['/usr/local/bin/node.js', 'usr local bin node js'],
      ['https://example.com/a?b=c', 'https example com a b c'],
      ['<div class="x">', 'div class x'],
      ['getUserName XMLHttpRequest sha256', 'getusername|get|user|name xmlhttprequest|xml|http|request sha256'],
      ['iPhone', 'iphone|phone'],
      ['Größe GRÖSSE', 'grösse grösse'],
      ['ｆｕｌｌ ﬁne', 'full fine'],
      ['ΟΔΟΣ οδός', 'οδοσ οδόσ'],
      ['e\u0301te\u0301 été', 'été été'],
      ['東京都に行く', '東 京 都 に 行 く'],
      ['Vitestで', 'vitest で'],
      ['데이터', '데 이 터'],
      ['ไทย', 'ไ ท ย'],
      ['👍 => {} ...', ''],
      ['', ''],
    ])('makes of %j the words %j', (text, lexemes) => {
      expect(toLexemes(text)).toBe(lexemes);
    });

    it('recognise long words by their beginning', () => {
      expect(toLexemes('A'.repeat(100))).toBe('a'.repeat(MAX_LEXEME_LENGTH));
      expect(toLexemes('Ö'.repeat(100))).toBe('ö'.repeat(MAX_LEXEME_LENGTH));
    });

    it('give their places in any text, and are letters and digits only', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
          let end = 0;
          for (const word of toWords(text)) {
            expect(word.start).toBeGreaterThanOrEqual(end);
            expect(word.end).toBeGreaterThan(word.start);
            end = word.end;
            const part = text.slice(word.start, word.end);
            expect(Array.from(toWords(part), ({ lexemes }) => lexemes)).toEqual([word.lexemes]);
            for (const lexeme of word.lexemes) expect(lexeme).toMatch(/^[\p{L}\p{M}\p{N}]*$/u);
          }
          expect(end).toBeLessThanOrEqual(text.length);
        }),
      );
    });
  });
});

describe('search grams', () => {
  describe('toGrams', () => {
    it('consist of consecutive letters and digits, in any case', () => {
      expect(toGrams('ab cd e.f => {}')).toHaveLength(0);
      expect(toGrams('abc')).toHaveLength(1);
      expect(toGrams('ABC')).toEqual(toGrams('abc'));
      expect(toGrams('GRÖẞE')).toEqual(toGrams('größe'));
      expect(toGrams('abcd xabcx')).toHaveLength(4);
      expect(toGrams('東京都')).toHaveLength(1);
      expect(toGrams('zzz')).not.toEqual(toGrams('000'));
    });

    it('makes the same grams of ASCII as among other letters', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary-ascii', maxLength: 60 }), (text) => {
          expect(toGrams(`${text} é`)).toEqual(toGrams(text));
        }),
      );
    });

    it('makes grams of a substring that are among the whole’s', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.nat(), fc.nat(), (text, a, b) => {
          const [start, end] = [a % (text.length + 1), b % (text.length + 1)].sort((x, y) => x - y);
          const grams = new Set(toGrams(text));
          for (const gram of toGrams(text.slice(start, end))) expect(grams).toContain(gram);
          for (const gram of grams) expect(gram).toBeLessThan(GRAM_COUNT);
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
});
