import { isOnCitus } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

const get = (path: string, init?: RequestInit): Promise<Response> => fetch(api.url + path, init);

describe('health', () => {
  it('is up, and ready', async () => {
    expect(await (await get('/healthz')).json()).toEqual({ status: 'ok' });
    expect(await (await get('/readyz')).json()).toEqual({
      status: 'ready',
      checks: { database: 'ok', raw_store: 'ok' },
      space: { database: 'unknown', raw_store: expect.stringMatching(/^(ok|low|full)$/) },
    });
  });

  it('is up but not ready if a dependency is unavailable, which it names', async () => {
    let checkCount = 0;
    const broken = await createTestApi({}, ({ rawStore }) => ({
      rawStore: { ...rawStore, check: () => (++checkCount > 0 ? new Promise(() => undefined) : Promise.resolve()) },
    }));
    await broken.database.close();
    const answers = await Promise.all([1, 2, 3].map(() => fetch(`${broken.url}/readyz`)));
    for (const answer of answers) {
      const problem = await expectProblem(answer.clone(), 503, 'not-ready');
      expect(problem.detail).toBe('Something that requests need is unavailable');
      expect(await answer.json()).toMatchObject({ checks: { database: 'failed', raw_store: 'timeout' } });
    }
    expect(checkCount).toBe(1);
    expect((await fetch(`${broken.url}/healthz`)).status).toBe(200);
    broken.database.close = async () => undefined;
    await broken.close();
  });

  it.runIf(isOnCitus())('is degraded while a node of the cluster is away, with the workspaces that wait', async () => {
    const waiting = await createTestApi();
    const { rows } = await waiting.database.pool.query<{ nodeid: number }>(`
      SELECT nodeid FROM pg_dist_placement AS p JOIN pg_dist_node AS n USING (groupid)
      WHERE p.shardid = get_shard_id_for_distribution_column('recount.transcripts', '${HOME_WORKSPACE}')`);
    // Nothing listens at port 1.
    await waiting.database.pool.query(`UPDATE pg_dist_node SET nodeport = 1 WHERE nodeid = ${rows[0]?.nodeid}`);
    const answer = await fetch(`${waiting.url}/readyz`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      status: 'degraded',
      cluster: {
        silent_nodes: [{ node: expect.stringMatching(/:1$/), workspace_ids: expect.arrayContaining([HOME_WORKSPACE]) }],
      },
    });
    expect(waiting.logLines.join('')).toContain('a node of the cluster does not answer');
    const problem = await expectProblem(await waiting.fetch('/v1/disk'), 503, 'database-unavailable');
    expect(problem.detail).toMatch(/^The node \S+:1 of the database’s cluster does not answer/);
    await waiting.close();
  });

  it('is not ready if the schema has another version', async () => {
    const old = await createTestApi();
    await old.database.pool.query('DELETE FROM drizzle.__drizzle_migrations');
    const answer = await fetch(`${old.url}/readyz`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ checks: { database: 'failed', raw_store: 'ok' } });
    expect(old.logLines.join('')).toContain('SchemaVersionError');
    await old.close();
  });

  it('is not ready while the database is read-only, and uploads get this answer', async () => {
    const replica = await createTestApi();
    const { pool } = replica.database;
    await pool.query(
      `ALTER DATABASE ${new URL(replica.connectionString).pathname.slice(1)} SET default_transaction_read_only = on`,
    );
    await Promise.all(Array.from({ length: 10 }, () => pool.query('SET default_transaction_read_only = on')));
    const answer = await fetch(`${replica.url}/readyz`);
    expect(await answer.json()).toMatchObject({ status: 503, checks: { database: 'failed', raw_store: 'ok' } });
    await expectProblem(await replica.upload(toTranscript('replica', 2)), 503, 'database-unavailable');
    expect((await replica.fetch('/v1/sessions')).status).toBe(200);
    await replica.close();
  });
});

describe('metrics', () => {
  it('count requests by route, uploads by outcome, transcripts by status', async () => {
    const measured = await createTestApi();
    onTestFinished(() => measured.close());
    const text = toTranscript('measured', 10);
    await measured.upload(text);
    await measured.upload(text);
    await measured.upload('{}', { session_id: '\n' });
    await measured.fetch('/v1/sessions/secret-session');
    await measured.fetch('/secret-path');
    const metrics = await measured.readMetrics();
    for (const line of [
      'recount_uploads_total{outcome="accepted"} 1',
      'recount_uploads_total{outcome="duplicate"} 1',
      'recount_uploads_total{outcome="invalid-session-id"} 1',
      `recount_upload_bytes_total{outcome="accepted"} ${Buffer.byteLength(text)}`,
      'recount_transcripts{status="queued"} 1',
      'recount_transcripts{status="failed"} 0',
      'recount_upload_size_bytes_bucket{le="1000000"} 2',
      'recount_queue_jobs{state="waiting"} 1',
      'recount_http_request_duration_seconds_count{method="POST",route="/v1/transcripts",status="202"} 1',
      'recount_http_request_duration_seconds_count{method="GET",route="/v1/sessions/:session_id",status="404"} 1',
      'recount_http_request_duration_seconds_count{method="GET",route="unmatched",status="404"} 1',
      'recount_database_connections{state="waiting"} 0',
    ]) {
      expect(metrics).toContain(`${line}\n`);
    }
    expect(metrics).toMatch(/^recount_queue_oldest_job_age_seconds 0?\.?\d/m);
    expect(metrics).toContain('process_resident_memory_bytes');
    expect(metrics).not.toContain('secret');
  });

  it('include what search does not find yet', async () => {
    const searched = await createTestApi();
    try {
      await searched.upload(toTranscript('waiting', 10));
      await searched.upload(toTranscript('failing', 4));
      await searched.upload(toTranscript('indexed', 6));
      await searched.work();
      await searched.database.pool.query(`
        INSERT INTO recount.search_waiting (workspace_id, row_set_id, session_id, waiting_since, failure_count)
        SELECT workspace_id, row_set_id, session_id, now() - interval '1 hour', (session_id = 'failing')::int
        FROM recount.transcripts WHERE session_id <> 'indexed'`);
      const metrics = await searched.readMetrics();
      expect(metrics).toContain('recount_search_sessions{state="waiting"} 2\n');
      expect(metrics).toContain('recount_search_sessions{state="failing"} 1\n');
      expect(metrics).toContain('recount_search_waiting_blocks 14\n');
      expect(metrics).toMatch(/^recount_search_oldest_wait_seconds 36\d\d/m);
    } finally {
      await searched.close();
    }
  });

  it('are not available to tenants, whatever their key', async () => {
    for (const key of Object.values(api.keys)) {
      const response = await get('/metrics', { headers: { authorization: `Bearer ${key}` } });
      await expectProblem(response, 404, 'not-found');
    }
  });

  it('remain available without the database', async () => {
    const open = await createTestApi();
    await open.database.close();
    const metrics = await open.readMetrics();
    expect(metrics).toContain('recount_database_connections');
    expect(metrics).not.toMatch(/^recount_(transcripts|queue_\w+|search_\w+)[ {]/m);
    open.database.close = async () => undefined;
    await open.close();
  });
});

describe('the log', () => {
  it('uses one id from the request to the rows', async () => {
    const headers = { 'x-request-id': 'followed' };
    const { transcript_id } = (await (await api.upload(toTranscript('followed', 2), {}, { headers })).json()) as {
      transcript_id: string;
    };
    await api.work();
    const lines = api.logLines.map((line) => JSON.parse(line));
    const received = lines.filter(({ transcriptId }) => transcriptId === transcript_id);
    expect(received).toMatchObject([{ requestId: 'followed', workspaceId: HOME_WORKSPACE, isDuplicate: false }]);
    const reports = api.jobReports.filter(({ transcriptId }) => transcriptId === transcript_id);
    expect(reports).toMatchObject([{ outcome: 'done', workspaceId: HOME_WORKSPACE }]);
  });
});

describe('every answer', () => {
  it('carries the security headers and a request id, and allows no other origin', async () => {
    for (const path of ['/healthz', '/v1/sessions', '/nowhere']) {
      const headers = Object.fromEntries((await get(path, { headers: { origin: 'https://evil.example' } })).headers);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'content-security-policy': expect.stringContaining("default-src 'none'"),
        'referrer-policy': 'no-referrer',
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it('echoes the client’s request id if it is valid', async () => {
    const sane = await get('/nowhere', { headers: { 'x-request-id': 'trace-1' } });
    expect(sane.headers.get('x-request-id')).toBe('trace-1');
    expect((await expectProblem(sane, 404, 'not-found')).request_id).toBe('trace-1');
    await vi.waitFor(() => expect(api.logLines.join('')).toContain('"requestId":"trace-1"'));
    const insane = await get('/nowhere', { headers: { 'x-request-id': 'a b' } });
    expect(insane.headers.get('x-request-id')).not.toBe('a b');
  });

  it('lists the methods that a path allows', async () => {
    const response = await get('/v1/sessions', { method: 'PUT' });
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    await expectProblem(response, 405, 'method-not-allowed');
    expect((await get('/v1/transcripts/x/raw', { method: 'OPTIONS' })).headers.get('allow')).toBe('GET, HEAD');
    await expectProblem(await get('/v1/sessionsx'), 404, 'not-found');
    await expectProblem(await get('/openapixjson'), 404, 'not-found');
  });
});
