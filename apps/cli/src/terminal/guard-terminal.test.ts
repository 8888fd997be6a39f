import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCapture } from '../testing/fake-context.ts';
import { toTerminalText } from './guard-terminal.ts';

/** Everything that can control a terminal, except line feed and tab. */
const STEERING = /[^\P{Cc}\n\t]|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;

/** Texts full of characters that terminals act on. */
const hostileText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u001B[2J', '\u001B]0;title\u0007', '\u009B31m', '\u009D', '\u007F', '\r', '\r\n', '\n', '\t'),
      fc.constantFrom('\u202E', '\u2066', '\u200F', '\u061C', '\uD83D', '\uDE00', '👩‍👩‍👧', 'plain'),
    ),
  )
  .map((parts) => parts.join(''));

describe('a terminal', () => {
  it('receives no control sequences, whatever texts and bytes are written', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(hostileText, fc.nat({ max: 20 }))), (writes) => {
        const { stream, text } = createCapture(80);
        for (const [written, cutAt] of writes) {
          const bytes = Buffer.from(written);
          stream.write(written);
          stream.write(bytes.subarray(0, cutAt));
          stream.write(bytes.subarray(cutAt));
          stream.write(Buffer.from(written, 'latin1'));
        }
        expect(text()).not.toMatch(STEERING);
      }),
    );
  });

  it('shows JSON with the same meaning', () => {
    fc.assert(
      fc.property(fc.array(hostileText), (values) => {
        const shown = toTerminalText(JSON.stringify(values));
        expect(shown).not.toMatch(STEERING);
        expect(JSON.parse(shown)).toEqual(values);
      }),
    );
  });

  it('shows text in other scripts unchanged, however its bytes are split', () => {
    const written = 'größer 日本語 👩‍👩‍👧 עברית\tend\n';
    const { stream, text } = createCapture(80);
    for (const byte of Buffer.from(written)) stream.write(Buffer.of(byte));
    expect(text()).toBe(written);
  });

  it('shows the line ends of CSV as such, and escapes any other carriage return', () => {
    const { stream, text } = createCapture(80);
    for (const part of ['a,b\r', '\nc,', 'd\r\n', 'over\rwritten\r\r\n']) stream.write(Buffer.from(part));
    expect(text()).toBe('a,b\nc,d\nover\\u000dwritten\\u000d\n');
  });

  it('keeps styles on request, and nothing else', () => {
    const { stream, text } = createCapture(80);
    stream.writeStyled('\u001B[1;33mbold\u001B[0m \u001B[2Jcleared \u001B]0;title\u0007\n');
    stream.writeUnguarded('\r\u001B[2K');
    expect(text()).toBe('\u001B[1;33mbold\u001B[0m \\u001b[2Jcleared \\u001b]0;title\\u0007\n\r\u001B[2K');
  });

  it('works as the target of a pipeline, and reports when it has written', async () => {
    const { stream, text } = createCapture(80);
    await new Promise((resolve) => stream.write('\u009B', 'utf8', resolve));
    await sleep(0);
    expect(text()).toBe('\\u009b');
  });
});

it('leaves output unchanged if it is not a terminal', () => {
  fc.assert(
    fc.property(hostileText, (written) => {
      const { stream, text } = createCapture();
      stream.write(written);
      stream.writeStyled(written);
      expect(text()).toBe(written.toWellFormed().repeat(2));
    }),
  );
});
