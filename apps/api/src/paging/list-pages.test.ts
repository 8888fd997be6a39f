import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseCursor, toCursor } from './list-pages.ts';

const schema = z.strictObject({ key: z.string(), id: z.string() });
const invalid = expect.objectContaining({ slug: 'invalid-cursor' });

describe('cursors', () => {
  it('survive a round trip through a URL', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (key, id) => {
        const cursor = toCursor({ key, id });
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(parseCursor(schema, cursor)).toEqual({ key, id });
      }),
    );
  });

  it('are optional', () => expect(parseCursor(schema, undefined)).toBeUndefined());

  it.each([
    'x',
    'bnVsbA',
    toCursor({ key: 'a' }),
    toCursor({ key: 'a', id: 1 }),
    toCursor({ key: '', id: '', more: 1 }),
  ])('are refused if malformed: %s', (cursor) => {
    expect(() => parseCursor(schema, cursor)).toThrow(invalid);
  });

  it('either match the schema or are refused, for any text', () => {
    fc.assert(
      fc.property(fc.base64String(), (cursor) => {
        try {
          expect(schema.safeParse(parseCursor(schema, cursor)).success).toBe(true);
        } catch (error) {
          expect(error).toEqual(invalid);
        }
      }),
    );
  });
});
