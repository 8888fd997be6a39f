import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { cutStartToWidth, cutToWidth, toSingleLine, toTextWidth, wrapHelp, wrapToWidth } from './text-width.ts';

describe('toTextWidth', () => {
  it.each([
    ['', 0],
    ['recount', 7],
    ['naïve', 5],
    ['e\u0301', 1],
    ['日本語', 6],
    ['한글', 4],
    ['👍', 2],
    ['👩‍💻', 2],
    ['❤️', 2],
    ['└ …', 3],
    ['\u200B', 0],
  ])('%j takes %d columns', (text, width) => expect(toTextWidth(text)).toBe(width));

  it('equals string-width, also for what needs no tables', () => {
    const texts = Array.from({ length: 0x3000 }, (_, code) => `a${String.fromCodePoint(code)}b`);
    expect(texts.filter((text) => toTextWidth(text) !== stringWidth(text))).toEqual([]);
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => toTextWidth(text) === stringWidth(text)));
  });
});

describe('cutToWidth', () => {
  it.each([
    ['recount', 7, 'recount'],
    ['recount', 6, 'recou…'],
    ['two words', 5, 'two…'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['👩‍💻👩‍💻', 3, '👩‍💻…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
  ])('%j to %d columns is %j', (text, width, expected) => {
    expect(cutToWidth(text, width)).toBe(expected);
    expect(toTextWidth(cutToWidth(text, width))).toBeLessThanOrEqual(width);
  });
});

describe('toSingleLine', () => {
  it('removes everything that could control a terminal', () => {
    expect(toSingleLine(' a\n\tb \u001B[31mred\u001B[0m\u0007\u202Ec\u0000 \r')).toBe('a b [31mred[0mc');
  });
});

describe('cutStartToWidth', () => {
  it('keeps the end', () => {
    expect(cutStartToWidth('/home/ada/app/src/clock.ts', 12)).toBe('…rc/clock.ts');
    expect(cutStartToWidth('clock.ts', 8)).toBe('clock.ts');
    expect(cutStartToWidth('時計/時計.ts', 8)).toBe('…時計.ts');
    expect(cutStartToWidth('clock.ts', 0)).toBe('');
  });
});

describe('wrapToWidth', () => {
  it('breaks between words, never within one', () => {
    expect(wrapToWidth('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrapToWidth('a verylongword b', 5)).toEqual(['a', 'verylongword', 'b']);
    expect(wrapToWidth('', 5)).toEqual(['']);
  });
});

describe('wrapHelp', () => {
  const text = [
    'Reads the transcripts that agents keep on this machine, or those below',
    'the paths. Only reads.',
    'Scopes:',
    '  ingest    upload',
    '  team      see, of people besides its owner, only',
    '            names in the teams that its owner leads',
    '',
    'Examples:',
    '  $ recount usage --from 7d --by day,model,agent,project',
    '  $ recount keys create --name ci     # for the builds of the whole team',
  ];

  it('breaks paragraphs between words, keeps terms beside their explanations, and leaves commands whole', () => {
    expect(wrapHelp(text.join('\n'), 40).split('\n')).toEqual([
      'Reads the transcripts that agents keep',
      'on this machine, or those below the',
      'paths. Only reads.',
      'Scopes:',
      '  ingest    upload',
      '  team      see, of people besides its',
      '            owner, only names in the',
      '            teams that its owner leads',
      ...text.slice(6),
    ]);
  });

  it('joins what was broken for a narrower width', () => {
    const narrow = wrapHelp(text.join('\n'), 40);
    expect(wrapHelp(narrow, 120)).toBe(wrapHelp(text.join('\n'), 120));
  });
});
