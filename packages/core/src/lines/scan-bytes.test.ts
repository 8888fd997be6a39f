import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scanBytes } from './scan-bytes.ts';

describe('scanBytes', () => {
  it('sees what stands in the bytes, and nothing of those before', () => {
    const piece = fc.constantFrom('\\', 'u', '\\u', 'é', '\0', 'text of sixteen.', '\\n', 'x'.repeat(1000));
    const bytes = fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(pieces.join('')));
    fc.assert(
      fc.property(bytes, (some) => {
        expect(scanBytes(some)).toEqual({
          isAscii: some.every((byte) => byte < 0x80),
          hasUnicodeEscape: some.includes('\\u'),
        });
      }),
      { numRuns: 1000 },
    );
  });

  it.each([0, 15, 16, 65_534, 65_535, 65_536, 131_069, 131_070, 131_072])('finds it after %d bytes', (length) => {
    const before = 'x'.repeat(length);
    expect(scanBytes(Buffer.from(`${before}\\u`))).toEqual({ isAscii: true, hasUnicodeEscape: true });
    expect(scanBytes(Buffer.from(`${before}\\`))).toEqual({ isAscii: true, hasUnicodeEscape: false });
    expect(scanBytes(Buffer.from(`${before}u`))).toEqual({ isAscii: true, hasUnicodeEscape: false });
    expect(scanBytes(Buffer.from(`${before}é`))).toEqual({ isAscii: false, hasUnicodeEscape: false });
  });
});
