import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineSplitter } from './line-splitter.ts';
import { createMarkerFilter } from './marker-filter.ts';

/** The lines that the splitter hands over, with their numbers and places, for bytes in chunks of a given size. */
function readWanted(bytes: Buffer, chunkBytes: number, markers?: readonly string[]) {
  const lines: { number: number; offset: number; text: string | undefined }[] = [];
  const splitter = createLineSplitter(
    1000,
    ({ lineNumber, byteOffset, bytes: line }) =>
      lines.push({ number: lineNumber, offset: byteOffset, text: line?.toString() }),
    undefined,
    { isWanted: markers && createMarkerFilter(markers) },
  );
  for (let start = 0; start < bytes.length; start += chunkBytes)
    splitter.push(bytes.subarray(start, start + chunkBytes));
  splitter.finish();
  return { lines, lineCount: splitter.lineCount, byteCount: splitter.byteCount };
}

describe('createMarkerFilter', () => {
  it('selects the lines that contain a marker, however the chunks split them', () => {
    const line = fc
      .array(fc.constantFrom('a', '"', 'usage', '"usage"', 'tokens', '€', ''))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(line), fc.integer({ min: 1, max: 40 }), fc.boolean(), (lines, chunkBytes, isTerminated) => {
        const bytes = Buffer.from(lines.join('\n') + (isTerminated ? '\n' : ''));
        const all = readWanted(bytes, chunkBytes);
        const wanted = readWanted(bytes, chunkBytes, ['"usage"', 'tokens']);
        expect(wanted).toEqual({
          ...all,
          lines: all.lines.filter(({ text }) => text?.includes('"usage"') || text?.includes('tokens')),
        });
      }),
    );
  });

  it('selects nothing without a marker', () => {
    expect(readWanted(Buffer.from('a\nb\n'), 100, []).lines).toEqual([]);
  });
});
