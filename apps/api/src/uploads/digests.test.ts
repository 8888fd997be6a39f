import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseDigests, verifyDigests } from './digests.ts';

const hash = (algorithm: string, text: string): Buffer => createHash(algorithm).update(text).digest();
const field = (name: string, algorithm: string, text: string): string =>
  `${name}=:${hash(algorithm, text).toString('base64')}:`;

async function* toBody(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function readAll(body: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of body) text += chunk.toString();
  return text;
}

describe('digests of headers', () => {
  it('cover what is sent, or what is decoded', () => {
    const sha256 = { algorithm: 'sha256', value: hash('sha256', 'x') };
    const sha512 = { algorithm: 'sha512', value: hash('sha512', 'x') };
    const both = `${field('sha-256', 'sha256', 'x')}, ${field('sha-512', 'sha512', 'x')}`;
    expect(parseDigests({ 'content-digest': both })).toEqual({ sent: [sha256, sha512], decoded: [] });
    expect(parseDigests({ 'repr-digest': both })).toEqual({ sent: [sha256, sha512], decoded: [] });
    expect(parseDigests({ 'unencoded-digest': both })).toEqual({ sent: [], decoded: [sha256, sha512] });
    const amazon = hash('sha256', 'x').toString('base64');
    expect(parseDigests({ 'x-amz-checksum-sha256': amazon })).toEqual({ sent: [sha256], decoded: [] });
    expect(parseDigests({ 'content-type': 'x' })).toEqual({ sent: [], decoded: [] });
  });

  it('are ignored for unknown algorithms beside a known one', () => {
    const value = `md5=:${hash('md5', 'x').toString('base64')}:, ${field('sha-256', 'sha256', 'x')}`;
    expect(parseDigests({ 'content-digest': value }).sent).toHaveLength(1);
  });

  it.each([
    ['content-digest', ''],
    ['content-digest', 'nonsense'],
    ['content-digest', 'sha-256=abc'],
    ['content-digest', 'sha-256="abc"'],
    ['content-digest', 'sha-256=:YWJj:'],
    ['content-digest', 'sha-256=:%%%:'],
    ['content-digest', 'sha-256=(:YWJj:)'],
    ['content-digest', `sha-512=:${hash('sha256', 'x').toString('base64')}:`],
    ['content-digest', `md5=:${hash('md5', 'x').toString('base64')}:`],
    ['content-digest', hash('sha256', 'x').toString('hex')],
    ['unencoded-digest', 'sha-256'],
    ['x-amz-checksum-sha256', hash('sha256', 'x').toString('hex')],
    ['x-amz-checksum-sha256', `:${hash('sha256', 'x').toString('base64')}:`],
    ['x-amz-checksum-sha256', ''],
  ])('are refused: %s: %s', (name, value) => {
    expect(() => parseDigests({ [name]: value })).toThrow(expect.objectContaining({ slug: 'invalid-digest' }));
  });
});

describe('a body', () => {
  const right = parseDigests({ 'content-digest': field('sha-256', 'sha256', 'hello') }).sent;
  const wrong = parseDigests({ 'content-digest': field('sha-512', 'sha512', 'hullo') }).sent;
  const mismatch = { slug: 'digest-mismatch' };

  it('passes unchanged if it matches its digests', async () => {
    expect(await readAll(verifyDigests(toBody('hel', 'lo'), []))).toBe('hello');
    expect(await readAll(verifyDigests(toBody('hel', 'lo'), right))).toBe('hello');
  });

  it('fails at its end if any of them does not match', async () => {
    await expect(readAll(verifyDigests(toBody('hel', 'lo'), [...right, ...wrong]))).rejects.toMatchObject(mismatch);
    await expect(readAll(verifyDigests(toBody('hel'), right))).rejects.toMatchObject(mismatch);
    await expect(readAll(verifyDigests(toBody(), right))).rejects.toMatchObject(mismatch);
  });

  it('is compared with its trailers', async () => {
    expect(await readAll(verifyDigests(toBody('hello'), [], () => right))).toBe('hello');
    await expect(readAll(verifyDigests(toBody('hullo'), [], () => right))).rejects.toMatchObject(mismatch);
  });
});
