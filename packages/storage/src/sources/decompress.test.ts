import { brotliCompressSync, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { assert, asyncProperty, constantFrom, integer } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Compression, decompress } from './decompress.ts';
import { SourceError } from './source-error.ts';

const FIRST = Buffer.from('{"line":"of the first part"}\n'.repeat(400));
const SECOND = Buffer.from(Array.from({ length: 3000 }, (_, i) => `{"line":${i * 7919}}\n`).join(''));
const WHOLE = Buffer.concat([FIRST, SECOND]);
const TWO_PARTS: Record<Compression, Buffer> = {
  gzip: Buffer.concat([gzipSync(FIRST), gzipSync(SECOND)]),
  zstd: Buffer.concat([zstdCompressSync(FIRST), zstdCompressSync(SECOND)]),
  deflate: deflateRawSync(WHOLE),
  br: brotliCompressSync(WHOLE),
};
const FIRST_PART_BYTES = { gzip: gzipSync(FIRST).length, zstd: zstdCompressSync(FIRST).length, deflate: 0, br: 0 };
const SKIPPABLE_FRAME = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

async function* chunked(bytes: Buffer, chunkBytes: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes);
}

async function decode(bytes: Buffer, compression: Compression, chunkBytes = bytes.length) {
  const parts: Buffer[] = [];
  let error: unknown;
  try {
    for await (const part of decompress(chunked(bytes, chunkBytes), compression)) parts.push(part);
  } catch (caught) {
    error = caught;
  }
  return { decoded: Buffer.concat(parts), error };
}

describe('decompress', () => {
  test('decodes all members and frames, however the input is split into chunks', async () => {
    const compressions = constantFrom<Compression>('gzip', 'zstd', 'deflate', 'br');
    await assert(
      asyncProperty(compressions, integer({ min: 1, max: 20_000 }), async (compression, chunkBytes) => {
        const { decoded, error } = await decode(TWO_PARTS[compression], compression, chunkBytes);
        expect(error).toBeUndefined();
        expect(decoded.equals(WHOLE)).toBe(true);
      }),
    );
  });

  test.each([
    ['32 MiB', 0x78, undefined],
    ['36 MiB', 0x79, 'limit-exceeded'],
    ['128 MiB', 0x88, 'limit-exceeded'],
  ])('a zstd frame may have a window of at most 32 MiB: %s', async (_size, windowDescriptor, code) => {
    // A frame of one raw block of three bytes.
    const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, windowDescriptor, (3 << 3) | 1, 0, 0, 97, 98, 99]);
    const { decoded, error } = await decode(frame, 'zstd');
    expect(decoded.toString()).toBe(code === undefined ? 'abc' : '');
    if (code === undefined) expect(error).toBeUndefined();
    else expect(error).toMatchObject({ code, message: expect.stringContaining('without --long') });
  });

  test('a chunk border at a member border changes nothing', async () => {
    for (const compression of ['gzip', 'zstd'] as const) {
      const { decoded } = await decode(TWO_PARTS[compression], compression, FIRST_PART_BYTES[compression]);
      expect(decoded.equals(WHOLE)).toBe(true);
    }
  });

  test('truncation at any byte is an error, after the bytes that could be decoded', async () => {
    const compressions = constantFrom<Compression>('gzip', 'zstd', 'deflate', 'br');
    const fraction = integer({ min: 1, max: 9999 });
    await assert(
      asyncProperty(compressions, fraction, integer({ min: 1, max: 20_000 }), async (compression, cut, chunkBytes) => {
        const bytes = TWO_PARTS[compression];
        const length = Math.max(1, Math.floor((bytes.length * cut) / 10_000));
        // A cut exactly between two members leaves a valid file.
        if (length === FIRST_PART_BYTES[compression]) return;
        const { decoded, error } = await decode(bytes.subarray(0, length), compression, chunkBytes);
        expect(error).toBeInstanceOf(SourceError);
        expect(error).toMatchObject({ code: 'truncated' });
        expect(WHOLE.subarray(0, decoded.length).equals(decoded)).toBe(true);
        if (FIRST_PART_BYTES[compression] > 0 && length > FIRST_PART_BYTES[compression]) {
          expect(decoded.length).toBeGreaterThanOrEqual(FIRST.length);
        }
      }),
    );
  });

  test('zeros after a gzip member are padding, anything else is damage', async () => {
    const zeros = Buffer.concat([gzipSync(FIRST), Buffer.alloc(700)]);
    for (const chunkBytes of [gzipSync(FIRST).length, 100, zeros.length]) {
      expect(await decode(zeros, 'gzip', chunkBytes)).toEqual({ decoded: FIRST, error: undefined });
    }
    for (const compression of ['gzip', 'zstd'] as const) {
      const bytes = Buffer.concat([TWO_PARTS[compression], Buffer.from('tail')]);
      const { decoded, error } = await decode(bytes, compression, TWO_PARTS[compression].length);
      expect(error).toMatchObject({ code: 'corrupt' });
      expect(decoded.equals(WHOLE)).toBe(true);
    }
  });

  test('skippable zstd frames have no content', async () => {
    const frames = Buffer.concat([SKIPPABLE_FRAME, TWO_PARTS.zstd, SKIPPABLE_FRAME]);
    for (const chunkBytes of [1, 11, frames.length]) {
      const { decoded, error } = await decode(frames, 'zstd', chunkBytes);
      expect(error).toBeUndefined();
      expect(decoded.equals(WHOLE)).toBe(true);
    }
  });

  test('a flipped bit is damage', async () => {
    const damaged = Buffer.from(gzipSync(FIRST));
    damaged[damaged.length - 6] = (damaged.at(-6) ?? 0) ^ 1;
    expect((await decode(damaged, 'gzip')).error).toMatchObject({ code: 'corrupt' });
  });

  test('decodes no further than it is read', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 1024 ** 2));
    let fedBytes = 0;
    async function* feed() {
      for await (const chunk of chunked(bomb, 1024)) {
        fedBytes += chunk.length;
        yield chunk;
      }
    }
    for await (const part of decompress(feed(), 'gzip')) {
      expect(part.length).toBeLessThanOrEqual(1024 ** 2);
      break;
    }
    expect(fedBytes).toBeLessThan(bomb.length / 10);
  });
});
