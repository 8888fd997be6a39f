import { createHash } from 'node:crypto';
import { MAX_LIVE_CHUNK_BYTES } from '@recount/contract';
import { describe, expect, it } from 'vitest';
import { decodeChunks, holdUntilVerified } from './decode-chunks.ts';

const toDigest = (text: string): string => createHash('sha256').update(text).digest('base64');
const encode = (text: string, length = text.length.toString(16), digest = toDigest(text)): string =>
  `${length};sha-256=:${digest}:\r\n${text}\r\n`;

async function* inPieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function decode(text: string, size = 7): Promise<string[]> {
  const found: string[] = [];
  for await (const chunk of decodeChunks(inPieces(text, size))) found.push(chunk.toString());
  return found;
}

describe('recount-chunked', () => {
  it.each([1, 7, 1000])('yields the chunks, whatever the size of the pieces they arrive in: %i bytes', async (size) => {
    const texts = ['one\n', 'x'.repeat(300), '\r\n', '0;sha-256'];
    expect(await decode(texts.map((text) => encode(text)).join(''), size)).toEqual(texts);
    expect(await decode('', size)).toEqual([]);
  });

  it('yields nothing of a chunk with the wrong digest, nor of later ones', async () => {
    const found: string[] = [];
    const reading = (async () => {
      const text = encode('good') + encode('evil', '4', toDigest('even')) + encode('late');
      for await (const chunk of decodeChunks(inPieces(text, 10))) found.push(chunk.toString());
    })();
    await expect(reading).rejects.toMatchObject({ slug: 'digest-mismatch' });
    expect(found).toEqual(['good']);
  });

  it.each([
    ['no chunks at all', '{"type":"system"}\n{"type":"user"}\r\n'],
    ['no line', 'x'.repeat(1000)],
    ['without a digest', '4\r\ngood\r\n'],
    ['with length zero', encode('', '0')],
    ['shorter than declared', encode('good', '3')],
    ['too long', encode('good', (MAX_LIVE_CHUNK_BYTES + 1).toString(16))],
  ])('refuses chunks: %s', async (_name, text) => {
    await expect(decode(text)).rejects.toMatchObject({ slug: 'broken-encoding' });
  });

  it.each([1, 40, 60, 62, 63])('reports a body that ended within a chunk, after %i bytes', async (length) => {
    await expect(decode(encode('good').slice(0, length))).rejects.toMatchObject({ slug: 'upload-aborted' });
  });
});

describe('a body with a digest', () => {
  const digests = [{ algorithm: 'sha256', value: createHash('sha256').update('hello').digest() }] as const;
  const hold = async (text: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const chunk of holdUntilVerified(inPieces(text, 2), digests)) found.push(chunk.toString());
    return found;
  };

  it('is yielded whole, once the digest matched', async () => {
    expect(await hold('hello')).toEqual(['hello']);
    await expect(hold('hullo')).rejects.toMatchObject({ slug: 'digest-mismatch' });
    await expect(hold('x'.repeat(MAX_LIVE_CHUNK_BYTES + 1))).rejects.toMatchObject({ slug: 'invalid-digest' });
  });
});
