import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareBytes, toGroupName } from './keys.ts';

it('sorts texts like their bytes of UTF-8', () => {
  const text = fc.string({ unit: 'grapheme' }).map((value) => value.toWellFormed());
  const rare = fc.constantFrom('\u{1f600}', '\uffee', '\ue000x', 'a\u{10000}', 'a\uff00', 'a', '');
  fc.assert(
    fc.property(fc.oneof(text, rare), fc.oneof(text, rare), (one, other) => {
      expect(Math.sign(compareBytes(one, other))).toBe(Buffer.compare(Buffer.from(one), Buffer.from(other)));
    }),
  );
});

it('gives different keys different names', () => {
  const field = fc.oneof(
    fc.constantFrom(null, '', '-', '+', 'null'),
    fc.string().map((value) => value.replaceAll('\0', '')),
  );
  const key = fc.tuple(field, field, field);
  fc.assert(
    fc.property(key, key, (one, other) => {
      expect(toGroupName(one) === toGroupName(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
    }),
  );
});
