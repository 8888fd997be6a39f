import { describe, expect, it } from 'vitest';
import { matchesEntityTag, mayServeRange } from './entity-tags.ts';

describe('matchesEntityTag', () => {
  it.each(['"a"', 'W/"a"', '"b", "a"', '"b",W/"a" ', '*', ' * '])('finds "a" in %s', (header) => {
    expect(matchesEntityTag(header, '"a"')).toBe(true);
  });

  it.each([undefined, '', 'a', '"b"', '"aa"', '"a'])('does not find "a" in %j', (header) => {
    expect(matchesEntityTag(header, '"a"')).toBe(false);
  });
});

describe('mayServeRange', () => {
  it('needs the very tag where there is an If-Range', () => {
    expect(mayServeRange(undefined, '"a"')).toBe(true);
    expect(mayServeRange('"a"', '"a"')).toBe(true);
    expect(mayServeRange('W/"a"', '"a"')).toBe(false);
    expect(mayServeRange('"b"', '"a"')).toBe(false);
    expect(mayServeRange('Sat, 21 Nov 2026 00:00:00 GMT', '"a"')).toBe(false);
  });
});
