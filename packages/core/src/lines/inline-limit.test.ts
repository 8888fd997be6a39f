import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nestedArrays } from '../testing/transcript-lines.ts';
import { isNestedDeeperThan, limitJson, limitText, MAX_STORED_JSON_DEPTH } from './inline-limit.ts';
import type { JsonValue } from './json.ts';

const nested = (depth: number): JsonValue => JSON.parse(nestedArrays(depth)) as JsonValue;

describe('limitText', () => {
  it.each([
    ['one byte', 'a', 1],
    ['two bytes', 'é', 2],
    ['three bytes', '日', 3],
    ['four bytes', '🎉', 4],
  ])('cuts before a character of %s that does not fit whole', (_name, character, size) => {
    const text = `ab${character}c`;
    expect(limitText(text, size + 3)).toEqual({ value: text, byteLength: size + 3, isCut: false });
    expect(limitText(text, size + 2)).toEqual({ value: `ab${character}`, byteLength: size + 3, isCut: true });
    for (let maxBytes = 2; maxBytes < size + 2; maxBytes++) {
      expect(limitText(text, maxBytes)).toEqual({ value: 'ab', byteLength: size + 3, isCut: true });
    }
  });

  it('returns the empty text if nothing fits', () => {
    expect(limitText('🎉', 3)).toEqual({ value: '', byteLength: 4, isCut: true });
    expect(limitText('a', 0)).toEqual({ value: '', byteLength: 1, isCut: true });
    expect(limitText('', 0)).toEqual({ value: '', byteLength: 0, isCut: false });
  });

  it('returns the longest prefix that fits, in whole characters', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'é', '日', '🎉', '\0') }),
        fc.nat({ max: 40 }),
        (text, maxBytes) => {
          const { value, byteLength, isCut } = limitText(text, maxBytes);
          expect(text.startsWith(value)).toBe(true);
          expect(Buffer.byteLength(value)).toBeLessThanOrEqual(maxBytes);
          expect(byteLength).toBe(Buffer.byteLength(text));
          expect(isCut).toBe(value !== text);
          const [next] = text.slice(value.length);
          const following = next === undefined ? undefined : String.fromCodePoint(text.codePointAt(value.length) ?? 0);
          if (following !== undefined) expect(Buffer.byteLength(value + following)).toBeGreaterThan(maxBytes);
        },
      ),
    );
  });
});

describe('isNestedDeeperThan', () => {
  it('counts objects and arrays alike', () => {
    expect(isNestedDeeperThan({ a: [{ b: 1 }] }, 3)).toBe(false);
    expect(isNestedDeeperThan({ a: [{ b: 1 }] }, 2)).toBe(true);
    expect(isNestedDeeperThan('text', 0)).toBe(false);
    expect(isNestedDeeperThan(null, 0)).toBe(false);
  });

  it('handles any depth of nesting', () => {
    expect(isNestedDeeperThan(nested(100_000), MAX_STORED_JSON_DEPTH)).toBe(true);
  });
});

describe('limitJson', () => {
  it('returns the value itself up to the limit, and beyond it the beginning of its JSON', () => {
    const value = { a: 'é' };
    expect(limitJson(value, 10)).toEqual({ value, byteLength: 10, isCut: false, isTooDeep: false });
    expect(limitJson(value, 9)).toEqual({ value: '{"a":"é"', byteLength: 10, isCut: true, isTooDeep: false });
    expect(limitJson(value, 7)).toEqual({ value: '{"a":"', byteLength: 10, isCut: true, isTooDeep: false });
  });

  it('returns null for what is nested too deep, however deep', () => {
    const deepest = nested(MAX_STORED_JSON_DEPTH);
    expect(limitJson(deepest, 10_000)).toMatchObject({ value: deepest, isTooDeep: false });
    for (const depth of [MAX_STORED_JSON_DEPTH + 1, 100_000]) {
      expect(limitJson(nested(depth), 10_000)).toEqual({
        value: null,
        byteLength: 0,
        isCut: false,
        isTooDeep: true,
      });
    }
  });
});
