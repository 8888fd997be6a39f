import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { type UploadReceipt, uploadReceiptSchema } from '@recount/contract';
import { RawStoreError } from '@recount/storage';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';
import { openUpload, type UploadUnderWay, waitUntilStoring } from '../testing/upload-under-way.ts';

const MAX_BYTES = 4 * 1024 * 1024;

const compressBrotli = (bytes: string | Uint8Array): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

let api: TestApi;
let session: string;
let sessionNumber = 0;
let before: { objects: string[]; transcripts: number };

beforeAll(async () => {
  api = await createTestApi({ maxTranscriptBytes: MAX_BYTES });
});
beforeEach(async () => {
  session = `session-${++sessionNumber}`;
  before = { objects: await api.listStore(), transcripts: await api.countTranscripts() };
});
afterAll(() => api.close());

async function expectNothingBehind(): Promise<void> {
  expect(await api.listStore()).toEqual(before.objects);
  expect(await api.countTranscripts()).toBe(before.transcripts);
}

const open = (headers: Record<string, string>, beginning?: string): UploadUnderWay =>
  openUpload({ url: api.url, key: api.keys.ingest }, headers, beginning);

describe('an upload', () => {
  it('is stored unchanged, gets a row and a job, and returns its location', async () => {
    const text = toTranscript(session, 10);
    const response = await api.upload(text, { path: `/home/ada/.claude/projects/app/${session}.jsonl` });
    expect(response.status).toBe(202);
    const receipt = uploadReceiptSchema.parse(await response.json());
    expect(receipt).toMatchObject({
      session_id: session,
      status: 'queued',
      sha256: createHash('sha256').update(text).digest('hex'),
      size_bytes: Buffer.byteLength(text),
      duplicate: false,
    });
    expect(response.headers.get('location')).toBe(`/v1/transcripts/${receipt.transcript_id}`);
    await api.work();
    const transcript = await api.fetch(`/v1/transcripts/${receipt.transcript_id}`);
    expect(await transcript.json()).toMatchObject({ status: 'ingested', total_messages: 10 });
    const raw = await api.fetch(`/v1/transcripts/${receipt.transcript_id}/raw`);
    expect(await raw.text()).toBe(text);
  });

  it('is a duplicate the second time, encoded or not', async () => {
    const text = toTranscript(session, 10);
    const first = (await (await api.upload(text)).json()) as { transcript_id: string };
    const second = await api.upload(gzipSync(text), {}, { headers: { 'content-encoding': 'gzip' } });
    expect(second.status).toBe(200);
    expect(second.headers.get('location')).toBe(`/v1/transcripts/${first.transcript_id}`);
    expect(await second.json()).toMatchObject({ transcript_id: first.transcript_id, duplicate: true });
    expect((await api.listStore()).length).toBe(before.objects.length + 1);
  });

  it('reports what became of its bytes, and repairs damaged ones', async () => {
    const text = toTranscript(session, 10);
    const send = async () => (await (await api.upload(text)).json()) as UploadReceipt;
    const first = await send();
    expect(first).toMatchObject({ duplicate: false, raw_object: 'stored' });
    const [key = ''] = (await api.listStore()).filter((name) => name.includes(first.transcript_id));
    const path = join(api.storeDirectory, key);
    const bytes = await readFile(path);
    bytes[5] = (bytes[5] ?? 0) ^ 1;
    await writeFile(path, bytes);
    expect(await send()).toMatchObject({ ...first, duplicate: true, raw_object: 'healed' });
    expect(await send()).toMatchObject({ ...first, duplicate: true, raw_object: 'duplicate' });
    const raw = await api.fetch(`/v1/transcripts/${first.transcript_id}/raw`);
    expect(await raw.text()).toBe(text);
  });

  it('is stored once, however many copies arrive at the same time', async () => {
    const text = toTranscript(session, 10);
    const responses = await Promise.all(Array.from({ length: 8 }, () => api.upload(text)));
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(7).fill(200), 202]);
    const receipts = (await Promise.all(responses.map((response) => response.json()))) as { transcript_id: string }[];
    expect(new Set(receipts.map(({ transcript_id }) => transcript_id)).size).toBe(1);
    expect(await api.countTranscripts()).toBe(before.transcripts + 1);
    expect((await api.listStore()).length).toBe(before.objects.length + 1);
  });

  it.each([
    ['gzip', gzipSync],
    ['br', compressBrotli],
    ['zstd', zstdCompressSync],
  ] as const)('may be %s encoded', async (encoding, compress) => {
    const text = toTranscript(session, 300);
    const response = await api.upload(compress(text), {}, { headers: { 'content-encoding': encoding } });
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({
      size_bytes: Buffer.byteLength(text),
      sha256: createHash('sha256').update(text).digest('hex'),
    });
  });

  it('decodes all of several frames', async () => {
    const parts = [toTranscript(session, 5), toTranscript(session, 3), toTranscript(session, 4)];
    const body = Buffer.concat(parts.map((part) => zstdCompressSync(part)));
    const response = await api.upload(body, {}, { headers: { 'content-encoding': 'zstd' } });
    expect(await response.json()).toMatchObject({ size_bytes: Buffer.byteLength(parts.join('')) });
  });

  it.each(['application/jsonl', 'application/octet-stream', 'text/plain', 'application/json', 'x/y; charset=z'])(
    'may have the type %s',
    async (type) => {
      const response = await api.upload(toTranscript(session, 2), {}, { headers: { 'content-type': type } });
      expect(response.status).toBe(202);
    },
  );

  it('may have no type and be chunked', async () => {
    const body = toTranscript(session, 2);
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const upload = open({ 'transfer-encoding': 'chunked', connection: 'close' }, chunks);
    expect(await upload.answer).toMatch(/^HTTP\/1.1 202 /);
  });

  it('continues after 100 Continue, which is sent only if the upload is accepted', async () => {
    const body = toTranscript(session, 2);
    const expectation = { expect: '100-continue', 'content-length': String(body.length), connection: 'close' };
    expect(await open(expectation, body).answer).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 202 /);
    const refused = open({ ...expectation, authorization: 'Bearer wrong' });
    expect(await refused.answer).toMatch(/^HTTP\/1.1 401 /);
  });

  it('takes session and sub-agent from the path, and a session in the query takes precedence', async () => {
    const parent = '11111111-2222-4333-8444-555555555555';
    const path = `/p/${parent}/subagents/agent-a1b2.jsonl`;
    const agent = await api.upload(toTranscript(session, 2), { path });
    expect(await agent.json()).toMatchObject({ session_id: `${parent}:a1b2` });
    const named = await api.upload(toTranscript(session, 2), { path, session_id: `mine ${session}/ü` });
    expect(await named.json()).toMatchObject({ session_id: `mine ${session}/ü` });
  });

  it('may be empty, or of unknown lines, if the request names agent and session', async () => {
    const unknown = await api.upload('{"type":"note"}\n', { session_id: `${session}-notes`, agent: 'claude-code' });
    expect(unknown.status).toBe(202);
    const response = await api.upload('', { session_id: session, agent: 'claude-code' });
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ size_bytes: 0, session_id: session });
    await api.work();
    expect(await (await api.fetch(`/v1/sessions/${session}/messages`)).json()).toMatchObject({ messages: [] });
  });
});

describe('a refused upload leaves nothing behind', () => {
  it('larger than the limit, by its own length header', async () => {
    const answer = await open({ 'content-length': String(10 * MAX_BYTES) }, 'x').answer;
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(answer).toMatch(/connection: close/i);
    await expectNothingBehind();
  });

  it('larger than the limit, as it turns out while reading', async () => {
    const response = await api.upload(toTranscript(session, 20_000));
    await expectProblem(response, 413, 'transcript-too-large');
    await expectNothingBehind();
  });

  it.each([
    ['gzip', gzipSync],
    ['br', compressBrotli],
    ['zstd', zstdCompressSync],
  ] as const)('a %s bomb', async (encoding, compress) => {
    const bomb = compress(Buffer.concat([Buffer.from(toTranscript(session, 2)), Buffer.alloc(8 * MAX_BYTES, '\n')]));
    const response = await api.upload(bomb, {}, { headers: { 'content-encoding': encoding } });
    await expectProblem(response, 413, 'transcript-too-large');
    await expectNothingBehind();
  });

  it.each(['gzip', 'br', 'zstd'])('not %s, although it claims to be', async (encoding) => {
    const response = await api.upload(toTranscript(session, 9), {}, { headers: { 'content-encoding': encoding } });
    await expectProblem(response, 400, 'broken-encoding');
    await expectNothingBehind();
  });

  it.each([
    ['gzip', gzipSync],
    ['br', compressBrotli],
    ['zstd', zstdCompressSync],
  ] as const)('%s data that end too early', async (encoding, compress) => {
    const bytes = compress(toTranscript(session, 2000));
    const body = bytes.subarray(0, bytes.length - 10);
    const response = await api.upload(body, {}, { headers: { 'content-encoding': encoding } });
    await expectProblem(response, 400, 'broken-encoding');
    await expectNothingBehind();
  });

  it.each(['deflate', 'gzip, br', 'compress'])('encoded as %s', async (encoding) => {
    const response = await api.upload(toTranscript(session, 2), {}, { headers: { 'content-encoding': encoding } });
    await expectProblem(response, 415, 'unsupported-encoding');
    expect(response.headers.get('accept-encoding')).toBe('gzip, br, zstd');
    await expectNothingBehind();
  });

  it('refuses another multipart type', async () => {
    const response = await api.upload('--x--', {}, { headers: { 'content-type': 'multipart/mixed; boundary=x' } });
    await expectProblem(response, 415, 'unsupported-media-type');
    await expectNothingBehind();
  });

  it('without a session', async () => {
    await expectProblem(await api.upload('{"type":"summary","summary":"no id"}\n'), 422, 'unidentified-transcript');
    for (const query of [{}, { session_id: session }, { agent: 'claude-code' }, { path: `${session}.jsonl` }]) {
      const { detail } = await expectProblem(await api.upload('', query), 422, 'empty-transcript');
      expect(detail).toBe('The body is empty. It is accepted anyway if agent and session_id identify it');
    }
    await expectNothingBehind();
  });

  it('refuses an unknown agent', async () => {
    for (const query of [{ session_id: session }, { agent: 'claude-code', path: 'notes.jsonl' }]) {
      const { detail } = await expectProblem(await api.upload('{"type":"note"}\n', query), 422, 'unsupported-format');
      expect(detail).toContain('not recognised as a transcript of any agent that recount reads: Claude Code (claude-');
    }
    await expectNothingBehind();
  });

  it.each(['', 'a\nb', '.', '..', 'x'.repeat(513)])('with an invalid session id: %j', async (id) => {
    const response = await api.upload(toTranscript(session, 2), { session_id: id });
    await expectProblem(response, 422, 'invalid-session-id');
    await expectNothingBehind();
  });

  it('refuses an unknown parameter', async () => {
    const response = await api.upload(toTranscript(session, 2), { sesion_id: 'misspelt' });
    const problem = await expectProblem(response, 400, 'invalid-request');
    expect(problem.errors).toEqual([expect.objectContaining({ location: 'query', field: 'sesion_id' })]);
    await expectNothingBehind();
  });

  it.each([
    ['with a known length', { 'content-length': '100000' }, ''],
    ['in chunks', { 'transfer-encoding': 'chunked' }, 'ffff\r\n'],
  ])('whose client disconnects: %s', async (_name, headers, chunkHead) => {
    const logged = api.logLines.length;
    const upload = open(headers, chunkHead + toTranscript(session, 10));
    await waitUntilStoring(api.storeDirectory);
    upload.destroy();
    await vi.waitFor(() => expect(api.logLines.slice(logged).join('')).toContain('"status":499'));
    await vi.waitFor(expectNothingBehind);
  });

  it('whose client half-closes before the last chunk', async () => {
    const upload = open({ 'transfer-encoding': 'chunked' }, `1000\r\n${toTranscript(session, 5)}`);
    await waitUntilStoring(api.storeDirectory);
    upload.end();
    await upload.answer;
    await vi.waitFor(expectNothingBehind);
  });

  it('refuses malformed chunks', async () => {
    const chunk = toTranscript(session, 1);
    const upload = open({ 'transfer-encoding': 'chunked' }, `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    await waitUntilStoring(api.storeDirectory);
    upload.send('no chunk\r\n');
    const answer = await upload.answer;
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('urn:recount:problem:invalid-request');
    await vi.waitFor(expectNothingBehind);
  });

  it('whose client falls silent', async () => {
    const impatient = await createTestApi({ uploadIdleTimeoutMs: 300 });
    onTestFinished(() => impatient.close());
    const target = { url: impatient.url, key: impatient.keys.ingest };
    const answer = await openUpload(target, { 'content-length': '100000' }, toTranscript(session, 5)).answer;
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer).toContain('urn:recount:problem:upload-idle');
    expect([await impatient.listStore(), await impatient.countTranscripts()]).toEqual([[], 0]);
  });

  it('answers an early refusal while the client still sends', async () => {
    const body = Buffer.alloc(3 * MAX_BYTES, 'x');
    const results = await Promise.all(
      Array.from({ length: 8 }, () =>
        api.upload(body, {}, { headers: { 'content-encoding': 'gzip' } }).then(({ status }) => status),
      ),
    );
    expect(results).toEqual(Array(8).fill(413));
    const unauthorized = await api.upload(body.subarray(MAX_BYTES), {}, { headers: { authorization: 'Bearer no' } });
    await expectProblem(unauthorized, 401, 'invalid-key');
  });
});

describe('concurrent uploads', () => {
  it('are refused above the limit, and accepted again later', async () => {
    const busy = await createTestApi({ maxConcurrentUploads: 1 });
    try {
      const text = toTranscript(session, 3);
      const headers = { 'content-length': String(text.length), connection: 'close' };
      const upload = openUpload({ url: busy.url, key: busy.keys.ingest }, headers, text.slice(0, 10));
      await waitUntilStoring(busy.storeDirectory);
      const refused = await busy.upload(text);
      await expectProblem(refused, 429, 'too-many-uploads');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      upload.send(text.slice(10));
      expect(await upload.answer).toMatch(/^HTTP\/1.1 202 /);
      expect((await busy.upload(text)).status).toBe(200);
    } finally {
      await busy.close();
    }
  });
});

describe('an upload during an outage', () => {
  const failing = (message: string, code: string) => Object.assign(new Error(message), { code });

  it('is asked to retry if the store is unavailable', async () => {
    const broken = await createTestApi({}, ({ rawStore }) => ({
      rawStore: {
        ...rawStore,
        put: async (_key, body) => {
          for await (const _chunk of body) throw new RawStoreError('unavailable', 'connect ECONNREFUSED');
          return { sizeBytes: 0 };
        },
      },
    }));
    try {
      const response = await broken.upload(toTranscript(session, 2));
      await expectProblem(response, 503, 'store-unavailable');
      expect(response.headers.get('retry-after')).toBe('5');
      expect(await broken.listStore()).toEqual([]);
      expect(await broken.countTranscripts()).toBe(0);
    } finally {
      await broken.close();
    }
  });

  it('is asked to retry if the database is unavailable', async () => {
    let isAway = false;
    const broken = await createTestApi({}, ({ database }) => ({
      database: {
        ...database,
        withTransaction: (work) =>
          isAway ? Promise.reject(failing('connect ECONNREFUSED', 'ECONNREFUSED')) : database.withTransaction(work),
      },
    }));
    try {
      isAway = true;
      const response = await broken.upload(toTranscript(session, 2));
      await expectProblem(response, 503, 'database-unavailable');
      expect(await broken.countTranscripts()).toBe(0);
      // The object stays for `recount doctor`, because a commit whose answer was lost may have succeeded.
      expect(await broken.listStore()).toHaveLength(1);
      isAway = false;
      expect((await broken.upload(toTranscript(session, 2))).status).toBe(202);
    } finally {
      await broken.close();
    }
  });

  it('is asked to retry before the body is sent if the database is already unavailable', async () => {
    const broken = await createTestApi();
    await broken.database.close();
    const response = await broken.upload(toTranscript(session, 2));
    await expectProblem(response, 503, 'database-unavailable');
    expect(await broken.listStore()).toEqual([]);
    expect(broken.logLines.join('')).toContain('Cannot use a pool after calling end');
    broken.database.close = async () => undefined;
    await broken.close();
  });
});

describe('private data', () => {
  it('appears in no log line, with keys, paths and prompts', async () => {
    await api.upload(toTranscript(session, 4), { path: '/home/secret-person/file.jsonl' });
    await api.fetch('/v1/sessions?prompt=secret-prompt');
    await api.fetch('/v1/secret-route?x=1');
    await api.upload('{"secret-text"', { session_id: `${session}-secret` });
    const log = api.logLines.join('');
    expect(log).toContain('"route":"/v1/transcripts"');
    expect(log).toContain(HOME_WORKSPACE);
    for (const secret of ['secret', 'prompt 0', ...Object.values(api.keys)]) expect(log).not.toContain(secret);
    expect(log).not.toMatch(/\\n +at /);
  });
});

describe('a digest', () => {
  const digestOf = (bytes: string | Uint8Array, algorithm: 'sha256' | 'sha512' = 'sha256'): string =>
    `${algorithm === 'sha256' ? 'sha-256' : 'sha-512'}=:${createHash(algorithm).update(bytes).digest('base64')}:`;
  const amazonOf = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('base64');

  it.each([
    ['Content-Digest', (text: string) => ({ 'content-digest': digestOf(text) })],
    ['Content-Digest of SHA-512', (text: string) => ({ 'content-digest': digestOf(text, 'sha512') })],
    ['Repr-Digest', (text: string) => ({ 'repr-digest': digestOf(text) })],
    ['Unencoded-Digest', (text: string) => ({ 'unencoded-digest': digestOf(text) })],
    ['x-amz-checksum-sha256', (text: string) => ({ 'x-amz-checksum-sha256': amazonOf(text) })],
  ])('%s is checked, and nothing is stored if it does not match', async (_name, toHeaders) => {
    const text = toTranscript(session, 10);
    await expectProblem(await api.upload(`${text} `, {}, { headers: toHeaders(text) }), 400, 'digest-mismatch');
    await expectNothingBehind();
    expect((await api.upload(text, {}, { headers: toHeaders(text) })).status).toBe(202);
  });

  it('covers the encoded or the decoded bytes, as its name says', async () => {
    const text = toTranscript(session, 10);
    const packed = gzipSync(text);
    const send = (headers: Record<string, string>) =>
      api.upload(packed, {}, { headers: { 'content-encoding': 'gzip', ...headers } });
    for (const headers of [
      { 'content-digest': digestOf(text) },
      { 'repr-digest': digestOf(text) },
      { 'x-amz-checksum-sha256': amazonOf(text) },
      { 'unencoded-digest': digestOf(packed) },
    ]) {
      await expectProblem(await send(headers), 400, 'digest-mismatch');
    }
    await expectNothingBehind();
    const right = { 'content-digest': digestOf(packed), 'unencoded-digest': digestOf(text) };
    expect((await send(right)).status).toBe(202);
  });

  it('is refused before the body is read if it is malformed', async () => {
    const headers = { 'content-digest': 'sha-256=deadbeef' };
    await expectProblem(await api.upload(toTranscript(session, 2), {}, { headers }), 400, 'invalid-digest');
    await expectNothingBehind();
  });

  it('is refused rather than ignored for a multipart body', async () => {
    const form = new FormData();
    form.append('file', new Blob([toTranscript(session, 2)]), `${session}.jsonl`);
    const response = await api.fetch('/v1/transcripts', {
      method: 'POST',
      body: form,
      headers: { 'content-digest': digestOf('x') },
    });
    await expectProblem(response, 400, 'invalid-digest');
    await expectNothingBehind();
  });

  it.each([
    ['content-digest', 400],
    ['unencoded-digest', 400],
    ['content-digest', 202],
    ['unencoded-digest', 202],
  ])('may follow the body as a trailer: %s, answered with %i', async (field, status) => {
    const text = toTranscript(session, 4);
    const upload = open({ 'transfer-encoding': 'chunked', trailer: field, connection: 'close' });
    upload.send(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n`);
    upload.send(`${field}: ${digestOf(status === 202 ? text : 'x')}\r\n\r\n`);
    const answer = await upload.answer;
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (status === 202) return;
    expect(answer).toContain('digest-mismatch');
    await expectNothingBehind();
  });
});
