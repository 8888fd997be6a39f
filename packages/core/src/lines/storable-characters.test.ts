import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../rows.ts';
import { nestedArrays } from '../testing/transcript-lines.ts';
import { maySmuggleCharacters, toStorableJson, toStorableText } from './storable-characters.ts';

/** Any UTF-16 units, lone surrogates and NUL among them. */
const anyText = fc
  .array(fc.oneof(fc.constantFrom(0, 0xd83d, 0xde00, 0x61), fc.integer({ min: 0, max: 0xffff })), { maxLength: 20 })
  .map((units) => String.fromCharCode(...units));

const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0');

describe('toStorableText', () => {
  it('replaces each NUL and each half of a pair', () => {
    expect(toStorableText('a\0b\0')).toEqual({ text: 'a\uFFFDb\uFFFD', replacedCount: 2 });
    expect(toStorableText('\ud83d')).toEqual({ text: '\uFFFD', replacedCount: 1 });
    expect(toStorableText('\ude00\ud83d')).toEqual({ text: '\uFFFD\uFFFD', replacedCount: 2 });
    expect(toStorableText('\ud83d\ud83d\ude00\ude00')).toEqual({ text: '\uFFFD😀\uFFFD', replacedCount: 2 });
  });

  it('leaves everything else, other control characters included', () => {
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

  it('walks 100,000 levels', () => {
    const value = JSON.parse(`[${nestedArrays(100_000)},"\\u0000"]`) as JsonValue;
    expect(toStorableJson(value).replacedCount).toBe(1);
  });

  it('leaves nothing behind in any JSON value, wherever maySmuggleCharacters says it may', () => {
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
  it('knows the escapes in every spelling', () => {
    for (const spelling of ['\\u0000', '\\ud83d', '\\uD83D', '\\uDc00', '\\udFFF']) {
      expect(maySmuggleCharacters(`{"a":"${spelling}"}`)).toBe(true);
    }
    expect(maySmuggleCharacters('{"a":"\\u001b \\uD7FF \\ue000 \\n u0000"}')).toBe(false);
  });
});
