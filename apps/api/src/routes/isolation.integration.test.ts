import type { UploadReceipt } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

const PARENT = '33333333-2222-4333-8444-555555555555';

let api: TestApi;
let receipt: UploadReceipt;

beforeAll(async () => {
  api = await createTestApi();
  receipt = (await (await api.upload(toTranscript(PARENT, 4), { path: `/p/${PARENT}.jsonl` })).json()) as UploadReceipt;
  await api.upload(toTranscript(PARENT, 4), { path: `/p/${PARENT}/subagents/agent-a1.jsonl` });
  await api.work();
});
afterAll(() => api.close());

const asOther = (path: string, init: RequestInit = {}): Promise<Response> =>
  api.fetch(path, { ...init, headers: { authorization: `Bearer ${api.keys.other}` } });

/** Every route that reads or changes what a workspace has, on what the home workspace has. */
const routes = (): [method: string, path: string, ofHome: number, ofOther: number][] => {
  const transcript = `/v1/transcripts/${receipt.transcript_id}`;
  const session = `/v1/sessions/${PARENT}`;
  return [
    ['GET', '/v1/transcripts', 200, 200],
    ['GET', transcript, 200, 404],
    ['GET', `${transcript}/issues`, 200, 404],
    ['GET', `${transcript}/raw`, 200, 404],
    ['HEAD', `${transcript}/raw`, 200, 404],
    ['GET', `${transcript}/lines/0`, 200, 404],
    ['POST', `${transcript}/reparse`, 202, 404],
    ['GET', '/v1/sessions', 200, 200],
    ['GET', session, 200, 404],
    ['GET', `${session}/messages`, 200, 404],
    ['GET', `${session}/messages?transcript_id=${receipt.transcript_id}`, 200, 404],
    ['GET', `${session}/subagents`, 200, 404],
    ['DELETE', session, 204, 404],
  ];
};

describe('another workspace', () => {
  it('is among these tests with every route under /v1', () => {
    const document = api.app.swagger() as { paths: Record<string, Record<string, unknown>> };
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const walked = new Set(
      routes().map(([method, path]) => {
        const [pattern = ''] = path.split('?');
        return `${method} ${pattern
          .replace(receipt.transcript_id, '{transcript_id}')
          .replace(PARENT, '{session_id}')
          .replace(/lines\/0$/, 'lines/{byte_offset}')}`;
      }),
    );
    walked.add('POST /v1/transcripts');
    expect(documented.filter((route) => route.includes('/v1/')).sort()).toEqual([...walked].sort());
  });

  it('sees and changes nothing', async () => {
    for (const [method, path, , status] of routes()) {
      const response = await asOther(path, { method });
      expect([method, path, response.status]).toEqual([method, path, status]);
      const text = await response.text();
      for (const secret of [PARENT, receipt.sha256, 'prompt 0']) expect(text).not.toContain(secret);
    }
    for (const query of ['session_id', 'parent_session_id']) {
      const list = query === 'session_id' ? 'transcripts' : 'sessions';
      expect(await (await asOther(`/v1/${list}?${query}=${PARENT}`)).json()).toEqual({ [list]: [], next_cursor: null });
    }
    const byHash = await asOther(`/v1/transcripts?sha256=${receipt.sha256}`);
    expect(await byHash.json()).toMatchObject({ transcripts: [] });
  });

  it('may have the same session with the same bytes, and neither knows', async () => {
    const init = { method: 'POST', body: toTranscript(PARENT, 4) };
    const response = await asOther(`/v1/transcripts?path=/p/${PARENT}.jsonl`, init);
    expect(response.status).toBe(202);
    const own = (await response.json()) as UploadReceipt;
    expect(own).toMatchObject({ duplicate: false, sha256: receipt.sha256 });
    expect(own.transcript_id).not.toBe(receipt.transcript_id);
    await api.work();
    const deleted = await asOther(`/v1/sessions/${PARENT}`, { method: 'DELETE' });
    expect(deleted.status).toBe(204);
    expect((await asOther(`/v1/sessions/${PARENT}`)).status).toBe(404);
  });

  it('has taken nothing from the home workspace', async () => {
    for (const [method, path, status] of routes()) {
      const response = await api.fetch(path, { method });
      expect([method, path, response.status]).toEqual([method, path, status]);
      await response.text();
    }
  });
});
