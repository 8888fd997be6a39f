import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSearchQuery } from './parse-search-query.ts';
import { type SnippetPart, toSubstringSnippet, toWordSnippet } from './search-snippet.ts';

const show = (parts: readonly SnippetPart[]): string =>
  parts.map(({ text, is_match }) => (is_match ? `[${text}]` : text)).join('');

function snippet(text: string, query: string): string {
  const parsed = parseSearchQuery(query);
  if (typeof parsed === 'string') throw new Error(parsed);
  return show(toWordSnippet(text, parsed));
}

describe('toWordSnippet', () => {
  it.each([
    ['The cat sat.', 'cat', 'The [cat] sat.'],
    ['cat_dog catDog', 'cat', '[cat]_dog [catDog]'],
    ['not found, not lost', '"not found" -lost', '[not found], not lost'],
    ['a b a b c', '"a b c"', 'a b [a b c]'],
    ['authentication', 'auth*', '[authentication]'],
    ['大東京都', '東京', '大[東京]都'],
    ['GRÖSSE und Größe', 'größe', '[GRÖSSE] und [Größe]'],
    ['<b>&amp;</b>', 'amp', '<b>&[amp];</b>'],
    ['a b c', 'a "b c" "a b"', '[a][ b][ c]'],
  ])('makes of %j for %j the snippet %j', (text, query, expected) => {
    expect(snippet(text, query)).toBe(expected);
  });

  it('shows where most of the words are', () => {
    const text = `${'cat '.repeat(200)}${'bird '.repeat(100)}a cat and a dog${' bird'.repeat(100)}`;
    const shown = snippet(text, 'cat dog');
    expect(shown).toMatch(/^…(\[cat\] )*.*\[cat\] and a \[dog\] bird.*…$/);
    expect(shown.replace(/[[\]…]/g, '').length).toBeLessThanOrEqual(280);
  });
});

describe('toSubstringSnippet', () => {
  it('finds substrings in any case', () => {
    expect(show(toSubstringSnippet('Größe GRÖßE', 'röß'))).toBe('G[röß]e G[RÖß]E');
    expect(show(toSubstringSnippet('İ ABC', 'abc'))).toBe('İ [ABC]');
    expect(show(toSubstringSnippet('nothing', 'else'))).toBe('nothing');
  });

  it('changes nothing except where it cuts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 1000 }), fc.nat(), fc.nat(400), (text, a, length) => {
        const start = a % (text.length + 1);
        const part = text.slice(start, start + length);
        fc.pre(part !== '' && part.isWellFormed());
        const parts = toSubstringSnippet(text, part);
        const whole = parts.map(({ text: piece }) => piece).join('');
        expect(whole.isWellFormed()).toBe(true);
        expect(text).toContain(whole.replace(/^…/, '').replace(/…$/, ''));
        expect(parts.some(({ is_match }) => is_match)).toBe(true);
      }),
    );
  });
});
