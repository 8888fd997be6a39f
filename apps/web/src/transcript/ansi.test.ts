import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseAnsi } from './ansi.ts';

const ESC = '\u001b';

it('turns colours and styles into classes, until they end', () => {
  expect(parseAnsi(`a${ESC}[1;31mb${ESC}[22mc${ESC}[0md`)).toEqual([
    { text: 'a', classes: '' },
    { text: 'b', classes: 'ansi-bold ansi-c1' },
    { text: 'c', classes: 'ansi-c1' },
    { text: 'd', classes: '' },
  ]);
  expect(parseAnsi(`${ESC}[38;5;196mx${ESC}[48;2;0;0;255my`)).toEqual([
    { text: 'x', classes: 'ansi-c1' },
    { text: 'y', classes: 'ansi-c1 ansi-on-c4' },
  ]);
});

it('drops links, titles and cursor movements', () => {
  const link = `${ESC}]8;;javascript:alert(1)${ESC}\\text${ESC}]8;;${ESC}\\`;
  expect(
    parseAnsi(`${link}${ESC}]0;title\u0007${ESC}[2J${ESC}[10;5Hend`)
      .map(({ text }) => text)
      .join(''),
  ).toBe('textend');
});

it('loses no character that is not part of an escape sequence', () => {
  const part = fc.oneof(fc.string(), fc.constantFrom(`${ESC}[31m`, `${ESC}[`, ESC, '\n', `${ESC}[38;5;`));
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const text = parts.join('');
      const plain = parseAnsi(text)
        .map((piece) => piece.text)
        .join('');
      expect(plain.length).toBeLessThanOrEqual(text.length);
      if (!text.includes(ESC)) expect(plain).toBe(text);
    }),
  );
});
