import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLineAt } from './read-line.ts';

function createStore(bytes: Buffer, chunkBytes: number) {
  const sources: Readable[] = [];
  return {
    sources,
    get: async (_key: string, { range = { startByte: 0 } } = {}) => {
      const rest = bytes.subarray(range.startByte);
      const chunks = Array.from({ length: Math.ceil(rest.length / chunkBytes) }, (_, index) =>
        rest.subarray(index * chunkBytes, (index + 1) * chunkBytes),
      );
      const source = Readable.from(chunks);
      sources.push(source);
      return source;
    },
  };
}

async function readLine(bytes: Buffer, byteOffset: number, chunkBytes: number): Promise<string | undefined> {
  const store = createStore(bytes, chunkBytes);
  const line = await readLineAt(store, { key: 'key', sizeBytes: bytes.length }, byteOffset);
  const text = line && Buffer.concat(await line.toArray()).toString();
  if (line) await new Promise((resolve) => (line.closed ? resolve(undefined) : line.once('close', resolve)));
  expect(store.sources.every(({ destroyed }) => destroyed)).toBe(true);
  return text;
}

describe('readLineAt', () => {
  it('reads every line from its start, and nothing from other offsets', async () => {
    const lineText = fc.string({ maxLength: 12 }).map((text) => text.replaceAll('\n', ' '));
    await fc.assert(
      fc.asyncProperty(
        fc.array(lineText, { minLength: 1 }),
        fc.integer({ min: 1, max: 20 }),
        async (lines, chunkBytes) => {
          const bytes = Buffer.from(lines.join('\n'));
          const starts = new Map<number, string>();
          let start = 0;
          for (const line of lines) {
            if (start < bytes.length) starts.set(start, line);
            start += Buffer.byteLength(line) + 1;
          }
          for (let offset = 0; offset <= bytes.length; offset++) {
            expect(await readLine(bytes, offset, chunkBytes)).toBe(starts.get(offset));
          }
        },
      ),
    );
  });

  it('closes the source when the reader stops, even before it has read anything', async () => {
    const store = createStore(Buffer.from('one\ntwo'), 100);
    const line = await readLineAt(store, { key: 'key', sizeBytes: 7 }, 0);
    line?.destroy();
    await new Promise((resolve) => line?.once('close', resolve));
    expect(store.sources[0]?.destroyed).toBe(true);
  });
});
