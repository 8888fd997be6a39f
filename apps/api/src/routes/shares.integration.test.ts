import { randomUUID } from 'node:crypto';
import type { AuditList, NewShare, ShareList } from '@recount/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
const sessionId = randomUUID();
const SECRET = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
const LINES = ['Say <b>hello</b>', `use ${SECRET}`, 'and goodbye'];

async function uploadSession(sessionId: string): Promise<void> {
  const lines = LINES.map((content, index) => ({
    type: 'user',
    sessionId,
    uuid: `u${index}`,
    timestamp: `2026-03-02T10:0${index}:00.000Z`,
    message: { role: 'user', content },
  }));
  await api.upload(lines.map((line) => JSON.stringify(line)).join('\n'));
  await api.work();
}

beforeAll(async () => {
  api = await createTestApi();
  await uploadSession(sessionId);
});
afterAll(() => api.close());

async function share(body: Record<string, unknown> = {}, ofSession = sessionId): Promise<NewShare> {
  const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await api.fetch(`/v1/sessions/${ofSession}/share`, init);
  expect(response.status).toBe(201);
  return (await response.json()) as NewShare;
}

/** Like somebody without a key. */
const open = (path: string): Promise<Response> => fetch(api.url + path);

it('renders a session in every format', async () => {
  const read = async (query: string): Promise<string> =>
    await (await api.fetch(`/v1/sessions/${sessionId}/document?${query}`)).text();
  const html = await read('');
  expect(html).toContain('Say &lt;b&gt;hello&lt;/b&gt;');
  expect(html).toContain('use [REDACTED:github]');
  expect(await read('redact=false&format=markdown')).toContain(`use ${SECRET}`);
  expect(await read('from_line=3&to_line=3')).not.toContain('hello&lt;/b');
  const json = JSON.parse(await read('format=json'));
  expect(json).toMatchObject({ session: { session_id: sessionId }, isCut: false, subagents: [] });
  expect(json.messages).toHaveLength(3);
  expect(JSON.stringify(json)).not.toContain('workspace_id');
});

it('refuses a range of lines that ends before it begins', async () => {
  const query = 'from_line=3&to_line=2';
  const problem = await expectProblem(
    await api.fetch(`/v1/sessions/${sessionId}/document?${query}`),
    400,
    'invalid-request',
  );
  expect(problem.errors).toEqual([{ location: 'query', field: 'to_line', message: 'to_line comes before from_line' }]);
  const body = JSON.stringify({ from_line: 3, to_line: 2 });
  const headers = { 'content-type': 'application/json' };
  const shared = await api.fetch(`/v1/sessions/${sessionId}/share`, { method: 'POST', body, headers });
  await expectProblem(shared, 400, 'invalid-request');
});

it('lets a browser save a document, or show it', async () => {
  const saved = await api.fetch(`/v1/sessions/${sessionId}/document`);
  expect(saved.headers.get('content-disposition')).toMatch(/^attachment; filename=".+\.html"$/);
  const shown = await api.fetch(`/v1/sessions/${sessionId}/document?download=false`);
  expect(shown.headers.get('content-disposition')).toBeNull();
  expect(shown.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await shown.text()).toBe(await saved.text());
});

it('shows a shared document to anyone with the link, until it is revoked', async () => {
  const { path, redactions, ...made } = await share({ to_line: 2 });
  expect(redactions.github).toBeGreaterThan(0);
  const page = await open(path);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.headers.get('cache-control')).toBe('no-store');
  const html = await page.text();
  expect(html).toContain('use [REDACTED:github]');
  expect(html).not.toContain('goodbye');

  const [, workspaceId, id, secret] = /^\/shared\/(\w+)-(\w+)-(.+)$/.exec(path) ?? [];
  for (const wrong of [`${workspaceId}-${id}-${'A'.repeat(43)}`, `${id}-${id}-${secret}`, 'nothing', '%00']) {
    expect((await open(`/shared/${wrong}`)).status).toBe(404);
  }
  const listed = (await (await api.fetch(`/v1/shares?session_id=${sessionId}`)).json()) as ShareList;
  expect(listed.shares).toMatchObject([{ id: made.id, session_id: sessionId, to_line: 2, opened_count: 1 }]);
  expect(JSON.stringify(listed)).not.toContain(secret);
  const other = await fetch(`${api.url}/v1/shares`, { headers: { authorization: `Bearer ${api.keys.other}` } });
  expect(await other.json()).toEqual({ shares: [], next_cursor: null });

  expect((await api.fetch(`/v1/shares/${made.id}`, { method: 'DELETE' })).status).toBe(204);
  expect((await api.fetch(`/v1/shares/${made.id}`, { method: 'DELETE' })).status).toBe(404);
  expect((await open(path)).status).toBe(404);
  const { rows } = await api.database.pool.query('SELECT page FROM recount.session_shares WHERE id = $1', [made.id]);
  expect(rows).toEqual([{ page: null }]);
  const audit = (await (await api.fetch(`/v1/audit?subject=${made.id}`)).json()) as { entries: { action: string }[] };
  expect(audit.entries.map(({ action }) => action)).toEqual(['share.revoke', 'share.open', 'share.create']);
});

it('is in the audit log as opened, once an hour for each link, with who created it', async () => {
  const { path, id } = await share();
  const list = async () => {
    const { entries } = (await (await api.fetch(`/v1/audit?kind=reads&subject=${id}`)).json()) as AuditList;
    return entries.map(({ actor, action, subjects, details }) => ({ actor, action, subjects, details }));
  };
  const setOpened = (at: string): Promise<unknown> =>
    api.database.pool.query(`UPDATE recount.session_shares SET last_opened_at = ${at} WHERE id = $1`, [id]);
  await open(`${path.slice(0, -1)}${path.endsWith('A') ? 'B' : 'A'}`);
  expect(await list()).toEqual([]);
  const [created] = ((await (await api.fetch(`/v1/audit?action=share.create&subject=${id}`)).json()) as AuditList)
    .entries;
  const entry = {
    actor: `link:${id}`,
    action: 'share.open',
    subjects: [id, sessionId],
    details: { created_by: created?.actor },
  };
  expect((await open(path)).status).toBe(200);
  expect(await list()).toEqual([entry]);
  // The hour may end while the test runs.
  await setOpened(`now() + interval '1 hour'`);
  expect((await open(path)).status).toBe(200);
  expect(await list()).toEqual([entry]);
  await setOpened(`now() - interval '1 hour'`);
  expect((await open(path)).status).toBe(200);
  expect(await list()).toEqual([entry, entry]);
});

it('expires with its time, and with its session', async () => {
  const doomed = randomUUID();
  await uploadSession(doomed);
  const expired = await share({ expires_in_days: 1 }, doomed);
  await api.database.pool.query(
    "UPDATE recount.session_shares SET expires_at = now() - interval '1 second' WHERE id = $1",
    [expired.id],
  );
  expect((await open(expired.path)).status).toBe(404);
  const { path } = await share({}, doomed);
  const { rows } = await api.database.pool.query('SELECT page FROM recount.session_shares WHERE id = $1', [expired.id]);
  expect(rows).toEqual([{ page: null }]);
  expect((await open(path)).status).toBe(200);
  expect((await api.fetch(`/v1/sessions/${doomed}`, { method: 'DELETE' })).status).toBe(204);
  expect((await open(path)).status).toBe(404);
  expect((await (await api.fetch(`/v1/shares?session_id=${doomed}`)).json()) as ShareList).toEqual({
    shares: [],
    next_cursor: null,
  });
});
