import type { UploadReceipt } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

const PARENT = '33333333-2222-4333-8444-555555555555';

let api: TestApi;
let receipt: UploadReceipt;

beforeAll(async () => {
  api = await createTestApi();
  const query = { path: `/p/${PARENT}.jsonl`, repository: 'https://example.com/crane.git' };
  receipt = (await (await api.upload(toTranscript(PARENT, 4), query)).json()) as UploadReceipt;
  await api.upload(toTranscript(PARENT, 4), { path: `/p/${PARENT}/subagents/agent-a1.jsonl` });
  await api.work();
});
afterAll(() => api.close());

const asOther = (path: string, init: RequestInit = {}): Promise<Response> =>
  api.fetch(path, { ...init, headers: { authorization: `Bearer ${api.keys.other}` } });

type Answer = Record<string, unknown> & { id?: string };

async function call(key: string, route: string, body?: unknown): Promise<{ status: number; answer: Answer }> {
  const [method = '', path = ''] = route.split(' ');
  const headers = { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await api.fetch(path, init);
  const text = await response.text();
  return { status: response.status, answer: text === '' ? {} : (JSON.parse(text) as Answer) };
}

/** A thing of each kind, in the workspace of the key; its session too, if that has one. */
async function makeThings(key: string) {
  const make = async (path: string, body: unknown): Promise<string> =>
    (await call(key, `POST /v1/${path}`, body)).answer.id ?? 'none';
  const destination = await make('destinations', { name: 'mail', kind: 'email', addresses: ['ada@example.org'] });
  const renamed = { repositories: ['example.com/crane'], new_name: 'heron' };
  const { renames = [] } = (await call(key, 'POST /v1/repository-renames', renamed)).answer as {
    renames?: { id: string }[];
  };
  return {
    destination,
    delivery: await make(`destinations/${destination}/test`, {}),
    person: await make('people', { display_name: 'Ada' }),
    team: await make('teams', { name: 'Core' }),
    budget: await make('budgets', { name: 'month', amount: 1 }),
    digest: await make('digests', { name: 'week' }),
    share: await make(`sessions/${PARENT}/share`, {}),
    rename: renames[0]?.id ?? 'none',
  };
}

/** A digest of the home workspace's rows in every table, without what reading adds. */
async function readHome(): Promise<unknown[]> {
  const { pool } = api.database;
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.columns WHERE table_schema = 'recount'
       AND column_name = 'workspace_id' AND table_name NOT IN ('api_keys', 'audit_log') ORDER BY 1`,
  );
  const digests: unknown[] = [];
  for (const { name } of tables) {
    const digest = `SELECT '${name}' AS name, md5(string_agg(row::text, ',' ORDER BY row::text)) AS digest
      FROM recount.${name} AS row WHERE workspace_id = $1`;
    digests.push((await pool.query(digest, [HOME_WORKSPACE])).rows[0]);
  }
  return digests;
}

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

  it('reaches nothing by the ids of what the home workspace has', async () => {
    const [home, own] = [await makeThings(api.keys.admin), await makeThings(api.keys.other)];
    const { rename, share, delivery } = home;
    const before = await readHome();
    const refused: [status: number, route: string, body?: unknown][] = [
      [404, `PUT /v1/people/${own.person}/merge`, { into: home.person }],
      [404, `PUT /v1/people/${home.person}/merge`, { into: own.person }],
      [422, `PATCH /v1/teams/${own.team}`, { lead_id: home.person }],
      [422, `PATCH /v1/people/${own.person}`, { team: home.team }],
      [400, 'POST /v1/budgets', { name: 'new', amount: 1, destination_ids: [home.destination] }],
      [400, `PATCH /v1/budgets/${own.budget}`, { destination_ids: [home.destination] }],
      [400, 'POST /v1/digests', { name: 'new', destination_ids: [home.destination] }],
      [400, `PATCH /v1/digests/${own.digest}`, { destination_ids: [home.destination] }],
      [404, `PATCH /v1/budgets/${home.budget}`, { amount: 2 }],
      [404, `POST /v1/digests/${home.digest}/send`],
      [404, `GET /v1/digests/${home.digest}/preview`],
      [404, `POST /v1/deliveries/${delivery}/retry`],
      [404, `DELETE /v1/repository-renames/${rename}`],
      [404, `DELETE /v1/shares/${share}`],
      [404, 'POST /v1/findings/dismissals', { kind: 'cold-cache', subject_type: 'session', subject: PARENT }],
      [422, `GET /v1/analytics/usage?session_id=${PARENT}`],
      [422, `GET /v1/search?q=prompt&session_id=${PARENT}`],
    ];
    for (const [status, route, body] of refused) {
      expect({ route, ...(await call(api.keys.other, route, body)) }).toMatchObject({ route, status });
    }
    for (const path of [
      `deliveries?destination_id=${home.destination}`,
      `audit?subject=${home.budget}`,
      `shares?session_id=${PARENT}`,
    ]) {
      const { answer } = await call(api.keys.other, `GET /v1/${path}`);
      expect(Object.values(answer)[0], path).toEqual([]);
    }
    expect(await readHome()).toEqual(before);
    // They are there.
    await call(api.keys.admin, `DELETE /v1/repository-renames/${rename}`);
    await call(api.keys.admin, `DELETE /v1/shares/${share}`);
    expect(await readHome()).not.toEqual(before);
  });

  it('has not changed the home workspace', async () => {
    const messages = `/v1/sessions/${PARENT}/messages?transcript_id=${receipt.transcript_id}`;
    expect((await api.fetch(messages)).status).toBe(200);
    expect(await (await api.fetch(`/v1/transcripts/${receipt.transcript_id}/raw`)).text()).toBe(
      toTranscript(PARENT, 4),
    );
  });
});
