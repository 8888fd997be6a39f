import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonValue } from './json.ts';
import { beginNestedJson, countJsonValues, countRefusedTexts, hasMoreValues, mayParseNested } from './json-values.ts';

/** Arrays, objects and what is beside the first value in each. */
function count(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  const children = Object.values(value) as JsonValue[];
  return 1 + Math.max(0, children.length - 1) + children.reduce((sum: number, child) => sum + count(child), 0);
}

it('counts values, and nothing that is inside texts', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      const json = JSON.stringify(value, null, indent);
      expect(countJsonValues(json, 1_000_000)).toBe(1 + count(JSON.parse(json) as JsonValue));
    }),
  );
  for (const text of ['[{,', '"[{,', '\\"[{,', '\\\\', '\\\\"[,']) {
    expect(countJsonValues(JSON.stringify([text]), 100)).toBe(2);
  }
});

it('counts no further than it has to, and takes text that is no JSON', () => {
  expect(countJsonValues('['.repeat(1000), 10)).toBe(11);
  expect(countJsonValues('[["a, [', 10)).toBe(3);
  expect(hasMoreValues('[{},{}]', 10)).toBe(false);
  expect(hasMoreValues('[{},{}]'.repeat(10), 10)).toBe(true);
});

it('lets the texts of a line hold this many values together', () => {
  const text = `[${'{},'.repeat(199_999)}{}]`;
  beginNestedJson();
  expect([mayParseNested(text), mayParseNested(text), mayParseNested('[1]'), countRefusedTexts()]).toEqual([
    true,
    false,
    true,
    1,
  ]);
  beginNestedJson();
  expect([mayParseNested(text), countRefusedTexts()]).toEqual([true, 0]);
});
