import { describe, expect, it } from 'vitest';
import { parseContentEncoding } from './content-encoding.ts';

describe('parseContentEncoding', () => {
  it.each([undefined, '', 'identity', ' identity ,identity'])('takes %j for none', (header) => {
    expect(parseContentEncoding(header)).toBeUndefined();
  });

  it.each([
    ['gzip', 'gzip'],
    ['X-GZip', 'gzip'],
    [' br ', 'br'],
    ['zstd, identity', 'zstd'],
  ])('reads %j', (header, encoding) => {
    expect(parseContentEncoding(header)).toBe(encoding);
  });

  it.each(['deflate', 'gzip, br', 'gzip, gzip', 'constructor'])('refuses %j and says what is accepted', (header) => {
    expect(() => parseContentEncoding(header)).toThrow(
      expect.objectContaining({ slug: 'unsupported-encoding', headers: { 'accept-encoding': 'gzip, br, zstd' } }),
    );
  });
});
