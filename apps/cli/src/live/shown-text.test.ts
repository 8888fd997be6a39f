import { describe, expect, it } from 'vitest';
import { toFirstLine, toShownOutput, toShownText } from './shown-text.ts';

describe('toShownText', () => {
  it.each([
    ['plain', 'plain'],
    ['two\nlines', 'two lines'],
    ['\u001B[31mred\u001B[0m', 'red'],
    ['\u001B]0;title\u0007text', 'text'],
    ['\u009B2Jcleared', 'cleared'],
    ['gnp.\u202Eexe', 'gnp.exe'],
    ['👩‍👩‍👧 größer', '👩‍👩‍👧 größer'],
    ['torn \uD83D', 'torn \uFFFD'],
    ['', ''],
  ])('%j: %j', (text, shown) => {
    expect(toShownText(text, 80)).toBe(shown);
  });

  it('removes everything that a terminal would execute, however it is assembled', () => {
    const parts = [
      '\u001B',
      '\u001B[',
      '\u009B',
      '\u0007',
      '\u001B]8;;',
      '31m',
      'a',
      '\r',
      '\u202E',
      '👩‍👩‍👧',
      '\uD83D',
    ];
    const texts = parts.flatMap((a) => parts.flatMap((b) => parts.flatMap((c) => [a + b + c, a + b + c + b + a])));
    expect(texts.length).toBeGreaterThan(2000);
    const shown = texts.flatMap((text) => [toShownText(text, 80), toShownOutput(text, 80)]);
    expect(shown.filter((text) => /\p{Cc}|\u202E/u.test(text) || !text.isWellFormed())).toEqual([]);
  });
});

it('puts an output on one line, and shows the first line of a text', () => {
  expect(toShownOutput('  a\n\n\tb  c\n', 80)).toBe('a b c');
  expect(toFirstLine('\n \n first \r\nsecond')).toBe('first ');
  expect(toFirstLine('\u001B[2J\nfirst')).toBe('first');
  expect(toFirstLine('')).toBe('');
});
