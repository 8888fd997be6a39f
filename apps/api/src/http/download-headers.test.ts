import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesEntityTag, mayServeRange, parseByteRange, toAttachment } from './download-headers.ts';

describe('attachment name', () => {
  describe('toAttachment', () => {
    it.each([
      ['0b3f-11', 'attachment; filename="0b3f-11.jsonl"'],
      ['parent:agent', 'attachment; filename="parent_agent.jsonl"'],
      ['../../etc/passwd', 'attachment; filename="_.._etc_passwd.jsonl"'],
      ['..', 'attachment; filename="transcript.jsonl"'],
      ['a"; x="b\r\nset-cookie: c', 'attachment; filename="a_x_b_set-cookie_c.jsonl"'],
    ])('names the file %j', (name, header) => {
      expect(toAttachment(name, '.jsonl')).toBe(header);
    });

    it('is a header with exactly one file name for any text', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary' }), (name) => {
          expect(toAttachment(name, '.jsonl')).toMatch(
            /^attachment; filename="[A-Za-z0-9_-][A-Za-z0-9._-]{0,155}\.jsonl"$/,
          );
        }),
      );
    });
  });
});

describe('byte range', () => {
  describe('parseByteRange', () => {
    it.each([
      ['bytes=0-0', 0, 1],
      ['bytes=0-99', 0, 100],
      ['bytes=10-19', 10, 20],
      ['bytes=90-', 90, 100],
      ['bytes=90-1000000', 90, 100],
      ['bytes=-1', 99, 100],
      ['bytes=-500', 0, 100],
      ['BYTES=1-2', 1, 3],
      ['bytes= 1-2 ', 1, 3],
    ])('reads %s of 100 bytes', (header, startByte, endByteExclusive) => {
      expect(parseByteRange(header, 100)).toEqual({ startByte, endByteExclusive });
    });

    it.each(['bytes=100-', 'bytes=100-200', 'bytes=-0'])('finds no byte in %s of 100', (header) => {
      expect(parseByteRange(header, 100)).toBe('unsatisfiable');
    });

    it.each(['bytes=0-', 'bytes=-5'])('finds no byte in %s of none', (header) => {
      expect(parseByteRange(header, 0)).toBe('unsatisfiable');
    });

    it.each([
      undefined,
      '',
      'bytes',
      'bytes=',
      'bytes=-',
      'bytes=5-4',
      'bytes=a-b',
      'bytes=0-1,3-4',
      'lines=0-1',
      'bytes=--1',
    ])('ignores %j', (header) => {
      expect(parseByteRange(header, 100)).toBeUndefined();
    });

    it('never exceeds the available bytes', () => {
      const part = fc.oneof(fc.constant(''), fc.nat().map(String), fc.bigInt({ min: 0n }).map(String));
      fc.assert(
        fc.property(part, part, fc.nat(), (first, last, sizeBytes) => {
          const range = parseByteRange(`bytes=${first}-${last}`, sizeBytes);
          if (range === undefined || range === 'unsatisfiable') return;
          expect(range.startByte).toBeGreaterThanOrEqual(0);
          expect(range.endByteExclusive).toBeGreaterThan(range.startByte);
          expect(range.endByteExclusive).toBeLessThanOrEqual(sizeBytes);
        }),
      );
    });
  });
});

describe('entity tags', () => {
  describe('matchesEntityTag', () => {
    it.each(['"a"', 'W/"a"', '"b", "a"', '"b",W/"a" ', '*', ' * '])('finds "a" in %s', (header) => {
      expect(matchesEntityTag(header, '"a"')).toBe(true);
    });

    it.each([undefined, '', 'a', '"b"', '"aa"', '"a'])('does not find "a" in %j', (header) => {
      expect(matchesEntityTag(header, '"a"')).toBe(false);
    });
  });

  describe('mayServeRange', () => {
    it('requires the exact tag if there is an If-Range header', () => {
      expect(mayServeRange(undefined, '"a"')).toBe(true);
      expect(mayServeRange('"a"', '"a"')).toBe(true);
      expect(mayServeRange('W/"a"', '"a"')).toBe(false);
      expect(mayServeRange('"b"', '"a"')).toBe(false);
      expect(mayServeRange('Sat, 21 Nov 2026 00:00:00 GMT', '"a"')).toBe(false);
    });
  });
});
