import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { detectFormat } from './decode-bytes.ts';
import { createTar } from './testing/tar-writer.ts';
import { createZip } from './testing/zip-writer.ts';

test('recognises the formats by their first bytes', async () => {
  expect(detectFormat(gzipSync('a'))).toBe('gzip');
  expect(detectFormat(zstdCompressSync('a'))).toBe('zstd');
  expect(detectFormat(gzipSync('a').subarray(0, 1))).toBe('gzip');
  expect(detectFormat(zstdCompressSync('a').subarray(0, 3))).toBe('zstd');
  expect(detectFormat(Buffer.from([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]))).toBe('zstd');
  expect(detectFormat(createZip([{ name: 'a', content: 'a' }]))).toBe('zip');
  expect(detectFormat(createZip([]))).toBe('zip');
  expect(detectFormat(await createTar([{ name: 'a', content: 'a' }]))).toBe('tar');
  expect(detectFormat(Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]))).toBe('unsupported');
});

test('leaves everything else, including short content, unchanged', () => {
  for (const content of ['', '{', 'PK', '{"type":"user"}\n', `${'x'.repeat(257)}u`]) {
    expect(detectFormat(Buffer.from(content))).toBe('other');
  }
});
