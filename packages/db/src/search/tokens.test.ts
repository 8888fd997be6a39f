import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toGrams, toWords } from './search-words.ts';
import { readTokens, TOKEN_COUNT, type TokenRange, toPrefixRanges, toSubstringRanges, toWordRanges } from './tokens.ts';

const toTokens = (text: string): Set<number> => {
  const { tokens } = readTokens(text);
  const unique = new Set(tokens);
  expect(unique.size).toBe(tokens.length);
  for (const token of tokens) expect(token).toBeLessThan(TOKEN_COUNT);
  return unique;
};

const has = (tokens: ReadonlySet<number>, ranges: readonly TokenRange[]): boolean =>
  ranges.length > 0 &&
  ranges.every(({ from, to }) => {
    for (let token = from; token <= to; token++) if (tokens.has(token)) return true;
    return false;
  });

const NAMES = [
  'getUserName',
  'XMLHttpRequest',
  'a1B',
  'FooFoo',
  'İstanbul',
  'straßeName',
  'ﬁne',
  '𐐨𐐩𐐪',
  '東京',
  'e\u0301t',
  '𠀀',
];
const words = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
  fc.stringMatching(/^[a-zA-Z0-9]{1,80}$/),
);
const texts = fc
  .array(fc.oneof(words, fc.string({ unit: 'binary', maxLength: 10 })), { maxLength: 12 })
  .map((parts) => parts.join(' '));

describe('the tokens of any text', () => {
  it('contain the tokens of each of its words, its parts, and their beginnings', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const tokens = toTokens(text);
        for (const lexeme of toWords(text).flatMap(({ lexemes }) => lexemes)) {
          if (lexeme === '') continue;
          expect(has(tokens, toWordRanges(lexeme))).toBe(true);
          for (let length = 1; length <= lexeme.length; length++)
            expect(has(tokens, toPrefixRanges(lexeme.slice(0, length)))).toBe(true);
        }
      }),
    );
  });

  it('contain the tokens of each substring', () => {
    fc.assert(
      fc.property(texts, fc.nat(), fc.nat(), (text, a, b) => {
        const [start, end] = [a % (text.length + 1), b % (text.length + 1)].sort((x, y) => x - y);
        const part = text.slice(start, end);
        const tokens = toTokens(text);
        if (toGrams(part).length > 0) expect(has(tokens, toSubstringRanges(part))).toBe(true);
        for (const gram of toGrams(text)) expect(tokens).toContain(gram);
      }),
    );
  });

  it('are few more than needed, and counted as its words and their parts', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-zA-Z0-9]{1,70}$/)), (parts) => {
        const text = parts.join(' ');
        const lexemes = toWords(text).flatMap((word) => word.lexemes);
        const expected = new Set(toGrams(text));
        for (const lexeme of lexemes) {
          const [word] = toWordRanges(lexeme);
          const [beginning] = toPrefixRanges(lexeme.slice(0, 2));
          if (word !== undefined) expected.add(word.from);
          if (beginning !== undefined) expected.add(lexeme.length === 1 ? beginning.to : beginning.from);
        }
        expect([...toTokens(text)].sort()).toEqual([...expected].sort());
      }),
    );
    expect(readTokens('getUserName of it').length).toBe(6);
    expect(readTokens('東京 a 👍 größe').length).toBe(4);
  });
});

it('tell words apart', () => {
  const tokens = toTokens('the parser of getUserName reads');
  for (const word of ['user', 'getusername', 'of', 'reads']) expect(has(tokens, toWordRanges(word))).toBe(true);
  for (const word of ['users', 'read', 'o', 'pars']) expect(has(tokens, toWordRanges(word))).toBe(false);
  for (const prefix of ['u', 'us', 'pars', 't']) expect(has(tokens, toPrefixRanges(prefix))).toBe(true);
  for (const prefix of ['x', 'ra', 'parx']) expect(has(tokens, toPrefixRanges(prefix))).toBe(false);
});
