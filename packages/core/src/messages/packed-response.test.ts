import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ParseOptions, streamTranscript } from '../index.ts';
import { toReusedChunks } from '../testing/chunked-inputs.ts';
import { sessionLine } from '../testing/session-lines.ts';
import { assistantLine, toJsonl, toUsageFields } from '../testing/transcript-lines.ts';

/** All batches and the summary, as text. */
async function toText(input: Buffer, chunkBytes: number, options: ParseOptions): Promise<string> {
  const batches = streamTranscript('s', toReusedChunks(input, chunkBytes), options);
  let text = '';
  for (;;) {
    const { done, value } = await batches.next();
    text += `${JSON.stringify(value)}\n`;
    if (done) return text;
  }
}

it('gives the same batches, byte by byte, however many responses are packed', async () => {
  const options = fc.record({
    maxOpenMessages: fc.constantFrom(3, 5, 50_000),
    maxOpenToolCalls: fc.constantFrom(1, 10_000),
    usageFrom: fc.constantFrom('first' as const, 'final' as const),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(sessionLine, { maxLength: 40 }), options, async (lines, chosen) => {
      const input = Buffer.from(`${lines.join('\n')}\n`);
      for (const chunkBytes of [7, 64 * 1024]) {
        const expected = await toText(input, chunkBytes, chosen);
        for (const maxUnpackedMessages of [0, 1, 2]) {
          expect(await toText(input, chunkBytes, { ...chosen, maxUnpackedMessages })).toBe(expected);
        }
      }
    }),
    { numRuns: 300 },
  );
});

it('holds responses whose lines come back in any order, and more than its texts have room for', async () => {
  const usage = { usage: toUsageFields(1, 2, 3, 4), model: 'claude-x' };
  const id = (index: number) => `msg_${String(index).padStart(24, '0')}`;
  const first = Array.from({ length: 4000 }, (_, index) => assistantLine(id(index), 'x'.repeat(500), usage));
  const again = Array.from({ length: 4000 }, (_, index) => assistantLine(id((index * 7) % 3900), 'y', usage));
  const input = Buffer.from(toJsonl(...first, ...again, ...again));
  const expected = await toText(input, 64 * 1024, {});
  expect(await toText(input, 64 * 1024, { maxUnpackedMessages: 10 })).toBe(expected);
  expect(await toText(input, 64 * 1024, { maxUnpackedMessages: 1 })).toBe(expected);
});
