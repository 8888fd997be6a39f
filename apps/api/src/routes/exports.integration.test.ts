import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parquetReadObjects } from 'hyparquet';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createApiApp } from '../app.ts';
import { readApiConfig } from '../config.ts';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';
import { MAX_CONCURRENT_EXPORTS } from './exports.ts';

let api: TestApi;

const DATASETS = ['usage', 'messages', 'sessions'] as const;
/** Enough for several batches, and for more bytes than sockets buffer. */
const STALL_TIMEOUT_MS = 2500;
const MANY_ROWS = 30_000;
const SLOW_BYTES_PER_MS = 2000;

beforeAll(async () => {
  api = await createTestApi();
  await api.upload(toTranscript('first', 40, { gitBranch: 'main', cwd: '/srv/a, "b"' }));
  await api.upload(toTranscript('second', 20, { gitBranch: '=danger()', cwd: '/srv/c' }));
  await api.work();
});
afterAll(() => api.close());

const read = async (path: string): Promise<string> => {
  const answer = await api.fetch(`/v1/export/${path}`);
  expect(answer.status).toBe(200);
  return await answer.text();
};
const readLines = async (path: string): Promise<Record<string, unknown>[]> =>
  (await read(path))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describe('GET /v1/export', () => {
  it('exports API responses, messages and sessions', async () => {
    const usage = await readLines('usage?format=ndjson');
    expect(usage).toHaveLength(30);
    expect(usage[0]).toMatchObject({
      agent: 'claude-code',
      model: 'claude-sonnet-4-5',
      timestamp: '2026-01-01T00:00:01.000Z',
      tokens_in: 10,
      tokens_out: 101,
      cache_read: 1000,
      cost_usd: 0.001845,
      price_basis: 'list',
      is_subagent: false,
      copy_count: 1,
    });
    const messages = await readLines('messages?format=ndjson&session_id=first');
    expect(messages.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 40 }, (_, index) => index));
    const sessions = await readLines('sessions?format=ndjson');
    expect(sessions).toEqual([
      expect.objectContaining({ session_id: 'first', own_responses: 20, shared_responses: 0, total_messages: 40 }),
      expect.objectContaining({ session_id: 'second', own_responses: 10, shared_cost_usd: 0, total_messages: 20 }),
    ]);
    expect(sessions.map(({ own_cost_usd }) => own_cost_usd)).toEqual(sessions.map(({ cost_usd }) => cost_usd));
  });

  it.each(DATASETS)('contains the same %s in all formats', async (dataset) => {
    const rows = await readLines(`${dataset}?format=ndjson`);
    const parquet = await (await api.fetch(`/v1/export/${dataset}?format=parquet`)).arrayBuffer();
    const toPlain = (value: unknown): unknown => {
      if (typeof value === 'bigint' || typeof value === 'number') return Number(Number(value).toPrecision(12));
      if (value instanceof Date) return value.toISOString();
      return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
    };
    const flatten = (row: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toPlain(value)]));
    expect((await parquetReadObjects({ file: parquet })).map(flatten)).toEqual(rows.map(flatten));
    const csv = await read(`${dataset}?format=csv`);
    expect(csv.split('\r\n')[0]).toBe(Object.keys(rows[0] ?? {}).join(','));
    expect(csv.split('\r\n')).toHaveLength(rows.length + 2);
  });

  it('sends a file name and a content type', async () => {
    const answer = await api.fetch('/v1/export/usage?format=parquet');
    await answer.arrayBuffer();
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/vnd.apache.parquet',
      'content-disposition': 'attachment; filename="recount-usage.parquet"',
      'cache-control': 'no-store',
    });
  });

  it('escapes texts that a spreadsheet would run', async () => {
    const csv = await read('sessions?session_id=second');
    expect(csv).toContain(",'=danger(),");
    expect((await readLines('sessions?session_id=second&format=ndjson'))[0]?.git_branch).toBe('=danger()');
  });

  it.each(['usage', 'messages', 'sessions'])('filters %s by each name', async (dataset) => {
    const all = await readLines(`${dataset}?format=ndjson`);
    const own = await readLines(`${dataset}?format=ndjson&session_id=second`);
    for (const filter of ['agent=claude-code', 'agent=claude&agent=codex', 'subagents=exclude'])
      expect(await readLines(`${dataset}?format=ndjson&${filter}`), filter).toEqual(all);
    for (const filter of ['project=%2Fsrv%2Fc', 'repository=c', 'git_branch=%3Ddanger()', 'project=srv&repository=c'])
      expect(await readLines(`${dataset}?format=ndjson&${filter}`), filter).toEqual(own);
  });

  it('filters as reports do', async () => {
    const count = async (query: string) => (await readLines(`usage?format=ndjson&${query}`)).length;
    expect(await count('session_id=first')).toBe(20);
    expect(await count(`project=${encodeURIComponent('/srv/c')}`)).toBe(10);
    expect(await count('git_branch=main&model=claude-sonnet-4-5')).toBe(20);
    await expectProblem(await api.fetch('/v1/export/usage?model=other'), 422, 'unknown-name');
    expect(await count('subagents=only')).toBe(0);
    // One o'clock in Berlin.
    expect(await count('from=2026-01-02&time_zone=Europe/Berlin')).toBe(0);
    expect(await count('from=2026-01-01&to=2026-01-02&time_zone=Europe/Berlin')).toBe(30);
    expect(await count('to=2026-01-01')).toBe(0);
    await expectProblem(await api.fetch('/v1/export/usage?format=xlsx'), 400, 'invalid-request');
    await expectProblem(await api.fetch('/v1/export/usage?from=2026-01-02&to=2026-01-01'), 400, 'invalid-request');
    await expectProblem(await api.fetch('/v1/export/prompts'), 404, 'not-found');
  });

  it('has a header and no rows for a workspace without sessions', async () => {
    const headers = { authorization: `Bearer ${api.keys.other}` };
    const csv = await (await api.fetch('/v1/export/sessions', { headers })).text();
    expect(csv).toMatch(/^session_id,agent,[a-z_,]+\r\n$/);
  });

  describe('with many rows', () => {
    beforeAll(async () => {
      await api.database.pool.query(
        `INSERT INTO recount.usage_ledger (workspace_id, agent, response_key, session_id, row_set_id, source, "timestamp",
           is_subagent, copy_count, model, price_basis, price_version, cost_usd)
         SELECT $1, 'many', 'key-' || n, 'many', 'many', 'message', '2026-05-01Z'::timestamptz + n * interval '1 second',
           false, 1, repeat('m', 1600), 'list', 'v', n * 1e-10 FROM generate_series(1, $2::int) AS n`,
        [HOME_WORKSPACE, MANY_ROWS],
      );
    });
    afterAll(async () => {
      await api.database.pool.query("DELETE FROM recount.usage_ledger WHERE workspace_id = $1 AND agent = 'many'", [
        HOME_WORKSPACE,
      ]);
    });

    it('streams them all, in order, each once', async () => {
      const rows = await readLines('usage?format=ndjson&from=2026-05-01');
      expect(rows.map(({ response_id }) => response_id)).toEqual(
        Array.from({ length: MANY_ROWS }, (_, index) => `key-${index + 1}`),
      );
    });

    it('reads no faster than its client, limits concurrent exports, and stops with the client', async () => {
      const open = await Promise.all(Array.from({ length: MAX_CONCURRENT_EXPORTS - 1 }, () => startReading()));
      await vi.waitFor(async () => expect(await countCursors()).toBe(MAX_CONCURRENT_EXPORTS - 1));
      // While a client reads to the end, the rows of the others wait in Postgres.
      expect(await readLines('usage?format=ndjson&from=2026-05-01')).toHaveLength(MANY_ROWS);
      open.push(await startReading());
      await vi.waitFor(async () => expect(await countCursors()).toBe(MAX_CONCURRENT_EXPORTS));
      await expectProblem(await api.fetch('/v1/export/usage'), 429, 'too-many-exports');
      for (const answer of open) answer.destroy();
      await vi.waitFor(async () => expect(await countCursors()).toBe(0));
      await vi.waitFor(() => expect(api.database.pool.idleCount).toBe(api.database.pool.totalCount));
      expect(await readLines('usage?format=ndjson&session_id=first')).toHaveLength(20);
    });

    it('aborts if its client stops reading, not if it is slow', async () => {
      const log = pino({ level: 'trace' }, { write: (line) => void api.logLines.push(line) });
      const environment = { DATABASE_URL: api.connectionString, RECOUNT_RAW_STORE: api.storeDirectory };
      const config = { ...readApiConfig(environment), exportStallTimeoutMs: STALL_TIMEOUT_MS };
      const impatient = await createApiApp({ ...api, log }, config);
      const url = await impatient.listen({ host: '127.0.0.1', port: 0 });
      onTestFinished(async () => {
        impatient.server.closeAllConnections();
        await impatient.close();
      });
      const readUntilEnd = async (answer: IncomingMessage): Promise<boolean> => {
        const ended = new Promise((resolve) => answer.once('close', resolve));
        answer.resume();
        await ended;
        return answer.complete;
      };
      const stalled = await startReading(url);
      await vi.waitFor(() => expect(api.logLines.join('')).toContain('its client reads nothing'));
      expect(await readUntilEnd(stalled)).toBe(false);
      await vi.waitFor(async () => expect(await countCursors()).toBe(0));

      const slow = await startReading(url);
      // Paces itself by the clock. A fast machine reads no more, a busy one catches up. Kernels hold up to 37 MB of the
      // 50 MB for the reader, and report free space in steps of several hundred KiB.
      let readBytes = 0;
      const startMs = performance.now();
      for (let elapsedMs = 0; elapsedMs < 2 * STALL_TIMEOUT_MS; elapsedMs = performance.now() - startMs) {
        await sleep(15);
        while (readBytes < elapsedMs * SLOW_BYTES_PER_MS) {
          const chunk = slow.read() as Buffer | null;
          if (!chunk) break;
          readBytes += chunk.length;
        }
      }
      // The cursor is not idle while it fetches.
      await vi.waitFor(async () => expect(await countCursors()).toBe(1));
      expect(await readUntilEnd(slow)).toBe(true);
    });

    it('aborts the response, rather than ending it cleanly, if the database goes away', async () => {
      const answer = await startReading();
      await vi.waitFor(async () => {
        const { rows } = await api.database.pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE state = 'idle in transaction' AND datname = current_database() AND pid <> pg_backend_pid()`,
        );
        expect(rows).toHaveLength(1);
      });
      const failed = vi.fn();
      const ended = new Promise((resolve) => answer.on('error', failed).on('close', resolve));
      answer.resume();
      await ended;
      expect(answer.complete).toBe(false);
      expect(failed).toHaveBeenCalled();
      expect(api.logLines.join('')).toContain('export broke off');
    });
  });
});

async function countCursors(): Promise<number> {
  const { rows } = await api.database.pool.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()`,
  );
  return rows[0].count;
}

/** A client that reads nothing of the answer beyond what the kernel buffers. */
async function startReading(url = api.url): Promise<IncomingMessage> {
  const request = get(`${url}/v1/export/usage?from=2026-05-01`, {
    headers: { authorization: `Bearer ${api.keys.read}` },
  });
  request.on('error', () => undefined);
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(200);
  onTestFinished(() => void answer.destroy());
  return answer.on('error', () => undefined);
}
