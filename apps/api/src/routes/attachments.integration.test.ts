import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { AttachmentList, AttachmentReceipt, MessageList } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toLine, toTranscript } from '../testing/transcript-lines.ts';

const PATH = 'tool-results/toolu_01.txt';
const TEXT = 'a result too large for its transcript\n'.repeat(100);
const SECRET = `ghp_${'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'}`;

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

function put(
  session: string,
  query: Record<string, string>,
  body: string | Uint8Array,
  init: RequestInit = {},
): Promise<Response> {
  const parameters = new URLSearchParams({ agent: 'claude-code', path: PATH, ...query });
  const bytes = typeof body === 'string' ? body : Uint8Array.from(body);
  return api.fetch(`/v1/sessions/${session}/attachments?${parameters}`, { method: 'PUT', body: bytes, ...init });
}

async function putFile(
  session: string,
  query: Record<string, string>,
  body: string,
  key = api.keys.ingest,
): Promise<AttachmentReceipt> {
  const response = await put(session, query, body, { headers: { authorization: `Bearer ${key}` } });
  return (await response.json()) as AttachmentReceipt;
}

async function list(session: string): Promise<AttachmentList['attachments']> {
  const response = await api.fetch(`/v1/sessions/${session}/attachments`);
  return ((await response.json()) as AttachmentList).attachments;
}

const read = async (session: string, id: string, query = ''): Promise<string> =>
  await (await api.fetch(`/v1/sessions/${session}/attachments/${id}${query}`)).text();

describe('PUT /v1/sessions/{id}/attachments', () => {
  it('stores a file before its transcript exists, and returns it as a download', async () => {
    const modified = '2026-01-02T03:04:05.000Z';
    const response = await put('new', { modified_at: modified, machine: 'laptop', person: 'ada' }, TEXT);
    expect(response.status).toBe(201);
    const { attachment, outcome } = (await response.json()) as AttachmentReceipt;
    const sha256 = createHash('sha256').update(TEXT).digest('hex');
    const about = {
      session_id: 'new',
      agent: 'claude-code',
      path: PATH,
      kind: 'tool_result',
      machine: 'laptop',
      person: 'ada',
    };
    expect(outcome).toBe('stored');
    expect(attachment).toMatchObject({ ...about, sha256, size_bytes: TEXT.length, modified_at: modified });
    expect(await list('new')).toEqual([attachment]);
    const download = await api.fetch(response.headers.get('location') ?? '');
    expect(Object.fromEntries(download.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="toolu_01.txt"',
      'content-length': String(TEXT.length),
      'x-content-type-options': 'nosniff',
      etag: `"${sha256}"`,
    });
    expect(await download.text()).toBe(TEXT);
    expect(await read('new', attachment.id, '?max_bytes=5')).toBe(TEXT.slice(0, 5));
  });

  it('accepts the same file again as a duplicate, compressed as well', async () => {
    const first = await putFile('twice', {}, TEXT);
    const headers = { 'content-encoding': 'gzip' };
    const again = await put('twice', {}, gzipSync(TEXT), { headers });
    expect(again.status).toBe(200);
    expect(await again.json()).toMatchObject({ outcome: 'duplicate', attachment: { id: first.attachment.id } });
    expect(await list('twice')).toHaveLength(1);
  });

  it.each(['first to last', 'last to first'])(
    'keeps the latest state of a file that is uploaded from %s',
    async (order) => {
      const session = `states-${order.replaceAll(' ', '-')}`;
      const states = [1, 2, 3].map((day) => ({ modified_at: `2026-01-0${day}T00:00:00.000Z`, text: `day ${day}` }));
      const before = await api.listStore();
      for (const { text, ...query } of order === 'first to last' ? states : states.toReversed())
        await putFile(session, query, text);
      const [attachment, ...others] = await list(session);
      expect(others).toEqual([]);
      expect(await read(session, attachment?.id ?? '')).toBe('day 3');
      expect((await api.listStore()).length - before.length).toBe(1);
    },
  );

  it('refuses to replace what another uploader stored', async () => {
    await putFile('two', { modified_at: '2026-01-01T00:00:00.000Z' }, 'mine');
    const forged = await putFile('two', { modified_at: '2026-02-01T00:00:00.000Z' }, 'forged', api.keys.admin);
    expect(forged.outcome).toBe('stored');
    const texts = await Promise.all((await list('two')).map(({ id }) => read('two', id)));
    expect(texts.sort()).toEqual(['forged', 'mine']);
  });

  it.each([
    '../settings.json',
    'tool-results/../../x.txt',
    '/etc/passwd',
    'tool-results\\x.txt',
    'agent-a1.jsonl',
    'tool-results/\u0000',
  ])('refuses the path %j', async (path) => {
    const before = await api.listStore();
    const response = await put('paths', { path }, 'x');
    expect([400, 422]).toContain(response.status);
    expect(await api.listStore()).toEqual(before);
  });

  it('stores nothing if the body does not match its digest', async () => {
    const before = await api.listStore();
    const digest = createHash('sha256').update('other').digest('base64');
    const response = await put('digest', {}, 'text', { headers: { 'content-digest': `sha-256=:${digest}:` } });
    await expectProblem(response, 400, 'digest-mismatch');
    expect(await api.listStore()).toEqual(before);
  });

  it('treats a modification time in the future as now', async () => {
    const { attachment } = await putFile('future', { modified_at: '2099-01-01T00:00:00.000Z' }, 'x');
    expect(attachment.modified_at).toBe(attachment.created_at);
  });

  it('restores lost bytes', async () => {
    const { attachment } = await putFile('healed', {}, TEXT);
    const { rows } = await api.database.pool.query('SELECT object_key FROM recount.attachments WHERE id = $1', [
      attachment.id,
    ]);
    await api.rawStore.delete(rows[0].object_key);
    expect(await putFile('healed', {}, TEXT)).toMatchObject({ outcome: 'healed', attachment: { id: attachment.id } });
    expect(await read('healed', attachment.id)).toBe(TEXT);
  });
});

describe('attachments in a workspace with redaction', () => {
  it('are shown without secrets, and with rows-and-raw are stored without them', async () => {
    const text = `before ${SECRET} after`;
    const hidden = (shown: string) => expect(shown).toMatch(/^before \[REDACTED:github\] after {5,}$/);
    const setRedaction = (redaction: string) =>
      api.fetch('/v1/settings', {
        method: 'PUT',
        body: JSON.stringify({ redaction }),
        headers: { 'content-type': 'application/json' },
      });
    expect((await setRedaction('rows')).status).toBe(200);
    const { attachment: kept } = await putFile('kept', {}, text);
    expect(await read('kept', kept.id)).toBe(text);
    hidden(await read('kept', kept.id, '?redact=true'));
    expect(await read('kept', kept.id, '?redact=true&max_bytes=12')).not.toContain('ghp_');
    expect((await setRedaction('rows-and-raw')).status).toBe(200);
    const { attachment: redacted } = await putFile('redacted', {}, text);
    hidden(await read('redacted', redacted.id));
    expect(redacted.size_bytes).toBe(text.length);
    expect(await putFile('redacted', {}, text)).toMatchObject({ outcome: 'duplicate' });
    expect((await setRedaction('off')).status).toBe(200);
  });
});

describe('GET /v1/sessions/{id}/messages', () => {
  it('names the attachment that a result refers to, in any session', async () => {
    const { attachment } = await putFile('parent', {}, TEXT);
    const toResult = (name: string, order: number) =>
      toLine('child', order, {
        type: 'user',
        message: {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: `toolu-${order}`,
              content: `<persisted-output>\nOutput too large (141KB). Full output saved to: /home/ada/.claude/projects/-app/parent/tool-results/${name}\n\nPreview`,
            },
          ],
        },
      });
    await api.upload(toLine('child', 0) + toResult('toolu_01.txt', 2) + toResult('toolu_lost.txt', 4));
    await api.work();
    const { messages } = (await (await api.fetch('/v1/sessions/child/messages')).json()) as MessageList;
    const blocks = messages.flatMap(({ content_blocks }) => content_blocks);
    const { id, session_id, path, size_bytes } = attachment;
    expect(blocks.map((block) => block.attachment)).toEqual([
      undefined,
      { id, session_id, path, size_bytes },
      undefined,
    ]);
  });
});

it('the session owner’s file is named where another uploader uploaded one from the same path, and first', async () => {
  await putFile('owned', {}, 'somebody else’s', api.keys.ingest);
  const { attachment } = await putFile('owned', {}, 'the owner’s', api.keys.admin);
  const content = `<persisted-output>\nOutput too large (141KB). Full output saved to: /home/ada/.claude/projects/-app/owned/${PATH}\n\nPreview`;
  const result = { type: 'tool_result', tool_use_id: 'toolu-1', content };
  await api.upload(toLine('owned', 0, { type: 'user', message: { role: 'user', content: [result] } }));
  await api.work();
  const { messages } = (await (await api.fetch('/v1/sessions/owned/messages')).json()) as MessageList;
  const named = messages.flatMap(({ content_blocks }) => content_blocks).map((block) => block.attachment?.id);
  expect(named).toEqual([attachment.id]);
});

describe('DELETE /v1/sessions/{id}', () => {
  it('deletes attachments and their objects too', async () => {
    const before = await api.listStore();
    await api.upload(toTranscript('gone', 4));
    await api.work();
    await putFile('gone', {}, TEXT);
    await putFile('gone', { path: 'subagents/agent-a1.meta.json' }, '{}', api.keys.admin);
    expect(await list('gone')).toHaveLength(2);
    expect((await api.fetch('/v1/sessions/gone', { method: 'DELETE' })).status).toBe(204);
    await expectProblem(await api.fetch('/v1/sessions/gone/attachments'), 404, 'not-found');
    expect(await api.listStore()).toEqual(before);
  });
});
