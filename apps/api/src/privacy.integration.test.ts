import { gzipSync } from 'node:zlib';
import type { Problem, UploadReceipt } from '@recount/contract';
import { createApiKey, findTranscript } from '@recount/db';
import { isOnCitus } from '@recount/local-postgres/testing';
import { RawStoreError } from '@recount/storage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MULTIPART_TYPE, toMultipart } from './testing/multipart-body.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from './testing/test-api.ts';
import { toLine, toTranscript } from './testing/transcript-lines.ts';

/** Present in all private data of these tests, and nowhere else, so any output with it is a leak. */
const CANARY = 'canary';
const SECRET = `sk-${CANARY}-AKIAIOSFODNN7EXAMPLE`;
const FILE_NAME = `/home/${CANARY}-person/${CANARY}-project.jsonl`;

let api: TestApi;
let key: string;
let sessionNumber = 0;
/** Every error answer, with its cause. */
const refusals: { what: string; status: number; body: string }[] = [];

beforeAll(async () => {
  api = await createTestApi({ maxTranscriptBytes: 4 * 1024 * 1024 });
  const { database } = api.database;
  ({ key } = await createApiKey(database, { workspaceId: HOME_WORKSPACE, name: 'private', scopes: ['admin'] }));
});
afterAll(() => api.close());

const toSessionId = (): string => `${CANARY}-session-${++sessionNumber}`;

/** A transcript whose every text is private. */
function toPrivateTranscript(sessionId = toSessionId()): string {
  const content = [
    { type: 'text', text: `${CANARY} answer ${SECRET}` },
    { type: 'thinking', thinking: `${CANARY} thought` },
    { type: 'tool_use', id: `${CANARY}-tool-use`, name: `${CANARY}_tool`, input: { command: `echo ${SECRET}` } },
  ];
  const message = { id: `${CANARY}-message`, role: 'assistant', model: `${CANARY}-model`, content, usage: {} };
  return [
    toLine(sessionId, 0, { message: { role: 'user', content: `${CANARY} prompt ${SECRET}` }, cwd: FILE_NAME }),
    toLine(sessionId, 1, { message, gitBranch: `${CANARY}-branch` }),
  ].join('');
}

async function send(body: string | Uint8Array, init: RequestInit & { path?: string } = {}): Promise<Response> {
  const { path = FILE_NAME, ...rest } = init;
  return await api.upload(body, { path }, { ...rest, headers: { authorization: `Bearer ${key}`, ...init.headers } });
}

async function accept(body: string | Uint8Array): Promise<string> {
  const response = await send(body);
  expect(response.status).toBe(202);
  return ((await response.json()) as UploadReceipt).transcript_id;
}

async function refuse(what: string, status: number, request: Promise<Response>): Promise<void> {
  const response = await request;
  const body = await response.text();
  expect([what, response.status, body]).toEqual([what, status, body]);
  const headers = JSON.stringify([...response.headers]);
  refusals.push({ what, status, body: `${headers}\n${body}` });
}

/** Runs `work` while Postgres rejects every row of a table, with a message that quotes it. */
async function whileRefusing(table: string, work: () => Promise<void>): Promise<void> {
  const { pool } = api.database;
  await pool.query(`
    CREATE FUNCTION quote_row() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'refused: %', NEW USING DETAIL = NEW::text, HINT = NEW::text; END $$`);
  await pool.query(
    `CREATE TRIGGER quote_row BEFORE INSERT ON recount.${table} FOR EACH ROW EXECUTE FUNCTION quote_row()`,
  );
  try {
    await work();
  } finally {
    await pool.query(`DROP TRIGGER quote_row ON recount.${table}`);
    await pool.query('DROP FUNCTION quote_row');
  }
}

const readFailure = async (transcriptId: string): Promise<string | null | undefined> =>
  (await findTranscript(api.database.database, HOME_WORKSPACE, transcriptId))?.failure_reason;

describe('failures that disclose nothing', () => {
  it('unreadable lines', async () => {
    const sessionId = toSessionId();
    const good = toPrivateTranscript(sessionId);
    const id = await accept(
      Buffer.concat([
        Buffer.from(good),
        Buffer.from(`{"type":"user","${CANARY}\n`),
        Buffer.from(`${CANARY} no JSON ${SECRET}\n`),
        Buffer.from(`{"type":"user","sessionId":"${sessionId}","message":{"content":"${CANARY}`),
        Buffer.from([0xff, 0xfe, 0x22, 0x7d, 0x7d, 0x0a]),
        Buffer.from(`${good.trimEnd()}${good.trimEnd()}\n`),
        Buffer.from(`${JSON.stringify({ type: 'user', sessionId, message: `${CANARY}` })}\n`),
        Buffer.from(`${JSON.stringify({ type: 'assistant', sessionId, message: { usage: CANARY, content: 7 } })}\n`),
        Buffer.from(
          `${JSON.stringify({ type: 'user', sessionId, timestamp: CANARY, message: { content: [CANARY] } })}\n`,
        ),
        Buffer.from(`{"type":"user","message":${'['.repeat(5000)}"${CANARY}"${']'.repeat(5000)}}\n`),
        Buffer.from(`{"type":"user","message":"${CANARY.repeat(200_000)}"}\n`),
        // The name of an unknown type is all that an issue quotes of a line.
        Buffer.from(`${JSON.stringify({ type: 'unheard-of', sessionId, text: CANARY })}\n`),
        Buffer.from(`{"type":"user","message":"${CANARY} cut off`),
      ]),
    );
    await api.work();
    const { rows } = await api.database.pool.query('SELECT DISTINCT code FROM recount.ingest_issues');
    expect(rows.length).toBeGreaterThan(6);
    expect(await readFailure(id)).toBeNull();
  });

  it.each(['content_blocks', 'transcript_messages', 'sessions'])('rows of %s that Postgres refuses', async (table) => {
    let id = '';
    await whileRefusing(table, async () => {
      id = await accept(toPrivateTranscript());
      await api.work();
    });
    // If a node rejects a COPY, the coordinator reports it without the node's code.
    const isCodeLost = isOnCitus() && table !== 'sessions';
    expect(await readFailure(id)).toMatch(isCodeLost ? /^Postgres error XX000/ : /^Postgres error P0001/);
  });

  it('a transcript that Postgres refuses', async () => {
    await whileRefusing('transcripts', () => refuse('row refused', 500, send(toPrivateTranscript())));
  });

  it('a store that fails, or returns other bytes', async () => {
    const broken = await accept(toPrivateTranscript());
    const cause = new Error(`${CANARY} of the store`);
    const get = () => Promise.reject(new RawStoreError('unavailable', 'The store answers with 500', { cause }));
    await api.work({ rawStore: { ...api.rawStore, get } });
    expect(await readFailure(broken)).toMatch(/^RawStoreError/);

    const changed = await accept(toPrivateTranscript());
    const { object_key } = (await findTranscript(api.database.database, HOME_WORKSPACE, changed)) ?? { object_key: '' };
    await api.rawStore.put(
      object_key,
      (async function* () {
        yield Buffer.from(toPrivateTranscript());
      })(),
    );
    await api.work();
    expect(await readFailure(changed)).toMatch(/^RawObjectMismatchError/);
  });

  it('refused uploads', async () => {
    const text = toPrivateTranscript();
    const gzip = { headers: { 'content-encoding': 'gzip' } };
    await refuse('no encoding', 400, send(text, gzip));
    await refuse('cut off', 400, send(gzipSync(text).subarray(0, -20), gzip));
    await refuse('unknown encoding', 415, send(text, { headers: { 'content-encoding': CANARY } }));
    await refuse('unknown type', 415, send(text, { headers: { 'content-type': `multipart/${CANARY}` } }));
    await refuse('too large', 413, send(text.repeat(6000)));
    await refuse('nobody knows whose', 422, api.upload(`{"type":"user","message":"${CANARY}"}\n`));
    await refuse(
      'another agent',
      422,
      api.upload(text, { agent: CANARY }, { headers: { authorization: `Bearer ${key}` } }),
    );
    await refuse('session id', 422, api.upload(text, { session_id: `${CANARY}\n` }));
    const headers = { 'content-type': MULTIPART_TYPE };
    await refuse('no multipart', 400, send(text, { headers }));
    const field = toMultipart([{ name: `${CANARY}-field`, content: CANARY }]);
    await refuse('no file', 400, send(field, { headers }));
  });

  it('refused requests', async () => {
    const authorization = `Bearer ${key}`;
    for (const path of [
      `/${CANARY}`,
      `/v1/sessions/none-${CANARY}`,
      `/v1/sessions?cursor=${CANARY}`,
      `/v1/sessions?limit=${CANARY}`,
      `/v1/transcripts/${CANARY}/raw`,
      `/v1/transcripts?status=${CANARY}`,
      `/v1/%${CANARY}`,
      `/${CANARY.repeat(1000)}`,
    ]) {
      const response = await fetch(api.url + path, { headers: { authorization } });
      expect(response.status, path).toBeGreaterThanOrEqual(400);
      refusals.push({ what: path, status: response.status, body: await response.text() });
    }
    for (const header of [`Bearer ${CANARY}`, `Basic ${CANARY}`, `Bearer ${key}x`]) {
      await refuse('wrong key', 401, fetch(`${api.url}/v1/sessions`, { headers: { authorization: header } }));
    }
    await refuse('method', 405, fetch(`${api.url}/v1/sessions`, { method: 'PATCH', body: CANARY }));
  });

  it('the names of parameters and files, which only the client sees', async () => {
    const headers = { authorization: `Bearer ${key}` };
    for (const parameter of [CANARY, key]) {
      const response = await fetch(`${api.url}/v1/sessions?${parameter}=1`, { headers });
      expect(((await response.json()) as Problem).errors).toMatchObject([{ field: parameter }]);
    }
    const parts = [{ filename: `/${CANARY}.txt`, content: '{"type":"note"}\n' }];
    const init = { headers: { ...headers, 'content-type': MULTIPART_TYPE } };
    const response = await api.upload(toMultipart(parts), {}, init);
    expect(response.status).toBe(207);
    expect(await response.json()).toMatchObject({ results: [{ path: `/${CANARY}.txt`, error: { status: 422 } }] });
  });

  it('a valid request id of the client stays, an invalid one is replaced', async () => {
    const headers = { authorization: `Bearer ${key}`, 'x-request-id': `"${CANARY}"` };
    await refuse('request id', 404, fetch(`${api.url}/v1/sessions/none`, { headers }));
  });
});

describe('nothing private', () => {
  const expectNothing = (where: string, text: string): void => {
    for (const secret of [CANARY, key, key.slice(3), api.keys.admin]) {
      const at = text.indexOf(secret);
      expect(at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 100), where).toBe('');
    }
    expect(text, where).not.toMatch(/\\n +at |node:internal|file:\/\//);
  };

  it('appears in the log, at its most verbose', () => {
    expect(api.logLines.length).toBeGreaterThan(30);
    expect(api.logLines.some((line) => line.includes('"level":20'))).toBe(true);
    for (const line of api.logLines) expectNothing('log', line);
  });

  it('appears in the workers’ logs', () => {
    expect(api.jobReports.filter(({ outcome }) => outcome === 'failed').length).toBeGreaterThan(10);
    for (const report of api.jobReports) expectNothing('job', JSON.stringify(report));
  });

  it('appears in the metrics', async () => {
    expectNothing('metrics', await api.readMetrics());
  });

  it('appears in an error response', () => {
    expect(refusals.length).toBeGreaterThan(20);
    for (const { what, body } of refusals) expectNothing(what, body);
  });

  it.each([
    ['messages of issues', "SELECT string_agg(message, ' ') AS text FROM recount.ingest_issues"],
    ['reasons of failures', "SELECT string_agg(failure_reason, ' ') AS text FROM recount.transcripts"],
  ])('appears in %s', async (where, query) => {
    const { rows } = await api.database.pool.query<{ text: string }>(query);
    expect(rows[0]?.text.length).toBeGreaterThan(100);
    expectNothing(where, rows[0]?.text ?? '');
  });

  it('appears anywhere except where it belongs', async () => {
    const transcript = await (await api.upload(toTranscript('counter-check', 2, { cwd: CANARY }))).json();
    await api.work();
    const { transcript_id } = transcript as UploadReceipt;
    expect(await (await api.fetch(`/v1/transcripts/${transcript_id}/raw`)).text()).toContain(CANARY);
  });
});
