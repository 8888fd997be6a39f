import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toPieces } from '../testing/chunked-inputs.ts';
import { createLineSplitter } from './line-splitter.ts';

interface SeenLine {
  lineNumber: number;
  byteOffset: number;
  byteLength: number;
  text: string | undefined;
  terminated: boolean;
}

function split(chunks: Iterable<Uint8Array>, maxLineBytes = 1000) {
  const lines: SeenLine[] = [];
  const splitter = createLineSplitter(maxLineBytes, ({ bytes, ...line }) =>
    lines.push({ ...line, text: bytes?.toString('latin1') }),
  );
  for (const chunk of chunks) splitter.push(chunk);
  splitter.finish();
  return { lines, lineCount: splitter.lineCount, byteCount: splitter.byteCount };
}

const texts = (chunks: Iterable<Uint8Array>, maxLineBytes?: number) =>
  split(chunks, maxLineBytes).lines.map((line) => line.text);

describe('createLineSplitter', () => {
  it('numbers lines from 1, gives offsets in bytes, keeps empty lines and carriage returns', () => {
    expect(split([Buffer.from('é\n\nb\r\n')])).toEqual({
      lines: [
        { lineNumber: 1, byteOffset: 0, byteLength: 2, text: 'Ã©', terminated: true },
        { lineNumber: 2, byteOffset: 3, byteLength: 0, text: '', terminated: true },
        { lineNumber: 3, byteOffset: 4, byteLength: 2, text: 'b\r', terminated: true },
      ],
      lineCount: 3,
      byteCount: 7,
    });
  });

  it('emits an unterminated last line, and none after a final line feed', () => {
    expect(split([Buffer.from('a\nbc')]).lines.at(-1)).toMatchObject({ text: 'bc', terminated: false, byteOffset: 2 });
    expect(texts([Buffer.from('a\n')])).toEqual(['a']);
    expect(split([])).toEqual({ lines: [], lineCount: 0, byteCount: 0 });
  });

  it('splits at line feeds alone', () => {
    expect(texts([Buffer.from('a\rb\u2028c\u0085\v\f\0')])).toHaveLength(1);
  });

  it('accepts a line of exactly the limit, whole or in pieces, and skips one byte more', () => {
    for (const size of [1, 3, 100]) {
      const input = Buffer.from('12345\n123456\n12345');
      const { lines, lineCount, byteCount } = split(toPieces(input, size), 5);
      expect(lines.map((line) => line.text)).toEqual(['12345', undefined, '12345']);
      expect(lines[1]).toMatchObject({ byteOffset: 6, byteLength: 6 });
      expect(lines[2]).toMatchObject({ byteOffset: 13, terminated: false });
      expect([lineCount, byteCount]).toEqual([3, input.length]);
    }
  });

  it('reports a last line that is too long', () => {
    expect(split([Buffer.from('123'), Buffer.from('456')], 5).lines).toEqual([
      { lineNumber: 1, byteOffset: 0, byteLength: 6, text: undefined, terminated: false },
    ]);
  });

  it('counts the bytes of an unfinished line', () => {
    const splitter = createLineSplitter(5, () => undefined);
    splitter.push(Buffer.from('a\n1234567'));
    expect([splitter.lineCount, splitter.byteCount]).toEqual([1, 9]);
  });

  it('reads the bytes of a view at an offset into its buffer', () => {
    expect(texts([new Uint8Array(Buffer.from('xxab\nyy').buffer.slice(0)).subarray(0, 0)])).toEqual([]);
    const whole = new Uint8Array([120, 97, 10, 98, 10, 120]);
    expect(texts([whole.subarray(1, 5)])).toEqual(['a', 'b']);
  });

  it('takes time linear in the length of a line, also in single bytes', () => {
    const lengths: number[] = [];
    const splitter = createLineSplitter(5_000_000, ({ bytes }) => lengths.push(bytes?.length ?? -1));
    const byte = Buffer.from('x');
    for (let index = 0; index < 5_000_000; index++) splitter.push(byte);
    splitter.push(Buffer.from('\nx\n'));
    expect(lengths).toEqual([5_000_000, 1]);
  });

  it('yields the same lines however the bytes are split, and they add up to the input', () => {
    const bytes = fc.array(fc.constantFrom(0x0a, 0x0d, 0x61, 0x00, 0xff), { maxLength: 60 });
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 8 }), (values, size, max) => {
        const input = Buffer.from(values);
        const whole = split([input], max);
        expect(split(toPieces(input, size), max)).toEqual(whole);
        const expected = input.toString('latin1').split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect(whole.lines.map((line) => line.text)).toEqual(
          expected.map((text) => (text.length > max ? undefined : text)),
        );
        expect(whole.byteCount).toBe(input.length);
      }),
    );
  });
});
