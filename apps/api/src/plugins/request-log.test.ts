import { describe, expect, it } from 'vitest';
import { toRequestId } from './request-log.ts';

describe('toRequestId', () => {
  it.each(['abc', '01JCZ8Q4M2V7T3N5R9W0XYABCD', 'Root=1-67a/b+c~d=', 'x'.repeat(128)])('accepts %j', (given) => {
    expect(toRequestId({ headers: { 'x-request-id': given } })).toBe(given);
  });

  it.each([undefined, '', ' ', 'a b', 'a"b', 'x'.repeat(129), 'ü', '<script>'])(
    'generates an id in place of %j',
    (given) => {
      expect(toRequestId({ headers: { 'x-request-id': given } })).toMatch(/^[0-9a-f-]{36}$/);
    },
  );
});
