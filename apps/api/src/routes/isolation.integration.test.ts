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

// The authorization table checks that no route admits another workspace; here, that no filter leaks its data.
describe('another workspace', () => {
  it('finds nothing by any filter', async () => {
    expect(await (await asOther('/v1/sessions')).json()).toMatchObject({ sessions: [] });
    expect(await (await asOther('/v1/transcripts')).json()).toMatchObject({ transcripts: [] });
    const bySession = await asOther(`/v1/transcripts?session_id=${PARENT}`);
    expect(await bySession.json()).toEqual({ transcripts: [], next_cursor: null });
    const byParent = await asOther(`/v1/sessions?parent_session_id=${PARENT}`);
    expect(await byParent.json()).toMatchObject({ status: 422, candidates: [] });
    const byHash = await asOther(`/v1/transcripts?sha256=${receipt.sha256}`);
    expect(await byHash.json()).toMatchObject({ transcripts: [] });
  });

  it('may store the same session with the same bytes, and neither sees the other', async () => {
    const init = { method: 'POST', body: toTranscript(PARENT, 4) };
    const response = await asOther(`/v1/transcripts?path=/p/${PARENT}.jsonl`, init);
    expect(response.status).toBe(202);
    const own = (await response.json()) as UploadReceipt;
    expect(own).toMatchObject({ duplicate: false, sha256: receipt.sha256 });
    expect(own.transcript_id).not.toBe(receipt.transcript_id);
    await api.work();
    const foreign = await asOther(`/v1/sessions/${PARENT}/messages?transcript_id=${receipt.transcript_id}`);
    expect(foreign.status).toBe(404);
    const deleted = await asOther(`/v1/sessions/${PARENT}`, { method: 'DELETE' });
    expect(deleted.status).toBe(204);
    expect((await asOther(`/v1/sessions/${PARENT}`)).status).toBe(404);
  });

  it('has not changed the home workspace', async () => {
    const messages = `/v1/sessions/${PARENT}/messages?transcript_id=${receipt.transcript_id}`;
    expect((await api.fetch(messages)).status).toBe(200);
    expect(await (await api.fetch(`/v1/transcripts/${receipt.transcript_id}/raw`)).text()).toBe(
      toTranscript(PARENT, 4),
    );
  });
});
