import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeLine } from './decode-line.ts';

describe('decodeLine', () => {
  it('decodes UTF-8 and counts nothing, a genuine U+FFFD included', () => {
    const text = 'a é 日 🎉 \uFFFD \uFEFF \0';
    expect(decodeLine(Buffer.from(text))).toMatchObject({ text, invalidSequenceCount: 0 });
    expect(decodeLine(Buffer.alloc(0))).toMatchObject({ text: '', invalidSequenceCount: 0 });
  });

  it('replaces and counts invalid sequences, each once', () => {
    const bytes = Buffer.concat([Buffer.from('a\uFFFD'), Buffer.from([0xc3, 0x28, 0xff, 0xf0, 0x9f, 0x8e])]);
    expect(decodeLine(bytes)).toMatchObject({ text: 'a\uFFFD\uFFFD(\uFFFD\uFFFD', invalidSequenceCount: 3 });
  });

  it('replaces surrogates that were encoded one by one, as some writers do', () => {
    const { text, invalidSequenceCount } = decodeLine(Buffer.from([0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]));
    expect(text.isWellFormed()).toBe(true);
    expect(invalidSequenceCount).toBe(text.length);
  });

  it('gives the text of a TextDecoder, and counts exactly where that had to replace', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const { text, invalidSequenceCount } = decodeLine(Buffer.from(bytes));
        expect(text).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
        expect(invalidSequenceCount > 0).toBe(!Buffer.from(text).equals(bytes));
      }),
    );
  });
});

it('says whether a line is ASCII and whether it has a Unicode escape', () => {
  const flagsOf = (text: string) => {
    const { isAscii, hasUnicodeEscape } = decodeLine(Buffer.from(text));
    return [isAscii, hasUnicodeEscape];
  };
  expect(flagsOf(String.raw`{"a":"\n\t u"}`)).toEqual([true, false]);
  expect(flagsOf(String.raw`{"a":"\u0000"}`)).toEqual([true, true]);
  expect(flagsOf('{"a":"é"}')).toEqual([false, false]);
  expect(flagsOf(String.raw`{"a":"é\u0000"}`)).toEqual([false, true]);
});
