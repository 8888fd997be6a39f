import { gzipSync } from 'node:zlib';
import { createApiKey, revokeApiKey } from '@recount/db';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { decodeProtobuf, encodeProtobuf } from '../otlp/otlp-codec.ts';
import { toLogsRequest, toMetricsRequest } from '../testing/otlp-messages.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

const PROTOBUF = 'application/x-protobuf';
const NOON = '2026-11-29T12:00:00.123Z';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterEach(async () => {
  await api.database.pool.query('DELETE FROM recount.telemetry_records');
});
afterAll(() => api.close());

const send = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(`${api.url}/v1/otlp/v1/${path}`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${api.keys.ingest}`, 'content-type': 'application/json', ...headers },
  });

const sendJson = (path: string, value: unknown, headers?: Record<string, string>) =>
  send(path, JSON.stringify(value), headers);

async function readRows(): Promise<Record<string, unknown>[]> {
  const { rows } = await api.database.pool.query(
    `SELECT agent, kind, session_id, request_id, model, "timestamp", tokens_in, tokens_out, cache_write,
       reported_cost_usd::float8 AS cost, person, machine FROM recount.telemetry_records ORDER BY session_id, record_key`,
  );
  return rows;
}

describe('POST /v1/otlp/v1/logs', () => {
  it('stores the figures of API requests, each once, however often an exporter repeats them', async () => {
    const message = toLogsRequest(
      [
        { session: 'a', request: 'req_1', time: NOON },
        { session: 'b', request: '', time: NOON, input: 7 },
      ],
      { 'host.name': 'maya-laptop', 'user.email': 'maya@acme.example' },
    );
    const [first, ...repeated] = await Promise.all([1, 2, 3].map(() => sendJson('logs', message)));
    expect(first?.status).toBe(200);
    expect(first?.headers.get('content-type')).toContain('application/json');
    expect(await first?.json()).toEqual({});
    expect(repeated.map(({ status }) => status)).toEqual([200, 200]);
    const both = { agent: 'claude-code', kind: 'request', model: 'claude-opus-5-5', cost: 0.5, machine: 'maya-laptop' };
    const named = { timestamp: new Date(NOON), tokens_out: '20', cache_write: '0', person: 'maya@acme.example' };
    expect(await readRows()).toEqual([
      { ...both, ...named, session_id: 'a', request_id: 'req_1', tokens_in: '10' },
      { ...both, ...named, session_id: 'b', request_id: null, tokens_in: '7' },
    ]);
  });

  it('reads protobuf, compressed or not, and answers in it', async () => {
    const message = { resourceLogs: toLogsRequest([{ session: 'a', request: 'req_1', time: NOON }]).resourceLogs };
    const bytes = Uint8Array.from(await encodeProtobuf('LogsRequest', message as never));
    for (const [body, encoding] of [
      [bytes, 'identity'],
      [Uint8Array.from(gzipSync(bytes)), 'gzip'],
    ] as const) {
      const answer = await send('logs', body, { 'content-type': PROTOBUF, 'content-encoding': encoding });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe(PROTOBUF);
      expect(await decodeProtobuf('ExportResponse', await answer.bytes())).toEqual({});
    }
    expect(await readRows()).toMatchObject([{ session_id: 'a', tokens_in: '10', cost: 0.5 }]);
  });

  it('accepts and leaves out everything else, and stores no text', async () => {
    const more = { prompt: 'private prompt', 'event.name': 'user_prompt' };
    const message = toLogsRequest([{ session: 'a', request: 'req_1', time: NOON, more }]);
    const [{ scopeLogs }] = message.resourceLogs as [(typeof message.resourceLogs)[0]];
    scopeLogs[0]?.logRecords.push({
      ...scopeLogs[0].logRecords[0],
      body: { stringValue: 'claude_code.user_prompt' },
    } as never);
    expect((await sendJson('logs', message)).status).toBe(200);
    const { rows } = await api.database.pool.query(
      'SELECT to_jsonb(t)::text AS row FROM recount.telemetry_records AS t',
    );
    expect(rows).toHaveLength(1);
    expect(rows[0].row).not.toContain('private');
    expect(api.logLines.join('\n')).not.toContain('private');
  });

  it('takes the person of the key, not the one that the program names', async () => {
    const key = { workspaceId: HOME_WORKSPACE, name: 'ada', scopes: ['ingest' as const], person: 'ada' };
    const { key: secret, id } = await createApiKey(api.database.database, key);
    const message = toLogsRequest([{ session: 'a', request: 'req_1', time: NOON }], { 'user.email': 'bob' });
    // As exporters send it that do not decode their variable.
    const headers = { authorization: `Bearer%20${secret}` };
    expect((await sendJson('logs', message, headers)).status).toBe(200);
    expect(await readRows()).toMatchObject([{ person: 'ada' }]);
    await api.database.withTransaction((transaction) => revokeApiKey(transaction, HOME_WORKSPACE, id));
    expect((await sendJson('logs', message, headers)).status).toBe(401);
  });

  it('says how many records it left out beyond its limit', async () => {
    const requests = Array.from({ length: 20_002 }, (_, index) => ({ session: 'a', request: `r${index}`, time: NOON }));
    const bytes = Uint8Array.from(gzipSync(JSON.stringify(toLogsRequest(requests))));
    const answer = await send('logs', bytes, { 'content-encoding': 'gzip' });
    expect(await answer.json()).toEqual({
      partialSuccess: { rejectedLogRecords: '2', errorMessage: 'At most 20000 are read in one request' },
    });
    const { rows } = await api.database.pool.query('SELECT count(*)::int AS count FROM recount.telemetry_records');
    expect(rows).toEqual([{ count: 20_000 }]);
  });

  it.each([
    ['{"resourceLogs":[1]}', 'application/json', 400],
    ['{', 'application/json', 400],
    ['[]', 'application/json', 400],
    ['\xFF', PROTOBUF, 400],
    ['x', 'text/plain', 415],
  ])('refuses %j as %s with %i, without Retry-After', async (body, type, status) => {
    const answer = await send('logs', body, { 'content-type': type });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('retry-after')).toBeNull();
    expect(await readRows()).toEqual([]);
  });

  it('answers errors with a status message, in the encoding of the request', async () => {
    const message = 'The body is not the message of OTLP that belongs to this path';
    expect(await (await send('logs', '{')).json()).toEqual({ code: 3, message });
    const answer = await send('logs', '\xFF', { 'content-type': PROTOBUF });
    expect(await decodeProtobuf('Status', await answer.bytes())).toEqual({ code: 3, message });
    const unknown = await sendJson('logs', {}, { authorization: 'Bearer rk_no' });
    expect([unknown.status, await unknown.json()]).toEqual([401, { code: 16, message: expect.any(String) }]);
  });

  it.each([
    ['a foreign encoding', 'br', Uint8Array.from([1]), 415],
    ['no gzip', 'gzip', Uint8Array.from([1, 2, 3]), 400],
    ['a small body that becomes large', 'gzip', Uint8Array.from(gzipSync(Buffer.alloc(17 * 1024 ** 2, ' '))), 413],
    ['a large body', 'identity', new Uint8Array(9 * 1024 ** 2).fill(32), 413],
  ])('refuses %s', async (_name, encoding, body, status) => {
    expect((await send('logs', body, { 'content-encoding': encoding })).status).toBe(status);
  });

  it.each([
    ['JSON', 'application/json', Buffer.from(`{"resourceLogs":[${'{},'.repeat(1_000_000)}{}]}`)],
    [
      'JSON that OTLP does not have',
      'application/json',
      Buffer.from(`{"x":${'['.repeat(1_100_000)}${']'.repeat(1_100_000)}}`),
    ],
    ['protobuf', PROTOBUF, Buffer.alloc(2_000_002, Buffer.from([0x0a, 0]))],
    // A length of three bytes for the 2,000,000 bytes of empty attributes, and of the messages around these.
    [
      'protobuf, deep within',
      PROTOBUF,
      Buffer.concat([
        Buffer.from([0x0a, 0x88, 0x89, 0x7a, 0x12, 0x84, 0x89, 0x7a, 0x12, 0x80, 0x89, 0x7a]),
        Buffer.alloc(2_000_000, Buffer.from([0x32, 0])),
      ]),
    ],
  ])('refuses a body of a few kilobytes that holds very many values: %s', async (_name, type, bytes) => {
    const body = Uint8Array.from(gzipSync(bytes));
    expect(body.byteLength).toBeLessThan(10_000);
    const answer = await send('logs', body, { 'content-encoding': 'gzip', 'content-type': type });
    expect(answer.status).toBe(413);
    const status = type === PROTOBUF ? await decodeProtobuf('Status', await answer.bytes()) : await answer.json();
    expect(status).toEqual({ code: 3, message: 'At most 1,000,000 values' });
  });

  it('reads 16 bodies at a time, of one key half of them', async () => {
    const patience = { timeout: 60_000, interval: 20 };
    const stall = new AbortController();
    const post = (body: string | ReadableStream, key: string, signal?: AbortSignal) =>
      fetch(`${api.url}/v1/otlp/v1/logs`, {
        ...{ method: 'POST', body, duplex: 'half', ...(signal && { signal }) },
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      } as RequestInit);
    const stalled = Array.from({ length: 8 }, () => {
      const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1000).fill(32)) });
      return post(body, api.keys.ingest, stall.signal).catch(() => undefined);
    });
    const status = async (key: string): Promise<number> => (await post('{}', key)).status;
    await expect.poll(() => status(api.keys.ingest), patience).toBe(429);
    const answer = await post('{}', api.keys.ingest);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '2']);
    expect(await answer.json()).toMatchObject({ code: 8 });
    expect(await status(api.keys.other)).toBe(200);
    stall.abort();
    await Promise.all(stalled);
    await expect.poll(() => status(api.keys.ingest), patience).toBe(200);
  });

  it('ends a body that stalls', async () => {
    const impatient = await createTestApi({ uploadIdleTimeoutMs: 100 });
    onTestFinished(() => impatient.close());
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(10)) });
    const headers = { 'content-type': PROTOBUF };
    const answer = await impatient.fetch('/v1/otlp/v1/logs', {
      method: 'POST',
      body,
      duplex: 'half',
      headers,
    } as never);
    expect(answer.status).toBe(408);
    expect(await decodeProtobuf('Status', await answer.bytes())).toMatchObject({ code: 2 });
  });

  it('needs the scope ingest, and keeps workspaces apart', async () => {
    const message = toLogsRequest([{ session: 'a', request: 'req_1', time: NOON }]);
    const status = async (key: string) => (await sendJson('logs', message, { authorization: `Bearer ${key}` })).status;
    expect(await status(api.keys.read)).toBe(403);
    expect(await status(api.keys.other)).toBe(200);
    const { rows } = await api.database.pool.query('SELECT workspace_id FROM recount.telemetry_records');
    expect(rows).not.toEqual([{ workspace_id: HOME_WORKSPACE }]);
  });

  it('asks the exporter to try again while the database is unavailable', async () => {
    const unavailable = await createTestApi({}, ({ database }) => ({
      database: {
        ...database,
        database: new Proxy(database.database, {
          get: (target, name, receiver) =>
            name === 'execute'
              ? () =>
                  Promise.reject(new Error('Failed query', { cause: new Error('Connection terminated unexpectedly') }))
              : (Reflect.get(target, name, receiver) as unknown),
        }),
      },
    }));
    try {
      const answer = await unavailable.fetch('/v1/otlp/v1/logs', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(toLogsRequest([{ session: 'a', request: 'req_1', time: NOON }])),
      });
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await answer.json()).toMatchObject({ code: 14 });
    } finally {
      await unavailable.close();
    }
  });
});

describe('POST /v1/otlp/v1/metrics', () => {
  it('adds increments, and takes the latest of totals', async () => {
    const later = '2026-11-29T12:01:00Z';
    for (const message of [
      toMetricsRequest('delta', 'input', 10, NOON),
      toMetricsRequest('delta', 'input', 5, later),
      toMetricsRequest('total', 'cacheCreation', 9, later, 2),
      toMetricsRequest('total', 'cacheCreation', 4, NOON, 2),
    ]) {
      expect(await (await sendJson('metrics', message)).json()).toEqual({});
    }
    const rows = await readRows();
    expect(
      rows
        .filter(({ session_id }) => session_id === 'delta')
        .map(({ tokens_in }) => tokens_in)
        .sort(),
    ).toEqual(['10', '5']);
    expect(rows.filter(({ session_id }) => session_id === 'total')).toMatchObject([
      { kind: 'sum', cache_write: '9', timestamp: new Date(later) },
    ]);
  });
});

it('accepts an empty request on all three paths', async () => {
  for (const path of ['logs', 'metrics', 'traces']) {
    expect((await send(path, new Uint8Array(0), { 'content-type': PROTOBUF })).status).toBe(200);
  }
});
