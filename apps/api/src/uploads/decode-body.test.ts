import { Readable } from 'node:stream';
import { brotliCompressSync, constants, createZstdCompress, gzipSync, zstdCompressSync } from 'node:zlib';
import type { UploadEncoding } from '@recount/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBody, parseContentEncoding } from './decode-body.ts';

describe('content encoding', () => {
  describe('parseContentEncoding', () => {
    it.each([undefined, '', 'identity', ' identity ,identity'])('treats %j as no encoding', (header) => {
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

    it.each(['deflate', 'gzip, br', 'gzip, gzip', 'constructor'])('refuses %j and lists what is accepted', (header) => {
      expect(() => parseContentEncoding(header)).toThrow(
        expect.objectContaining({ slug: 'unsupported-encoding', headers: { 'accept-encoding': 'gzip, br, zstd' } }),
      );
    });
  });
});

describe('decode body', () => {
  const COMPRESS: Record<UploadEncoding, (bytes: Uint8Array) => Buffer> = {
    gzip: gzipSync,
    br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
    zstd: zstdCompressSync,
  };
  const ENCODINGS = Object.keys(COMPRESS) as UploadEncoding[];
  const text = Buffer.from('a line of a transcript\n'.repeat(5000));

  async function* inChunksOf(sizeBytes: number, bytes: Buffer): AsyncGenerator<Buffer> {
    for (let start = 0; start < bytes.length; start += sizeBytes) yield bytes.subarray(start, start + sizeBytes);
  }

  async function decode(encoding: UploadEncoding, bytes: Buffer, chunkBytes = 1 << 16): Promise<Buffer> {
    return Buffer.concat(await Readable.from(decodeBody(inChunksOf(chunkBytes, bytes), encoding)).toArray());
  }

  const broken = expect.objectContaining({ slug: 'broken-encoding' });

  describe.each(ENCODINGS)('decodeBody of %s', (encoding) => {
    it('returns the bytes, however the input is split', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uint8Array({ maxLength: 3000 }),
          fc.integer({ min: 1, max: 500 }),
          async (bytes, chunkBytes) => {
            expect(await decode(encoding, COMPRESS[encoding](bytes), chunkBytes)).toEqual(Buffer.from(bytes));
          },
        ),
      );
    });

    it('refuses truncated data, however the input is split', async () => {
      const bytes = COMPRESS[encoding](text);
      for (const length of [0, 1, 5, bytes.length >> 1, bytes.length - 1]) {
        await expect(decode(encoding, bytes.subarray(0, length))).rejects.toEqual(broken);
      }
    });

    it('refuses foreign data, also after its end', async () => {
      await expect(decode(encoding, Buffer.from('{"type":"user"}\n'.repeat(10)))).rejects.toEqual(broken);
      const tail = Buffer.concat([COMPRESS[encoding](text), Buffer.from('{"type":"user"}')]);
      for (const chunkBytes of [1, tail.length - 15, tail.length]) {
        await expect(decode(encoding, tail, chunkBytes)).rejects.toEqual(broken);
      }
    });

    it('propagates an error of its source', async () => {
      async function* failing(): AsyncGenerator<Buffer> {
        yield COMPRESS[encoding](text).subarray(0, 20);
        throw new Error('the client went away');
      }
      await expect(Readable.from(decodeBody(failing(), encoding)).toArray()).rejects.toThrow('the client went away');
    });

    it('yields a bomb in small pieces and stops when the reader stops', async () => {
      const bomb = COMPRESS[encoding](Buffer.alloc(64 * 1024 * 1024));
      let hasEnded = false;
      async function* source(): AsyncGenerator<Buffer> {
        try {
          yield* inChunksOf(1024, bomb);
        } finally {
          hasEnded = true;
        }
      }
      let yieldedBytes = 0;
      for await (const chunk of decodeBody(source(), encoding)) {
        expect(chunk.length).toBeLessThanOrEqual(1024 * 1024);
        yieldedBytes += chunk.length;
        if (yieldedBytes > 2 * 1024 * 1024) break;
      }
      expect(hasEnded).toBe(true);
    });
  });

  describe('decodeBody', () => {
    it.each(['gzip', 'zstd'] as const)('reads all members of %s, however the input is split', async (encoding) => {
      const members = [Buffer.from('one\n'), Buffer.alloc(0), Buffer.from('two\n'), text];
      const bytes = Buffer.concat(members.map((member) => COMPRESS[encoding](member)));
      for (const chunkBytes of [1, 7, 100, bytes.length]) {
        expect(await decode(encoding, bytes, chunkBytes)).toEqual(Buffer.concat(members));
      }
    });

    it('refuses too many members', async () => {
      const bytes = Buffer.concat(Array<Buffer>(1_001).fill(zstdCompressSync(Buffer.alloc(0))));
      await expect(decode('zstd', bytes)).rejects.toEqual(broken);
    });

    it('accepts zstd windows of up to 32 MiB, however little they contain', async () => {
      const compress = async (windowLog: number): Promise<Buffer> => {
        // The encoder does not know how long a stream will be, so the window stays as large as requested.
        const params = { [constants.ZSTD_c_windowLog]: windowLog };
        return Buffer.concat(await Readable.from([text]).pipe(createZstdCompress({ params })).toArray());
      };
      expect(await decode('zstd', await compress(25))).toEqual(text);
      await expect(decode('zstd', await compress(26))).rejects.toThrow('a window of more than 32 MiB');
    });

    it('refuses a zstd window that would need too much memory', async () => {
      const params = { [constants.ZSTD_c_windowLog]: 26 };
      const bytes = zstdCompressSync(Buffer.alloc(100 * 1024 * 1024), { params });
      await expect(decode('zstd', bytes)).rejects.toThrow('a window of more than 32 MiB');
    });
  });
});
