import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toPieces } from '../testing/chunked-inputs.ts';
import { createDocumentSplitter, toEntryObject } from './document-splitter.ts';
import type { JsonValue } from './json.ts';
import type { RawLine } from './line-splitter.ts';

function split(text: string | Uint8Array, size = 7, maxEntryBytes = 1000): (RawLine & { text: string | undefined })[] {
  const entries: (RawLine & { text: string | undefined })[] = [];
  const onEntry = (entry: RawLine) => entries.push({ ...entry, text: entry.bytes?.toString() });
  const splitter = createDocumentSplitter(maxEntryBytes, onEntry);
  const bytes = Buffer.from(text);
  for (const piece of toPieces(bytes, size)) splitter.push(piece);
  splitter.finish();
  expect(splitter.byteCount).toBe(bytes.length);
  return entries;
}

const toValues = (text: string, size?: number) =>
  split(text, size, 1_000_000).map(({ text: json, key }) => toEntryObject(JSON.parse(json ?? '') as JsonValue, key));

it('yields the members of an object, and the elements of those that are arrays', () => {
  const document = {
    id: 'a"]}\\',
    n: -1.5e3,
    none: null,
    list: [1, { b: [2, '}'] }, 'x', []],
    empty: [],
    o: { p: [1] },
  };
  const entries = [
    { id: 'a"]}\\' },
    { n: -1500 },
    { none: null },
    { list: 1 },
    { list: { b: [2, '}'] } },
    { list: 'x' },
    { list: [] },
    { o: { p: [1] } },
  ];
  for (const size of [1, 7, 64 * 1024]) {
    expect(toValues(JSON.stringify(document), size)).toEqual(entries);
    expect(toValues(`\uFEFF${JSON.stringify(document, null, 2)}\n`, size)).toEqual(entries);
  }
});

it('yields the elements of an array', () => {
  expect(toValues('[{"a":1}, [2] ,"é",false]')).toEqual([{ a: 1 }, [2], 'é', false]);
});

it('gives the place of each entry', () => {
  const text = '{ "é": [ {"a":1},\n 2 ] }';
  for (const { byteOffset, byteLength, text: json } of split(text)) {
    expect(
      Buffer.from(text)
        .subarray(byteOffset, byteOffset + byteLength)
        .toString(),
    ).toBe(json);
  }
  expect(split(text).map(({ lineNumber, text: json, key }) => [lineNumber, key, json])).toEqual([
    [1, 'é', '{"a":1}'],
    [2, 'é', '2'],
  ]);
});

it('skips entries that are too long without buffering them, and continues', () => {
  const entries = split(`[1,"${'x'.repeat(5000)}",2]`);
  expect(entries.map(({ text, byteLength }) => [text, byteLength])).toEqual([
    ['1', 1],
    [undefined, 5002],
    ['2', 1],
  ]);
});

it('reports where a document is truncated or not JSON', () => {
  const faults = (text: string) => split(text).filter(({ isBroken, terminated }) => isBroken || !terminated);
  for (const torn of ['{"a":[1,', '{"a"', '[{"b":', '{"a":"x'])
    expect([torn, faults(torn)]).toMatchObject([torn, [{ terminated: false }]]);
  for (const odd of ['{"a" 1}', '[1}', '{a:1}', 'hello'])
    expect([odd, faults(odd)]).toMatchObject([odd, [{ isBroken: true, terminated: true }]]);
  expect(split('')).toEqual([]);
});

it('returns every document, however it is written and split', () => {
  const element = fc.jsonValue({ maxDepth: 3 });
  const member = fc.oneof(
    element.filter((value) => !Array.isArray(value)),
    fc.array(element, { minLength: 1 }),
  );
  const document = fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), member);
  fc.assert(
    fc.property(document, fc.constantFrom(0, 2), fc.constantFrom(1, 7, 64), (members, indent, size) => {
      const text = JSON.stringify(members, null, indent);
      const known = JSON.parse(text) as Record<string, JsonValue>;
      const expected = Object.entries(known).flatMap(([key, value]) =>
        (Array.isArray(value) ? value : [value]).map((each) => ({ [key]: each })),
      );
      expect(toValues(text, size)).toEqual(expected);
    }),
  );
});

it('never throws', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void split(bytes, 3)));
  const characters = fc.string({ unit: fc.constantFrom(...'{}[]",:\\ a1'), maxLength: 60 });
  fc.assert(fc.property(characters, (text) => void split(text, 3)));
});
