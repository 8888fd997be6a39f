import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonLine } from './parse-json-line.ts';

describe('parseJsonLine', () => {
  it('reads one value of any kind', () => {
    for (const text of ['{"a":1}', ' [1] ', 'null', '-0.5e3', '"text"', '\t{"a":1}\r']) {
      expect(parseJsonLine(text)).toEqual({ values: [JSON.parse(text)], isBroken: false });
    }
  });

  it('reads objects that are glued together', () => {
    expect(parseJsonLine('{"a":"}{\\""} {"b":{"c":[{}]}}\r')).toEqual({
      values: [{ a: '}{"' }, { b: { c: [{}] } }],
      isBroken: false,
    });
  });

  it('reads the whole objects before a torn one, or before anything else', () => {
    for (const rest of ['{"b":', '{"b":"}', 'x', '[1]', '}', '\0', '\u00a0', '{"b":01}{"c":1}', '\uFEFF{"b":1}']) {
      expect(parseJsonLine(`{"a":1}${rest}`)).toEqual({ values: [{ a: 1 }], isBroken: true });
    }
  });

  it('is broken where no object stands at the beginning', () => {
    for (const text of ['{', '}{', '// comment', '[1][2]', 'NaN', "{'a':1}", '{"a":1,}', '\0{"a":1}', '\0\0', '"a']) {
      expect(parseJsonLine(text)).toEqual({ values: [], isBroken: true });
    }
  });

  it('reads at most 100 objects of a line', () => {
    expect(parseJsonLine('{}'.repeat(100))).toMatchObject({ isBroken: false, values: { length: 100 } });
    expect(parseJsonLine('{}'.repeat(101))).toMatchObject({ isBroken: true, values: { length: 100 } });
    expect(parseJsonLine('{}'.repeat(2_000_000))).toMatchObject({ isBroken: true, values: { length: 100 } });
  });

  it('keeps keys that mean something to JavaScript as they are', () => {
    const [value] = parseJsonLine('{"__proto__":{"type":"user"},"constructor":1}').values;
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor']);
    expect((value as { type?: unknown }).type).toBeUndefined();
  });

  it('takes time in proportion to the length of a line that is no JSON', () => {
    expect(parseJsonLine('{'.repeat(3_000_000))).toEqual({ values: [], isBroken: true });
    expect(parseJsonLine(`{"a":"${'\\'.repeat(3_000_001)}`)).toEqual({ values: [], isBroken: true });
  });

  it('finds every object of a glued line', () => {
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
