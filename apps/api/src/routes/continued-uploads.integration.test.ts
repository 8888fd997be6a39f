import { createHash } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import type { Transcript, UploadReceipt } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

const toSha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function upload(text: string): Promise<UploadReceipt> {
  return (await (await api.upload(text, { path: '/p/s.jsonl' })).json()) as UploadReceipt;
}

function proceed(id: string, offset: number, added: string, whole: string, headers: Record<string, string> = {}) {
  const isCompressed = headers['content-encoding'] === 'zstd';
  return api.fetch(`/v1/transcripts/${id}?path=/p/s.jsonl&machine=laptop`, {
    method: 'PATCH',
    body: isCompressed ? Uint8Array.from(zstdCompressSync(added)) : added,
    headers: {
      'content-type': 'application/x-ndjson',
      'recount-offset': String(offset),
      'recount-sha256': toSha256(whole),
      ...headers,
    },
  });
}

describe('PATCH /v1/transcripts/{id}', () => {
  it('stores the stored and the added bytes as one transcript, which replaces the shorter one', async () => {
    const short = toTranscript('continued', 4);
    const long = toTranscript('continued', 9);
    const base = await upload(short);
    await api.work();
    const response = await proceed(base.transcript_id, short.length, long.slice(short.length), long, {
      'content-encoding': 'zstd',
    });
    expect(response.status).toBe(202);
    const receipt = (await response.json()) as UploadReceipt;
    expect(receipt).toMatchObject({ session_id: 'continued', sha256: toSha256(long), size_bytes: long.length });
    await api.work();
    const raw = await (await api.fetch(`/v1/transcripts/${receipt.transcript_id}/raw`)).text();
    expect(raw).toBe(long);
    const read = async (id: string) => (await (await api.fetch(`/v1/transcripts/${id}`)).json()) as Transcript;
    expect(await read(base.transcript_id)).toMatchObject({ status: 'superseded' });
    expect(await read(receipt.transcript_id)).toMatchObject({ status: 'ingested', machine: 'laptop' });
    const again = await proceed(base.transcript_id, short.length, long.slice(short.length), long);
    expect(again.status).toBe(200);
    expect(await again.json()).toMatchObject({ duplicate: true, transcript_id: receipt.transcript_id });
  });

  it('refuses what would be larger than the limit, whatever room the disk has', async () => {
    const base = await upload(toTranscript('continued', 4));
    const response = await proceed(base.transcript_id, Number.MAX_SAFE_INTEGER - 10, 'x', 'x');
    await expectProblem(response, 413, 'transcript-too-large');
  });

  it('takes the parent session from the stored path if it gets none', async () => {
    const [short, long] = [toTranscript('parent-1', 4), toTranscript('parent-1', 9)];
    const path = '/home/ada/.claude/projects/-app/parent-1/subagents/agent-a1.jsonl';
    const { transcript_id: id } = (await (await api.upload(short, { path })).json()) as UploadReceipt;
    const response = await api.fetch(`/v1/transcripts/${id}`, {
      method: 'PATCH',
      body: long.slice(short.length),
      headers: {
        'content-type': 'application/x-ndjson',
        'recount-offset': String(short.length),
        'recount-sha256': toSha256(long),
      },
    });
    const receipt = (await response.json()) as UploadReceipt;
    const continued = (await (await api.fetch(`/v1/transcripts/${receipt.transcript_id}`)).json()) as Transcript;
    expect(continued).toMatchObject({
      path,
      session_id: 'parent-1:a1',
      is_subagent: true,
      parent_session_id: 'parent-1',
    });
  });

  it('finds the parent session in the lines if the stored beginning of the first one does not name it', async () => {
    const line = toTranscript('parent-2', 1, { agentId: 'a2', isSidechain: true });
    const path = '/home/ada/.claude/projects/-app/agent-a2.jsonl';
    const short = line.slice(0, 9);
    const base = (await (await api.upload(short, { path })).json()) as UploadReceipt;
    expect(base).toMatchObject({ session_id: 'agent-a2' });
    const response = await api.fetch(`/v1/transcripts/${base.transcript_id}`, {
      method: 'PATCH',
      body: line.slice(short.length),
      headers: {
        'content-type': 'application/x-ndjson',
        'recount-offset': String(short.length),
        'recount-sha256': toSha256(line),
      },
    });
    expect(await response.json()).toMatchObject({ session_id: 'parent-2:a2', size_bytes: line.length });
  });

  it('stores nothing if the client is wrong about what is stored', async () => {
    const short = toTranscript('wrong', 4);
    const long = toTranscript('wrong', 9);
    const { transcript_id: id } = await upload(short);
    await api.work();
    const before = await api.listStore();
    const added = long.slice(short.length);
    const rewritten = toTranscript('wrong', 4, { gitBranch: 'other' }) + added;
    const problems = [
      [await proceed(id, short.length, added, rewritten), 400, 'digest-mismatch'],
      [await proceed(id, short.length - 1, added, long), 409, 'not-continued'],
      [await proceed(id, short.length, added, 'no digest', { 'recount-sha256': 'x' }), 400, 'invalid-request'],
      [await proceed('01J00000000000000000000009', short.length, added, long), 404, 'not-found'],
      [await proceed(id, short.length, added, long, { authorization: `Bearer ${api.keys.other}` }), 404, 'not-found'],
    ] as const;
    for (const [response, status, slug] of problems) {
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject({ type: `urn:recount:problem:${slug}` });
    }
    expect(await api.listStore()).toEqual(before);
  });

  it('is refused if the stored bytes are lost', async () => {
    const short = toTranscript('lost', 4);
    const { transcript_id: id } = await upload(short);
    await api.work();
    await api.database.pool.query('UPDATE recount.transcripts SET raw_damaged_at = now() WHERE id = $1', [id]);
    const response = await proceed(id, short.length, 'x', `${short}x`);
    expect(response.status).toBe(409);
  });
});

it('enforces the scopes of the key', async () => {
  const ask = async (key: string) =>
    await (await api.fetch('/v1/key', { headers: { authorization: `Bearer ${key}` } })).json();
  expect(await ask(api.keys.ingest)).toMatchObject({ scopes: ['ingest'], person: null, expires_at: null });
  expect(await ask(api.keys.read)).toMatchObject({ scopes: ['read'] });
});
