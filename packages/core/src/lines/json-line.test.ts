import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nestedArrays } from '../testing/transcript-lines.ts';
import type { JsonValue } from './json.ts';
import { decodeLine, maySmuggleCharacters, parseJsonLine, toStorableJson, toStorableText } from './json-line.ts';

describe('storable characters', () => {
  /** Any UTF-16 units, including lone surrogates and NUL. */
  const anyText = fc
    .array(fc.oneof(fc.constantFrom(0, 0xd83d, 0xde00, 0x61), fc.integer({ min: 0, max: 0xffff })), { maxLength: 20 })
    .map((units) => String.fromCharCode(...units));

  const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0');

  describe('toStorableText', () => {
    it('replaces each NUL and each lone surrogate', () => {
      expect(toStorableText('a\0b\0')).toEqual({ text: 'a\uFFFDb\uFFFD', replacedCount: 2 });
      expect(toStorableText('\ud83d')).toEqual({ text: '\uFFFD', replacedCount: 1 });
      expect(toStorableText('\ude00\ud83d')).toEqual({ text: '\uFFFD\uFFFD', replacedCount: 2 });
      expect(toStorableText('\ud83d\ud83d\ude00\ude00')).toEqual({ text: '\uFFFD😀\uFFFD', replacedCount: 2 });
    });

    it('leaves everything else, including other control characters', () => {
      const text = '\u0001\u001b[0m 😀 \uFFFD \uFFFE \u{10FFFF}';
      expect(toStorableText(text)).toEqual({ text, replacedCount: 0 });
    });

    it('keeps the length, as String.toWellFormed does', () => {
      fc.assert(
        fc.property(anyText, (text) => {
          const result = toStorableText(text);
          expect(result.text).toBe(text.toWellFormed().replaceAll('\0', '\uFFFD'));
          const changed = [...result.text].filter((character) => character === '\uFFFD').length;
          const before = [...text].filter((character) => character === '\uFFFD').length;
          expect(result.replacedCount).toBe(changed - before);
        }),
      );
    });
  });

  describe('toStorableJson', () => {
    it('cleans strings and keys at any depth', () => {
      const value: JsonValue = { 'k\0': ['a\0', { b: '\ud800' }], ok: 1 };
      expect(toStorableJson(value)).toEqual({
        value: { 'k\uFFFD': ['a\uFFFD', { b: '\uFFFD' }], ok: 1 },
        replacedCount: 3,
      });
      expect(toStorableJson('\0')).toEqual({ value: '\uFFFD', replacedCount: 1 });
      for (const scalar of [null, 1, true]) expect(toStorableJson(scalar)).toEqual({ value: scalar, replacedCount: 0 });
    });

    it('leaves prototypes alone', () => {
      const { value, replacedCount } = toStorableJson(
        JSON.parse('{"__proto__":{"polluted":"\\u0000"},"constructor":"\\u0000"}') as JsonValue,
      );
      expect(replacedCount).toBe(2);
      expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":"\uFFFD"},"constructor":"\uFFFD"}');
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    });

    it('handles 100,000 levels', () => {
      const value = JSON.parse(`[${nestedArrays(100_000)},"\\u0000"]`) as JsonValue;
      expect(toStorableJson(value).replacedCount).toBe(1);
    });

    it('leaves nothing behind in any JSON value with maySmuggleCharacters true', () => {
      const anyJson = fc.letrec<{ value: JsonValue }>((tie) => ({
        value: fc.oneof(
          { maxDepth: 3 },
          anyText,
          fc.integer(),
          fc.array(tie('value'), { maxLength: 4 }),
          fc.dictionary(anyText, tie('value'), { maxKeys: 4 }),
        ),
      })).value;
      fc.assert(
        fc.property(anyJson, (original) => {
          const json = JSON.stringify(original);
          const { value, replacedCount } = toStorableJson(JSON.parse(json) as JsonValue);
          expect(isStorable(JSON.stringify(value))).toBe(true);
          expect(JSON.stringify(value)).not.toMatch(/\\u(0000|d[89a-f])/i);
          if (replacedCount > 0) expect(maySmuggleCharacters(json)).toBe(true);
          else expect(value).toEqual(JSON.parse(json));
        }),
      );
    });
  });

  describe('maySmuggleCharacters', () => {
    it('recognises the escapes in every spelling', () => {
      for (const spelling of ['\\u0000', '\\ud83d', '\\uD83D', '\\uDc00', '\\udFFF']) {
        expect(maySmuggleCharacters(`{"a":"${spelling}"}`)).toBe(true);
      }
      expect(maySmuggleCharacters('{"a":"\\u001b \\uD7FF \\ue000 \\n u0000"}')).toBe(false);
    });
  });
});

describe('decode line', () => {
  describe('decodeLine', () => {
    it('decodes UTF-8 and counts nothing, not even a genuine U+FFFD', () => {
      const text = 'a é 日 🎉 \uFFFD \uFEFF \0';
      expect(decodeLine(Buffer.from(text))).toMatchObject({ text, invalidSequenceCount: 0 });
      expect(decodeLine(Buffer.alloc(0))).toMatchObject({ text: '', invalidSequenceCount: 0 });
    });

    it('replaces and counts invalid sequences, each once', () => {
      const bytes = Buffer.concat([Buffer.from('a\uFFFD'), Buffer.from([0xc3, 0x28, 0xff, 0xf0, 0x9f, 0x8e])]);
      expect(decodeLine(bytes)).toMatchObject({ text: 'a\uFFFD\uFFFD(\uFFFD\uFFFD', invalidSequenceCount: 3 });
    });

    it('replaces individually encoded surrogates, as some writers produce', () => {
      const { text, invalidSequenceCount } = decodeLine(Buffer.from([0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]));
      expect(text.isWellFormed()).toBe(true);
      expect(invalidSequenceCount).toBe(text.length);
    });

    it('equals a TextDecoder, and counts exactly what that replaced', () => {
      fc.assert(
        fc.property(fc.uint8Array(), (bytes) => {
          const { text, invalidSequenceCount } = decodeLine(Buffer.from(bytes));
          expect(text).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
          expect(invalidSequenceCount > 0).toBe(!Buffer.from(text).equals(bytes));
        }),
      );
    });
  });
});

describe('parse json line', () => {
  describe('parseJsonLine', () => {
    it('reads one value of any kind', () => {
      for (const text of ['{"a":1}', ' [1] ', 'null', '-0.5e3', '"text"', '\t{"a":1}\r']) {
        expect(parseJsonLine(text)).toEqual({ values: [JSON.parse(text)], isBroken: false });
      }
    });

    it('reads concatenated objects', () => {
      expect(parseJsonLine('{"a":"}{\\""} {"b":{"c":[{}]}}\r')).toEqual({
        values: [{ a: '}{"' }, { b: { c: [{}] } }],
        isBroken: false,
      });
    });

    it('reads the whole objects before a truncated one, or before anything else', () => {
      for (const rest of ['{"b":', '{"b":"}', 'x', '[1]', '}', '\0', '\u00a0', '{"b":01}{"c":1}', '\uFEFF{"b":1}']) {
        expect(parseJsonLine(`{"a":1}${rest}`)).toEqual({ values: [{ a: 1 }], isBroken: true });
      }
    });

    it('is broken unless it begins with an object', () => {
      for (const text of ['{', '}{', '// comment', '[1][2]', 'NaN', "{'a':1}", '{"a":1,}', '\0{"a":1}', '\0\0', '"a']) {
        expect(parseJsonLine(text)).toEqual({ values: [], isBroken: true });
      }
    });

    it('reads at most 100 objects of a line', () => {
      expect(parseJsonLine('{}'.repeat(100))).toMatchObject({ isBroken: false, values: { length: 100 } });
      expect(parseJsonLine('{}'.repeat(101))).toMatchObject({ isBroken: true, values: { length: 100 } });
      expect(parseJsonLine('{}'.repeat(2_000_000))).toMatchObject({ isBroken: true, values: { length: 100 } });
    });

    it('keeps keys that mean something to JavaScript unchanged', () => {
      const [value] = parseJsonLine('{"__proto__":{"type":"user"},"constructor":1}').values;
      expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor']);
      expect((value as { type?: unknown }).type).toBeUndefined();
    });

    it('takes time linear in the length of a line that is not JSON', () => {
      expect(parseJsonLine('{'.repeat(3_000_000))).toEqual({ values: [], isBroken: true });
      expect(parseJsonLine(`{"a":"${'\\'.repeat(3_000_001)}`)).toEqual({ values: [], isBroken: true });
    });

    it('finds every object of a concatenated line', () => {
      const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }));
      const gap = fc.stringMatching(/^[ \t\r]{0,2}$/);
      fc.assert(
        fc.property(fc.array(fc.tuple(object, gap), { minLength: 2, maxLength: 4 }), (parts) => {
          const text = parts.map(([value, space]) => `${space}${JSON.stringify(value)}`).join('');
          expect(parseJsonLine(text)).toEqual({
            values: parts.map(([value]) => JSON.parse(JSON.stringify(value))),
            isBroken: false,
          });
        }),
      );
    });

    it('never throws', () => {
      fc.assert(
        fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:,"\\ a1\0\n') }), (text) => {
          expect(Array.isArray(parseJsonLine(text).values)).toBe(true);
        }),
      );
    });
  });
});
