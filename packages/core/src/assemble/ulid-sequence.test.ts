import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createUlidSequence } from './ulid-sequence.ts';

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

describe('createUlidSequence', () => {
  it('encodes the time as the ULID specification does', () => {
    // The specification's own example: 1469918176385 is 01ARYZ6S41.
    expect(createUlidSequence('seed')(1_469_918_176_385).slice(0, 10)).toBe('01ARYZ6S41');
    expect(createUlidSequence('seed')(2 ** 48 - 1).slice(0, 10)).toBe('7ZZZZZZZZZ');
  });

  it('gives the same ids for the same seed, and different ones for another', () => {
    const ids = (seed: string) => [1, 2, 2, 1].map(createUlidSequence(seed));
    expect(ids('a')).toEqual(ids('a'));
    expect(new Set([...ids('a'), ...ids('b')]).size).toBe(8);
  });

  it('gives ascending, unique, well-formed ids whatever the times', () => {
    const time = fc.oneof(fc.integer(), fc.nat(), fc.constantFrom(0, -1, 2 ** 48 - 1, 2 ** 48, Number.NaN));
    fc.assert(
      fc.property(fc.string(), fc.array(time, { maxLength: 50 }), (seed, times) => {
        const ids = times.map(createUlidSequence(seed));
        for (const id of ids) expect(id).toMatch(ULID);
        expect(ids).toEqual([...new Set(ids)].sort());
      }),
    );
  });

  it('still ascends after more ids than one digit can count', () => {
    const next = createUlidSequence('seed');
    let last = '';
    for (let index = 0; index < 40_000; index++) {
      const id = next(5);
      if (id <= last) expect.fail(`${id} after ${last}`);
      last = id;
    }
  });
});
