import { brotliCompressSync, constants, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { ProblemSlug } from '@recount/contract';
import { withFewStatements } from '@recount/local-postgres/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { MULTIPART_TYPE, toMultipart } from '../testing/multipart-body.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';
import { listUploadsUnderWay, openUpload } from '../testing/upload-under-way.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_UPLOADS = 4;
const text = Buffer.from(toTranscript('hostile', 300));

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi({
    maxTranscriptBytes: MAX_BYTES,
    maxConcurrentUploads: MAX_UPLOADS,
  });
});
afterAll(() => api.close());

const encodings: [name: string, headers: Record<string, string>, body: Buffer][] = [
  ['identity', {}, text],
  ['gzip', { 'content-encoding': 'gzip' }, gzipSync(text)],
  ['br', { 'content-encoding': 'br' }, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['zstd', { 'content-encoding': 'zstd' }, zstdCompressSync(text)],
  [
    'multipart',
    { 'content-type': MULTIPART_TYPE },
    toMultipart([
      { name: 'session_id', content: 'hostile' },
      { filename: '../../etc/passwd', content: text },
    ]),
  ],
];

/** An upload's bytes, damaged. They are flipped, cut, repeated, or mixed with other bytes. */
const damage = fc.record({
  flips: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { maxLength: 4 }),
  cutAt: fc.option(fc.nat(), { freq: 3 }),
  inserted: fc.option(fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 300 })), { freq: 3 }),
});

type Damage = typeof damage extends fc.Arbitrary<infer Value> ? Value : never;

function applyDamage(whole: Buffer, { flips, cutAt, inserted }: Damage): Buffer {
  let bytes = Buffer.from(whole);
  for (const [place, mask] of flips) bytes[place % bytes.length] = (bytes[place % bytes.length] ?? 0) ^ mask;
  if (inserted !== null) {
    const place = inserted[0] % (bytes.length + 1);
    bytes = Buffer.concat([bytes.subarray(0, place), inserted[1], bytes.subarray(place)]);
  }
  return cutAt === null ? bytes : bytes.subarray(0, cutAt % (bytes.length + 1));
}

describe.each(encodings)('damaged bytes of %s', (_name, headers, body) => {
  it('are stored if they decode, otherwise refused, and never crash the API', async () => {
    await fc.assert(
      fc.asyncProperty(damage, async (what) => {
        const before = await api.listStore();
        const response = await api.upload(applyDamage(body, what), { session_id: 'hostile' }, { headers });
        expect([200, 202, 207, 400, 413, 422]).toContain(response.status);
        await response.arrayBuffer();
        const grown = (await api.listStore()).length - before.length;
        if (response.status !== 207) expect(grown).toBe(response.status === 202 ? 1 : 0);
      }),
      withFewStatements(),
    );
  });
});

describe('bytes that are not a transcript', () => {
  const UNSUPPORTED = 'unsupported-format';
  const UNIDENTIFIED = 'unidentified-transcript';
  it.each<[name: string, problem: ProblemSlug, bytes: Buffer]>([
    ['a zip archive', UNSUPPORTED, Buffer.concat([Buffer.from('PK\x03\x04'), deflateRawSync(Buffer.alloc(100_000))])],
    ['gzip without Content-Encoding', UNSUPPORTED, gzipSync(Buffer.alloc(1024 ** 2))],
    ['bad UTF-8', UNSUPPORTED, Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0x0a])],
    ['NUL', UNSUPPORTED, Buffer.alloc(10_000)],
    ['nesting', UNIDENTIFIED, Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}\n`)],
    [
      'a deeply nested session id',
      UNIDENTIFIED,
      Buffer.from(`{"type":"user","session_id":${'['.repeat(50_000)}${']'.repeat(50_000)}}\n`),
    ],
    ['a prototype', UNIDENTIFIED, Buffer.from('{"__proto__":{"sessionId":"x","type":"user"}}\n')],
  ])('are refused: %s', async (_name, problem, bytes) => {
    const before = await api.listStore();
    await expectProblem(await api.upload(bytes), 422, problem);
    expect(await api.listStore()).toEqual(before);
    expect('sessionId' in {}).toBe(false);
  });

  it('are refused if they are a bomb within multipart, and stores nothing', async () => {
    const before = await api.listStore();
    const parts = [{ filename: 'a.jsonl', content: Buffer.alloc(3 * MAX_BYTES, '\n') }];
    const response = await api.upload(toMultipart(parts), {}, { headers: { 'content-type': MULTIPART_TYPE } });
    await expectProblem(response, 413, 'transcript-too-large');
    expect(await api.listStore()).toEqual(before);
  });
});

describe('very many concurrent uploads', () => {
  // A separate API, so that the test does not depend on how long the others hold their slots.
  let api: TestApi;
  beforeAll(async () => {
    api = await createTestApi({ maxConcurrentUploads: MAX_UPLOADS, uploadIdleTimeoutMs: 600_000 });
  });
  afterAll(() => api.close());

  it('are accepted up to the number of slots; the others learn when to retry', async () => {
    const headers = { 'content-length': String(text.length) };
    const held = Array.from({ length: MAX_UPLOADS }, (_, index) =>
      openUpload(
        { url: api.url, key: index % 2 === 0 ? api.keys.ingest : api.keys.other },
        { ...headers, connection: 'close' },
        text.subarray(0, 100),
      ),
    );
    await vi.waitFor(async () => expect(await listUploadsUnderWay(api.storeDirectory)).toHaveLength(MAX_UPLOADS));
    const responses = await Promise.all(Array.from({ length: 60 }, () => api.upload(text)));
    for (const response of responses) {
      expect(response.status).toBe(429);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    for (const upload of held) upload.send(text.subarray(100));
    for (const upload of held) expect(await upload.answer).toMatch(/^HTTP\/1.1 20[02] /);
    expect((await api.upload(text)).status).toBe(200);
  });

  it('leave the other slots to other keys if they are from one key', async () => {
    const KEY_SHARE = MAX_UPLOADS / 2;
    const greedy = Array.from({ length: 60 }, () =>
      openUpload(
        { url: api.url, key: api.keys.ingest },
        { 'content-length': String(text.length), connection: 'close' },
        text.subarray(0, 100),
      ),
    );
    const answers: string[] = [];
    for (const { answer } of greedy) void answer.then((text) => answers.push(text));
    await vi.waitFor(() => expect(answers).toHaveLength(60 - KEY_SHARE));
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 429 .*\r\nretry-after: 2\r\n.*of one key/is);
    await vi.waitFor(async () => expect(await listUploadsUnderWay(api.storeDirectory)).toHaveLength(KEY_SHARE));
    expect([200, 202]).toContain((await api.upload(text)).status);
    for (const upload of greedy) upload.destroy();
    await vi.waitFor(async () => expect(await listUploadsUnderWay(api.storeDirectory)).toEqual([]));
  });

  it('all end soon if their clients half-close or abort the connection', async () => {
    const head = { 'transfer-encoding': 'chunked' };
    for (const leave of ['end', 'destroy'] as const) {
      const uploads = Array.from({ length: MAX_UPLOADS }, (_, index) =>
        openUpload(
          { url: api.url, key: index % 2 === 0 ? api.keys.ingest : api.keys.other },
          head,
          `ffff\r\n${toTranscript('left', 2)}`,
        ),
      );
      await vi.waitFor(async () => expect(await listUploadsUnderWay(api.storeDirectory)).toHaveLength(MAX_UPLOADS));
      for (const upload of uploads) upload[leave]();
      await Promise.all(uploads.map(({ answer }) => answer));
      await vi.waitFor(async () => expect(await listUploadsUnderWay(api.storeDirectory)).toEqual([]));
      expect([200, 202]).toContain((await api.upload(text)).status);
    }
  });
});
