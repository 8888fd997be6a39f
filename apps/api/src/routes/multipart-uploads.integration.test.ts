import { gzipSync } from 'node:zlib';
import { type FileResult, multipartReceiptSchema, type UploadProblem, uploadProblemSchema } from '@recount/contract';
import { RawStoreError } from '@recount/storage';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { MULTIPART_TYPE, type TestPart, toMultipart } from '../testing/multipart-body.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';
import { openUpload } from '../testing/upload-under-way.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const FOREIGN = '{"type":"note"}\n';

let api: TestApi;
let session: string;
let sessionNumber = 0;
let objectCount: number;

beforeAll(async () => {
  api = await createTestApi({ maxTranscriptBytes: MAX_BYTES });
});
beforeEach(async () => {
  session = `session-${++sessionNumber}`;
  objectCount = (await api.listStore()).length;
});
afterAll(() => api.close());

const post = (body: Buffer, query: Record<string, string> = {}): Promise<Response> =>
  api.upload(body, query, { headers: { 'content-type': MULTIPART_TYPE } });

async function send(parts: TestPart[], query?: Record<string, string>): Promise<[number, FileResult[]]> {
  const response = await post(toMultipart(parts), query);
  return [response.status, multipartReceiptSchema.parse(await response.json()).results];
}

async function readProblem(response: Response): Promise<UploadProblem> {
  expect(response.headers.get('content-type')).toContain('application/problem+json');
  return uploadProblemSchema.parse(await response.json());
}

const errorOf = (slug: string) => expect.objectContaining({ type: `urn:recount:problem:${slug}` });

describe('a multipart upload', () => {
  it('accepts many files, each with its path as file name', async () => {
    const parent = '22222222-2222-4333-8444-555555555555';
    const [status, results] = await send([
      { filename: `projects/app/${parent}.jsonl`, content: toTranscript(parent, 4) },
      { filename: `projects/app/${parent}/subagents/agent-a1.jsonl`, content: toTranscript(parent, 6) },
      { filename: 'ünicode.jsonl', content: toTranscript(session, 2000) },
    ]);
    expect(status).toBe(202);
    expect(results).toMatchObject([
      { path: `projects/app/${parent}.jsonl`, session_id: parent, duplicate: false },
      { path: `projects/app/${parent}/subagents/agent-a1.jsonl`, session_id: `${parent}:a1`, duplicate: false },
      { path: 'ünicode.jsonl', session_id: session, duplicate: false },
    ]);
    expect((await api.listStore()).length).toBe(objectCount + 3);
  });

  it('is answered with 200 if all files are stored already', async () => {
    const parts = [{ filename: 'a.jsonl', content: toTranscript(session, 3) }];
    expect((await send(parts))[0]).toBe(202);
    expect(await send(parts)).toEqual([200, [expect.objectContaining({ session_id: session, duplicate: true })]]);
  });

  it('stores the other files if one is bad', async () => {
    const [status, results] = await send([
      { filename: '1.jsonl', content: toTranscript(`${session}-1`, 3) },
      { filename: 'notes.jsonl', content: FOREIGN.repeat(20_000) },
      { filename: '', content: '' },
      { filename: '4.jsonl', content: toTranscript(`${session}-4`, 3) },
    ]);
    expect(status).toBe(207);
    expect(results).toEqual([
      expect.objectContaining({ path: '1.jsonl', session_id: `${session}-1` }),
      { path: 'notes.jsonl', error: errorOf('unsupported-format') },
      { path: null, error: errorOf('empty-transcript') },
      expect.objectContaining({ path: '4.jsonl', session_id: `${session}-4` }),
    ]);
    expect((await api.listStore()).length).toBe(objectCount + 2);
  });

  it('takes a session id for one file from a field or the query', async () => {
    const file = { filename: 'a.jsonl', content: toTranscript(session, 3) };
    const [, [byField]] = await send([{ name: 'session_id', content: `${session}-field` }, file]);
    expect(byField).toMatchObject({ session_id: `${session}-field` });
    const [, [byQuery]] = await send([file], { session_id: `${session}-query` });
    expect(byQuery).toMatchObject({ session_id: `${session}-query` });
    const [status, results] = await send([file, file], { session_id: `${session}-two` });
    expect(status).toBe(207);
    expect(results).toMatchObject([{ session_id: `${session}-two` }, { error: errorOf('invalid-session-id') }]);
  });

  it('stops at an error of the whole request, and reports what was stored before it', async () => {
    const first = { filename: '1.jsonl', content: toTranscript(session, 3) };
    const late = await readProblem(await post(toMultipart([first, { name: 'session_id', content: 'late' }])));
    expect(late).toMatchObject({ status: 400, type: 'urn:recount:problem:malformed-multipart' });
    expect(late.results).toMatchObject([{ session_id: session, duplicate: false }]);

    const large = { filename: '2.jsonl', content: Buffer.alloc(MAX_BYTES + 2 * 1024 * 1024, '\n') };
    const tooLarge = await readProblem(await post(toMultipart([first, large])));
    expect(tooLarge).toMatchObject({ status: 413, type: 'urn:recount:problem:transcript-too-large' });
    expect((await api.listStore()).length).toBe(objectCount + 1);
  });

  it.each([
    ['without a boundary', 'multipart/form-data', toMultipart([{ filename: 'a', content: 'x' }])],
    ['without files', MULTIPART_TYPE, toMultipart([{ name: 'session_id', content: 'x' }])],
    ['that is empty', MULTIPART_TYPE, Buffer.alloc(0)],
    ['that is not multipart', MULTIPART_TYPE, Buffer.from('{"type":"user"}\n'.repeat(100))],
    ['with a field named after a prototype', MULTIPART_TYPE, toMultipart([{ name: 'constructor', content: 'x' }])],
  ])('%s is malformed', async (_name, type, body) => {
    const response = await api.upload(body, {}, { headers: { 'content-type': type } });
    const problem = await readProblem(response);
    expect(problem).toMatchObject({ status: 400, type: 'urn:recount:problem:malformed-multipart' });
    expect((await api.listStore()).length).toBe(objectCount);
  });

  it('has at most ten fields besides its files', async () => {
    const send = async (count: number): Promise<number> => {
      const fields = Array.from({ length: count }, (_, index) => ({ name: `note-${index}`, content: 'x' }));
      const file = { filename: 'a.jsonl', content: toTranscript(`${session}-fields`, 2) };
      return (await post(toMultipart([...fields, file]))).status;
    };
    expect(await send(10)).toBe(202);
    expect(await send(11)).toBe(400);
  });

  it('is malformed if it ends within a file, and stores no part of that file', async () => {
    const whole = { filename: '1.jsonl', content: toTranscript(`${session}-1`, 3) };
    const cut = { filename: '2.jsonl', content: toTranscript(`${session}-2`, 300) };
    const problem = await readProblem(await post(toMultipart([whole, cut], '')));
    expect(problem).toMatchObject({ status: 400, type: 'urn:recount:problem:malformed-multipart' });
    expect(problem.results).toMatchObject([{ session_id: `${session}-1` }]);
    expect((await api.listStore()).length).toBe(objectCount + 1);
  });

  it('cannot be compressed as a whole', async () => {
    const body = gzipSync(toMultipart([{ filename: 'a.jsonl', content: toTranscript(session, 3) }]));
    const headers = { 'content-type': MULTIPART_TYPE, 'content-encoding': 'gzip' };
    expect(await readProblem(await api.upload(body, {}, { headers }))).toMatchObject({ status: 415 });
  });

  it('is limited to a number of files', async () => {
    const parts = Array.from({ length: 1001 }, () => ({ filename: 'a.jsonl', content: FOREIGN }));
    const problem = await readProblem(await post(toMultipart(parts)));
    expect(problem).toMatchObject({ status: 400, detail: 'It has too many files' });
    expect(problem.results).toHaveLength(1000);
  });

  it.each([
    ['goes away', 600_000],
    ['falls silent', 1000],
  ])('whose client %s keeps the files that were complete', async (how, uploadIdleTimeoutMs) => {
    const left = await createTestApi({ uploadIdleTimeoutMs });
    onTestFinished(() => left.close());
    const whole = { filename: '1.jsonl', content: toTranscript(`${session}-1`, 3) };
    const cut = { filename: '2.jsonl', content: toTranscript(`${session}-2`, 3000) };
    const body = toMultipart([whole, cut], '');
    const headers = { 'content-type': MULTIPART_TYPE, 'content-length': String(body.length * 2) };
    const upload = openUpload({ url: left.url, key: left.keys.ingest }, headers, body);
    if (how === 'goes away') {
      // The first file is stored, and the second is in progress.
      await vi.waitFor(async () => expect(await left.listStore()).toHaveLength(2));
      upload.destroy();
    } else {
      const answer = await upload.answer;
      expect(answer).toMatch(/^HTTP\/1.1 408 /);
      expect(answer).toContain(`"session_id":"${session}-1"`);
    }
    await vi.waitFor(async () => expect(await left.listStore()).toHaveLength(1));
  });

  it('stops if the store is unavailable', async () => {
    let putCount = 0;
    const broken = await createTestApi({}, ({ rawStore }) => ({
      rawStore: {
        ...rawStore,
        put: (...call) => {
          if (++putCount > 1) return Promise.reject(new RawStoreError('unavailable', 'connect ECONNREFUSED'));
          return rawStore.put(...call);
        },
      },
    }));
    try {
      const parts = [1, 2, 3].map((index) => ({ filename: `${index}`, content: toTranscript(`s-${index}`, 2) }));
      const headers = { 'content-type': MULTIPART_TYPE };
      const response = await broken.upload(toMultipart(parts), {}, { headers });
      expect(response.headers.get('retry-after')).toBe('5');
      const problem = await readProblem(response);
      expect(problem).toMatchObject({ status: 503, results: [{ session_id: 's-1' }] });
      expect(putCount).toBe(2);
    } finally {
      await broken.close();
    }
  });
});
