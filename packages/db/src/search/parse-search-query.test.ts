import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_QUERY_WORDS, parseSearchQuery, parseSearchTarget, toTsquery } from './parse-search-query.ts';

const toText = (query: string): string => {
  const parsed = parseSearchQuery(query);
  return typeof parsed === 'string' ? parsed : toTsquery(parsed);
};

describe('parseSearchQuery', () => {
  it.each([
    ['git commit', "(('git') & ('commit'))"],
    ['"git commit"', "(('git' <-> 'commit'))"],
    ['"git commit', "(('git' <-> 'commit'))"],
    ['git -commit -"a b"', "(('git') & !('commit') & !('a' <-> 'b'))"],
    ['cat or dog bird OR "or"', "(('cat')) | (('dog') & ('bird')) | (('or'))"],
    ['or cat or or', "(('cat'))"],
    ['package.json', "(('package' <-> 'json'))"],
    ['snake_case camelCase', "(('snake' <-> 'case') & ('camelcase'))"],
    ['auth* src/ind*', "(('auth':*) & ('src' <-> 'ind':*))"],
    ['"auth*"', "(('auth'))"],
    ['--force a-b - a', "(('force') & ('a' <-> 'b') & ('a'))"],
    ['東京', "(('東' <-> '京'))"],
    [`it's \\ 'x' & ! | () :* <->`, "(('it' <-> 's') & ('x'))"],
    ['-cat', 'no-words'],
    ['cat or -dog', 'no-words'],
    ['=> {} 👍', 'no-words'],
    ['', 'no-words'],
    ['"" -"" *', 'no-words'],
    ['a '.repeat(MAX_QUERY_WORDS + 1), 'too-many-words'],
  ])('reads %j', (query, tsquery) => {
    expect(toText(query)).toBe(tsquery);
  });

  it('accepts any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1000 }), (query) => {
        expect(toText(query)).toMatch(/^(no-words|too-many-words|\(.*\))$/s);
      }),
    );
  });
});

it('a substring needs three letters or digits in a row', () => {
  expect(parseSearchTarget('substring', 'a.b => {}')).toBe('too-short');
  expect(parseSearchTarget('substring', ' abc%')).toEqual({ mode: 'substring', part: ' abc%' });
});
