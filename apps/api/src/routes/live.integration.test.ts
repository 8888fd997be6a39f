import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import {
  liveListSchema,
  type Problem,
  type SessionDetail,
  sessionDetailSchema,
  toProblemSlug,
} from '@recount/contract';
import { findAgentFormat } from '@recount/core';
import { createDatabasePool } from '@recount/db';
import { tendLiveStreams } from '@recount/ingest';
import { RawStoreError } from '@recount/storage';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createApiApp } from '../app.ts';
import { readApiConfig } from '../config.ts';
import { parseEvents, withoutTimes } from '../testing/event-words.ts';
import { expectProblem } from '../testing/expect-problem.ts';
import { followEvents, newTestStreamId, openLive, readStory, sendLive } from '../testing/live-client.ts';
import { CHECKPOINTS, LIVE_TOKENS, toCodexLines, toFirstMessageId, toStreamLines } from '../testing/stream-lines.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

const limits = { maxOpenStreams: 50, maxStreamBytes: 200_000, idleTimeoutMs: 60_000, slowReaderTimeoutMs: 500 };

let api: TestApi;
let other: Awaited<ReturnType<typeof startOther>>;
let sender: { url: string; key: string };
let reader: { url: string; key: string };

beforeAll(async () => {
  const { live } = readApiConfig({ DATABASE_URL: 'postgres://x', RECOUNT_RAW_STORE: 'x' });
  api = await createTestApi({ live: { ...live, ...limits, heartbeatMs: 300 } });
  other = await startOther();
  sender = { url: api.url, key: api.keys.ingest };
  reader = { url: other.url, key: api.keys.read };
});
afterAll(async () => {
  await other.close();
  await api.close();
});

/** Like a second process, because the two APIs do not know of each other. */
async function startOther(): Promise<{ url: string; stop(): Promise<void>; close(): Promise<void> }> {
  const database = createDatabasePool({ connectionString: api.connectionString });
  const environment = { DATABASE_URL: api.connectionString, RECOUNT_RAW_STORE: api.storeDirectory };
  const deps = { database, rawStore: api.rawStore, log: pino({ level: 'silent' }) };
  const config = readApiConfig(environment);
  const app = await createApiApp(deps, { ...config, live: { ...config.live, heartbeatMs: 300 } });
  const stop = async (): Promise<void> => {
    await app.close();
    await database.close();
  };
  return {
    url: await app.listen({ host: '127.0.0.1', port: 0 }),
    stop,
    async close() {
      app.server.closeAllConnections();
      await stop();
    },
  };
}

const slugOf = (body: unknown): string | undefined => toProblemSlug((body as Problem).type);

const complete = { 'recount-complete': '?1', 'recount-exit-code': '0' };

/** Stores a whole stream in one request. */
async function record(sessionId: string, lines: readonly string[], query: Record<string, string> = {}) {
  const streamId = newTestStreamId();
  const answer = await sendLive(sender, sessionId, lines.join(''), { 'recount-stream': streamId, ...complete }, query);
  expect(answer.status).toBe(200);
  return { ...answer.body, streamId };
}

const readSession = async (sessionId: string): Promise<SessionDetail> =>
  sessionDetailSchema.parse(await (await api.fetch(`/v1/sessions/${sessionId}`)).json());

describe('a live stream', () => {
  it('reaches a reader on another process while it runs, with the events of the library', async () => {
    const lines = toStreamLines('running');
    const streamId = newTestStreamId();
    const live = openLive(sender, 'running', { 'recount-stream': streamId });
    await live.write(lines[0] ?? '');
    await vi.waitFor(async () => expect((await api.fetch('/v1/sessions/running/events?follow=true')).status).toBe(200));
    const follower = await followEvents(reader, 'running');
    await follower.waitFor('session-start');
    const bytes = Buffer.from(lines.slice(1).join(''));
    for (let at = 0; at < bytes.length; at += 97) await live.write(bytes.subarray(at, at + 97));
    await follower.waitFor('result');
    const running = liveListSchema.parse(await (await api.fetch('/v1/live')).json());
    expect(running.streams).toMatchObject([{ stream_id: streamId, state: 'open', ...LIVE_TOKENS, success: null }]);
    live.end();
    expect(await live.answer).toMatchObject({ status: 200, body: { state: 'open', transcript_id: null } });
    const end = {
      'recount-stream': streamId,
      'recount-offset': String(Buffer.byteLength(lines.join(''))),
      ...complete,
    };
    const closed = await sendLive(sender, 'running', '', end);
    expect(closed).toMatchObject({
      status: 200,
      body: { state: 'closed', stored_bytes: Number(end['recount-offset']) },
    });
    const last = await follower.waitFor('close');
    follower.close();
    expect(last.data).toMatchObject({
      ...{ session_id: 'running', stream_id: streamId, state: 'complete', success: true },
      exit: { exitCode: 0, signal: null },
      summary: { tokens: LIVE_TOKENS, costUsd: 0.0123 },
    });
    const events = follower.events.map(({ data }) => withoutTimes(data));
    expect(events.slice(0, -1)).toEqual(parseEvents('claude', lines.join('')));
    expect(follower.events.map(({ id }) => id)).toEqual(follower.events.map((_event, index) => index + 1));
    expect(await readStory(reader, 'running')).toEqual(follower.events);
  });

  it('can be resumed by a reader after any event, without loss or repetition', async () => {
    await record('resumed', toStreamLines('resumed'));
    const story = await readStory(reader, 'resumed');
    for (const [index, { id }] of story.entries()) {
      expect(await readStory(reader, 'resumed', id)).toEqual(story.slice(index + 1));
    }
    expect(await readStory(reader, 'resumed', 10_000)).toEqual(story);
  });

  it('leaves out events that an earlier version stored in its own words', async () => {
    await record('upgraded', toStreamLines('upgraded'));
    const story = await readStory(reader, 'upgraded');
    const [first] = story;
    await api.database.pool.query(
      `UPDATE recount.live_events SET name = 'stream:init', data = '{"sessionId":"upgraded","tools":[]}'
       WHERE session_id = 'upgraded' AND id = $1`,
      [first?.id],
    );
    expect(await readStory(reader, 'upgraded')).toEqual(story.slice(1));
  });

  it('becomes a transcript with the same figures, counted once although the session file is uploaded too', async () => {
    const lines = toStreamLines('ingested');
    const { transcript_id, streamId, stored_bytes } = await record('ingested', lines);
    await api.work();
    const session = await readSession('ingested');
    expect(session).toMatchObject({
      primary_transcript_id: transcript_id,
      ...LIVE_TOKENS,
      project: '/home/ada/app',
      agent_version: '2.1.0',
      initial_prompt: 'prüfe die Zähler 👩‍👩‍👧',
      tool_use_count: 1,
      live: { stream_count: 1, running_count: 0, ...LIVE_TOKENS, cost_usd: 0.0123, model: 'claude-sonnet-4-5' },
      transcripts: [{ id: transcript_id, format: 'claude-stream-json', status: 'ingested', error_count: 0 }],
    });
    expect(session.metadata).toMatchObject({ reportedTotals: { source: 'result', cost_usd: 0.0123 } });
    expect(Math.abs(Date.parse(session.first_timestamp ?? '') - Date.now())).toBeLessThan(60_000);
    const raw = await api.fetch(`/v1/transcripts/${transcript_id}/raw`);
    expect(await raw.text()).toBe(lines.join(''));
    const again = await sendLive(sender, 'ingested', '', {
      'recount-stream': streamId,
      'recount-offset': String(stored_bytes),
      ...complete,
    });
    expect(again).toMatchObject({ status: 200, body: { state: 'closed', transcript_id } });

    const file = {
      type: 'assistant',
      sessionId: 'ingested',
      uuid: 'of-the-file',
      timestamp: '2026-01-01T00:00:00.000Z',
      requestId: 'req_1',
      message: {
        id: toFirstMessageId('ingested'),
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        stop_reason: 'tool_use',
        content: [{ type: 'text', text: 'Ich sehe nach.' }],
        usage: { input_tokens: 5, output_tokens: 120, cache_read_input_tokens: 1000, cache_creation_input_tokens: 10 },
      },
    };
    // With the key that sent the stream, because another uploader's version would be kept beside it.
    const init = { headers: { authorization: `Bearer ${api.keys.ingest}` } };
    const { transcript_id: fileId } = (await (await api.upload(`${JSON.stringify(file)}\n`, {}, init)).json()) as {
      transcript_id: string;
    };
    await api.work();
    expect(await readSession('ingested')).toMatchObject({
      primary_transcript_id: fileId,
      transcript_count: 2,
      tokens_out: 120,
      usage: { own: { responses: 3, tokens_out: LIVE_TOKENS.tokens_out } },
    });
  });

  it('is also ingested if its recording is uploaded', async () => {
    const { transcript_id } = (await (await api.upload(toStreamLines('uploaded').join(''))).json()) as {
      transcript_id: string;
    };
    await api.work();
    expect(await readSession('uploaded')).toMatchObject({
      primary_transcript_id: transcript_id,
      tokens_out: LIVE_TOKENS.tokens_out,
      first_timestamp: null,
      live: null,
    });
  });

  it('is added to the session’s figures, and keeps its checkpoints', async () => {
    await record('twice', toStreamLines('twice'));
    await record('twice', toStreamLines('twice').slice(0, 6));
    const checkpoints = await api.fetch('/v1/sessions/twice/checkpoints');
    expect(await checkpoints.json()).toEqual({ session_id: 'twice', checkpoints: CHECKPOINTS });
    await api.work();
    expect((await readSession('twice')).live).toMatchObject({
      stream_count: 2,
      ...{ tokens_in: 20, tokens_out: 191, cache_read: 4000, cache_write: 40 },
      cost_usd: 0.0123,
    });
    const ended = liveListSchema.parse(await (await api.fetch('/v1/live?state=ended&session_id=twice')).json());
    expect(ended.streams).toMatchObject([
      { success: true, cost_usd: null },
      { success: true, cost_usd: 0.0123 },
    ]);
  });

  it.each([
    ['codex', 'codex', toCodexLines('thread-1')],
    ['amp', 'amp', toStreamLines('T-1')],
  ])('is shown and stored unchanged for %s', async (agent, command, lines) => {
    const session = `of-${agent}`;
    const isTranscript = findAgentFormat(agent, 'stream') !== undefined;
    const transcript_id = isTranscript ? expect.any(String) : null;
    expect(await record(session, lines, { agent })).toMatchObject({ state: 'closed', transcript_id });
    const story = await readStory(reader, session);
    const events = story.map(({ data }) => withoutTimes(data));
    expect(events.slice(0, -1)).toEqual(parseEvents(command, lines.join('')));
    const { rows } = await api.database.pool.query<{ object_key: string; tokens_out: string }>(
      `SELECT coalesce(t.object_key, s.object_key) AS object_key, s.tokens_out
       FROM recount.live_streams s LEFT JOIN recount.transcripts t ON (t.workspace_id, t.id) = (s.workspace_id, s.transcript_id)
       WHERE s.session_id = $1`,
      [session],
    );
    const stored = await (await api.rawStore.get(rows[0]?.object_key ?? '')).toArray();
    expect(Buffer.concat(stored).toString()).toBe(lines.join(''));
    expect(Number(rows[0]?.tokens_out)).toBeGreaterThan(0);
  });

  it('reports how the agent ended, also without a result', async () => {
    const begin = toStreamLines('killed').slice(0, 6).join('');
    const headers = { 'recount-complete': '?1', 'recount-exit-signal': 'SIGKILL' };
    await sendLive(sender, 'killed', begin, headers);
    const story = await readStory(reader, 'killed');
    expect(story.at(-1)?.data).toMatchObject({
      success: false,
      aborted: true,
      error: 'The agent was ended by SIGKILL',
    });
    await sendLive(sender, 'fell-silent', begin, complete);
    expect((await readStory(reader, 'fell-silent')).at(-1)?.data).toMatchObject({ success: true });
  });
});

/** In the encoding recount-chunked. */
function toChunk(bytes: string | Uint8Array, digestOf: string | Uint8Array = bytes): Buffer {
  const digest = createHash('sha256').update(digestOf).digest('base64');
  const header = `${Buffer.byteLength(bytes).toString(16)};sha-256=:${digest}:\r\n`;
  return Buffer.concat([Buffer.from(header), Buffer.from(bytes), Buffer.from('\r\n')]);
}

describe('bytes of a stream', () => {
  const chunked = { 'content-encoding': 'recount-chunked' };
  const newName = () => ({ 'recount-stream': newTestStreamId() });

  it('arrive with their digests, and are stored once these match', async () => {
    const name = newName();
    const lines = toStreamLines('digests');
    const bytes = Buffer.from(lines.join(''));
    const half = bytes.length >> 1;
    const beginning = Buffer.concat([toChunk(bytes.subarray(0, half)), toChunk('evil', 'even'), toChunk('late')]);
    const broken = await sendLive(sender, 'digests', beginning, { ...name, ...chunked });
    expect([broken.status, slugOf(broken.body)]).toEqual([400, 'digest-mismatch']);
    const head = await api.fetch(`/v1/sessions/digests/live?stream=${name['recount-stream']}`, { method: 'HEAD' });
    expect(head.headers.get('recount-offset')).toBe(String(half));

    const rest = toChunk(bytes.subarray(half));
    const headers = { ...name, ...chunked, ...complete, 'recount-offset': String(half) };
    const sent = await sendLive(sender, 'digests', rest, headers);
    expect(sent).toMatchObject({ status: 200, body: { state: 'closed', stored_bytes: bytes.length } });
    const raw = await api.fetch(`/v1/transcripts/${sent.body.transcript_id}/raw`);
    expect(Buffer.from(await raw.arrayBuffer())).toEqual(bytes);
  });

  it('may have one digest for the whole body', async () => {
    const name = newName();
    const [line = ''] = toStreamLines('whole-body');
    const toHeaders = (text: string) => ({
      'content-digest': `sha-256=:${createHash('sha256').update(text).digest('base64')}:`,
    });
    const wrong = await sendLive(sender, 'whole-body', line, { ...name, ...toHeaders('else') });
    expect([wrong.status, slugOf(wrong.body)]).toEqual([400, 'digest-mismatch']);
    const right = await sendLive(sender, 'whole-body', line, { ...name, ...toHeaders(line) });
    expect(right).toMatchObject({ status: 200, body: { stored_bytes: Buffer.byteLength(line) } });
    const both = await sendLive(sender, 'whole-body', toChunk('x'), { ...name, ...chunked, ...toHeaders('x') });
    expect([both.status, slugOf(both.body)]).toEqual([400, 'invalid-digest']);
    const packed = await sendLive(sender, 'whole-body', 'x', { ...name, 'content-encoding': 'gzip' });
    expect([packed.status, slugOf(packed.body)]).toEqual([415, 'unsupported-encoding']);
  });

  it.each([
    ['claude-code', 'open'],
    ['claude-code', 'closed'],
    ['codex', 'closed'],
  ])('are refused for %s if they differ from the stored ones and the stream is %s', async (agent, state) => {
    const name = newName();
    const session = `differing-${agent}-${state}`;
    const lines = agent === 'codex' ? toCodexLines(session) : toStreamLines(session);
    const text = lines.join('');
    const end = state === 'closed' ? complete : {};
    const send = (bytes: Uint8Array, offset: number) =>
      sendLive(sender, session, bytes, { ...name, ...end, 'recount-offset': String(offset) }, { agent });
    const bytes = Buffer.from(text);
    expect((await send(bytes, 0)).status).toBe(200);

    const other = Buffer.from(bytes);
    other[200] = (other[200] ?? 0) ^ 1;
    for (const [offset, length] of [
      [0, bytes.length],
      [150, bytes.length],
      ...(state === 'open' ? [[200, 201]] : []),
    ] as const) {
      const refused = await send(other.subarray(offset, length), offset);
      expect([refused.status, slugOf(refused.body)]).toEqual([409, 'stream-conflict']);
      const again = await send(bytes.subarray(offset, length), offset);
      expect(again).toMatchObject({ status: 200, body: { stored_bytes: bytes.length } });
    }
  });
});

describe('a broken connection', () => {
  it('leaves the stream open, to be resumed at its offset on any process', async () => {
    const lines = toStreamLines('broken');
    const bytes = Buffer.from(lines.join(''));
    const streamId = newTestStreamId();
    const name = { 'recount-stream': streamId };
    const path = `/v1/sessions/broken/live?stream=${streamId}`;
    const askOffset = async (): Promise<number> => {
      const head = await api.fetch(path, { method: 'HEAD' });
      expect(head.headers.get('recount-complete')).toBe('?0');
      return Number(head.headers.get('recount-offset'));
    };
    // Within a line, and within a multi-byte character.
    const cut = bytes.indexOf('👩') + 2;
    const first = openLive(sender, 'broken', name);
    await first.write(bytes.subarray(0, cut));
    await vi.waitFor(async () => expect(await askOffset()).toBe(cut));
    first.destroy();

    const gap = await sendLive(sender, 'broken', 'x', { ...name, 'recount-offset': String(cut + 1) });
    expect(gap).toMatchObject({ status: 409, headers: { 'recount-offset': String(cut) } });
    expect(slugOf(gap.body)).toBe('offset-mismatch');

    // Sends again what is already stored.
    const second = { url: other.url, key: api.keys.ingest };
    const middle = bytes.subarray(100, cut + 50);
    const resumed = await sendLive(second, 'broken', middle, { ...name, 'recount-offset': '100' });
    expect(resumed).toMatchObject({ status: 200, body: { stored_bytes: cut + 50, state: 'open' } });
    const rest = bytes.subarray(cut + 50);
    const last = await sendLive(sender, 'broken', rest, { ...name, 'recount-offset': String(cut + 50), ...complete });
    expect(last).toMatchObject({ status: 200, body: { stored_bytes: bytes.length, state: 'closed' } });
    const story = await readStory(reader, 'broken');
    const events = story.map(({ data }) => withoutTimes(data));
    expect(events.slice(0, -1)).toEqual(parseEvents('claude', bytes.toString()));
    expect(events.at(-1)).toMatchObject({ type: 'close', success: true });

    const late = await sendLive(sender, 'broken', 'late', { ...name, 'recount-offset': String(bytes.length) });
    expect([late.status, slugOf(late.body)]).toEqual([409, 'stream-closed']);
    const more = await sendLive(sender, 'broken', 'late', {
      ...name,
      ...complete,
      'recount-offset': String(bytes.length),
    });
    expect([more.status, slugOf(more.body)]).toEqual([409, 'stream-closed']);
  });

  it('is not awaited, because the resuming request takes over', async () => {
    const [line = '', next = ''] = toStreamLines('taken');
    const streamId = newTestStreamId();
    const name = { 'recount-stream': streamId };
    const stuck = openLive(sender, 'taken', name);
    await stuck.write(line);
    const isStored = async () => {
      const { headers } = await api.fetch(`/v1/sessions/taken/live?stream=${streamId}`, { method: 'HEAD' });
      expect(headers.get('recount-offset')).toBe(String(line.length));
    };
    await vi.waitFor(isStored);
    for (const url of [api.url, other.url]) {
      const target = { url, key: api.keys.ingest };
      expect(await sendLive(target, 'taken', line, { ...name })).toMatchObject({ body: { stored_bytes: line.length } });
    }
    await stuck.write(next).catch(() => undefined);
    const answer = await stuck.answer;
    expect([answer.status, slugOf(answer.body)]).toEqual([409, 'stream-taken-over']);
  });

  it('ends the stream if it is not resumed', async () => {
    const lines = toStreamLines('left').slice(0, 3);
    await sendLive(sender, 'left', lines.join(''));
    const onFailure = vi.fn();
    const deps = { database: api.database, rawStore: api.rawStore };
    const tend = (afterMs: number) =>
      tendLiveStreams(
        { ...deps, now: () => Date.now() + afterMs },
        { idleTimeoutMs: 900_000, eventRetentionMs: 1000, onFailure },
      );
    await tend(800_000);
    const isOpen = async () => (await api.fetch('/v1/live?session_id=left')).json();
    expect(await isOpen()).toMatchObject({ streams: [{ state: 'open' }] });
    await Promise.all([tend(901_000), tend(901_000)]);
    expect(onFailure).not.toHaveBeenCalled();
    expect(await isOpen()).toEqual({ streams: [] });
    const story = await readStory(reader, 'left');
    expect(story.filter(({ event }) => event === 'close')).toMatchObject([{ data: { success: false, aborted: true } }]);
    await api.work();
    expect(await readSession('left')).toMatchObject({ transcripts: [{ status: 'ingested' }] });
    await tend(1_000_000);
    expect(await readStory(reader, 'left')).toEqual([]);
    const { rows } = await api.database.pool.query('SELECT count(*)::int AS count FROM recount.live_chunks');
    const { rows: open } = await api.database.pool.query("SELECT 1 FROM recount.live_streams WHERE state <> 'closed'");
    expect(open).toEqual([]);
    expect(rows).toEqual([{ count: 0 }]);
  });

  it('has its stream stored by another process if its own died after the agent had ended', async () => {
    const failing = { ...api.rawStore, put: () => Promise.reject(new Error('away')) };
    const lines = toStreamLines('closing');
    const app = await createApiApp(
      { database: api.database, rawStore: failing, log: pino({ level: 'silent' }) },
      readApiConfig({ DATABASE_URL: api.connectionString, RECOUNT_RAW_STORE: api.storeDirectory }),
    );
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const name = { 'recount-stream': newTestStreamId() };
    const key = api.keys.ingest;
    expect((await sendLive({ url, key }, 'closing', lines.join(''), { ...name, ...complete })).status).toBe(500);
    app.server.closeAllConnections();
    await app.close();
    const deps = { database: api.database, rawStore: api.rawStore };
    const options = { idleTimeoutMs: 1e9, eventRetentionMs: 1e9, closingTimeoutMs: 0, onFailure: vi.fn() };
    await Promise.all([tendLiveStreams(deps, options), tendLiveStreams(deps, options)]);
    await api.work();
    expect(await readSession('closing')).toMatchObject({
      tokens_out: LIVE_TOKENS.tokens_out,
      live: { stream_count: 1 },
    });
    const repeated = await sendLive(sender, 'closing', lines.join(''), { ...name, ...complete });
    expect(repeated).toMatchObject({ status: 200, body: { state: 'closed' } });
  });
});

describe('the completing request', () => {
  const startWith = async (put: TestApi['rawStore']['put']) => {
    const rawStore = { ...api.rawStore, put };
    const app = await createApiApp(
      { database: api.database, rawStore, log: pino({ level: 'silent' }) },
      readApiConfig({ DATABASE_URL: api.connectionString, RECOUNT_RAW_STORE: api.storeDirectory }),
    );
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const close = async () => {
      app.server.closeAllConnections();
      await app.close();
    };
    return { place: { url, key: api.keys.ingest }, close };
  };

  it('is answered with 200 only once the bytes are a transcript, also when it is repeated', async () => {
    let isAway = true;
    const { place, close } = await startWith((...parameters) =>
      isAway ? Promise.reject(new RawStoreError('unavailable', 'away')) : api.rawStore.put(...parameters),
    );
    const text = toStreamLines('repeated-end').join('');
    const headers = { 'recount-stream': newTestStreamId(), ...complete };
    for (let attempt = 0; attempt < 2; attempt++) {
      const refused = await sendLive(place, 'repeated-end', text, headers);
      expect([refused.status, slugOf(refused.body)]).toEqual([503, 'store-unavailable']);
    }
    isAway = false;
    const answers = await Promise.all([1, 2, 3].map(() => sendLive(place, 'repeated-end', text, headers)));
    for (const { status, body } of answers) {
      expect([status, body.state]).toEqual([200, 'closed']);
      expect((await api.fetch(`/v1/transcripts/${body.transcript_id}`)).status).toBe(200);
    }
    await close();
  });

  it('is refused if the stream is deleted with its session before its bytes are a transcript', async () => {
    const started = Promise.withResolvers<void>();
    const deleted = Promise.withResolvers<void>();
    const { place, close } = await startWith(async (...parameters) => {
      started.resolve();
      await deleted.promise;
      return await api.rawStore.put(...parameters);
    });
    const text = toStreamLines('deleted-end').join('');
    const answer = sendLive(place, 'deleted-end', text, { 'recount-stream': newTestStreamId(), ...complete });
    await started.promise;
    expect((await api.fetch('/v1/sessions/deleted-end', { method: 'DELETE' })).status).toBe(204);
    deleted.resolve();
    const refused = await answer;
    expect([refused.status, slugOf(refused.body)]).toEqual([409, 'stream-closed']);
    expect((await api.fetch('/v1/sessions/deleted-end')).status).toBe(404);
    await close();
  });
});

describe('a reader', () => {
  it('misses nothing when the connection that carries notifications breaks', async () => {
    const [line = '', ...lines] = toStreamLines('deaf');
    const name = { 'recount-stream': newTestStreamId() };
    await sendLive(sender, 'deaf', line, name);
    const follower = await followEvents(reader, 'deaf');
    await follower.waitFor('session-start');
    const { rows } = await api.database.pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN recount_live%' AND datname = current_database()",
    );
    expect(rows.length).toBeGreaterThan(0);
    await sendLive(sender, 'deaf', lines.join(''), { ...name, ...complete, 'recount-offset': String(line.length) });
    await follower.waitFor('close');
    follower.close();
    expect(follower.events).toEqual(await readStory(reader, 'deaf'));
  });

  it('is redirected like a sender when the process stops, which stores what it has', async () => {
    const stopping = await startOther();
    const [line = '', next = ''] = toStreamLines('stopping');
    const streamId = newTestStreamId();
    const live = openLive({ url: stopping.url, key: api.keys.ingest }, 'stopping', { 'recount-stream': streamId });
    await live.write(line);
    const path = `/v1/sessions/stopping/live?stream=${streamId}`;
    await vi.waitFor(async () => expect((await api.fetch(path, { method: 'HEAD' })).status).toBe(200));
    const follower = await followEvents({ url: stopping.url, key: api.keys.read }, 'stopping');
    await follower.waitFor('session-start');
    const seenCount = follower.events.length;
    await live.write(next);
    await vi.waitFor(() => expect(follower.events.length).toBeGreaterThan(seenCount));
    const stopped = stopping.stop();
    expect(slugOf((await live.answer).body)).toBe('not-ready');
    await follower.ended;
    await stopped;
    const head = await api.fetch(path, { method: 'HEAD' });
    const offset = String(Buffer.byteLength(line + next));
    expect(head.headers.get('recount-offset')).toBe(offset);
    const end = { 'recount-stream': streamId, ...complete, 'recount-offset': offset };
    expect((await sendLive(sender, 'stopping', '', end)).status).toBe(200);
  });
});

describe('limits', () => {
  it('apply to bytes, and what came before is stored', async () => {
    const name = { 'recount-stream': newTestStreamId() };
    const line = `${JSON.stringify({ type: 'user', message: { content: 'x'.repeat(60_000) } })}\n`;
    const answer = await sendLive(sender, 'large', line.repeat(5), name);
    expect([answer.status, slugOf(answer.body)]).toEqual([413, 'stream-too-large']);
    expect(Number(answer.headers['recount-offset'])).toBeGreaterThan(0);
    const rest = { ...name, ...complete, 'recount-offset': String(answer.headers['recount-offset']) };
    expect(await sendLive(sender, 'large', '', rest)).toMatchObject({ status: 200, body: { state: 'closed' } });
  });

  it('apply to the session’s id, so a stream that could never become a transcript is refused immediately', async () => {
    const answer = await sendLive(sender, 'two\nlines', 'anything\n', complete);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ location: 'path', field: 'session_id' }] } });
    expect(await (await api.fetch('/v1/live?state=all&session_id=two%0Alines')).json()).toEqual({ streams: [] });
  });

  it('apply to the open streams of a workspace', async () => {
    const headers = (streamId: string) => ({ 'recount-stream': streamId });
    const ids = Array.from({ length: limits.maxOpenStreams + 10 }, () => newTestStreamId());
    const other = { url: api.url, key: api.keys.admin };
    const answers = await Promise.all(
      ids.map((id, index) => sendLive(index % 2 === 0 ? sender : other, 'crowd', '', headers(id))),
    );
    const { streams } = liveListSchema.parse(await (await api.fetch('/v1/live')).json());
    expect(streams).toHaveLength(limits.maxOpenStreams);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(10);
    expect(refused.map(({ body }) => slugOf(body))).toEqual(refused.map(() => 'too-many-streams'));
    await Promise.all(
      streams.map(({ stream_id, session_id }) =>
        sendLive(sender, session_id, '', { ...headers(stream_id), ...complete }),
      ),
    );
    expect(await (await api.fetch('/v1/live')).json()).toEqual({ streams: [] });
  });

  it('leave half of a workspace’s streams to other keys, whatever one key opens', async () => {
    const share = limits.maxOpenStreams / 2;
    const ids = Array.from({ length: share + 5 }, () => newTestStreamId());
    const answers = await Promise.all(ids.map((id) => sendLive(sender, 'greedy', '', { 'recount-stream': id })));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(5);
    for (const { body, headers } of refused) {
      expect(body).toMatchObject({ detail: `At most ${share} concurrent streams of a key` });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    // One that is open may be continued.
    const openId = ids.find((_, index) => answers[index]?.status === 200) ?? '';
    expect(await sendLive(sender, 'greedy', '', { 'recount-stream': openId })).toMatchObject({ status: 200 });
    const other = { url: api.url, key: api.keys.admin };
    expect(await sendLive(other, 'modest', '', complete)).toMatchObject({ status: 200 });
    const { streams } = liveListSchema.parse(await (await api.fetch('/v1/live')).json());
    await Promise.all(
      streams.map(({ stream_id, session_id }) =>
        sendLive(sender, session_id, '', { 'recount-stream': stream_id, ...complete }),
      ),
    );
    expect(await sendLive(sender, 'greedy', '', complete)).toMatchObject({ status: 200 });
  });

  it('apply to long texts in events', async () => {
    const text = 'y'.repeat(100_000);
    const line = { type: 'assistant', message: { id: 'm', content: [{ type: 'text', text }] } };
    await record('long', [`${JSON.stringify(line)}\n`]);
    const [event] = await readStory(reader, 'long');
    expect(event?.data).toMatchObject({ text: text.slice(0, 65_536), isCut: true });
  });

  it('drop a reader that does not read, and a reader without events gets keep-alives', async () => {
    const lines = Array.from(
      { length: 3 },
      () => `${JSON.stringify({ type: 'user', message: { content: 'z'.repeat(50_000) } })}\n`,
    );
    for (let round = 0; round < 60; round++) await sendLive(sender, 'slow', lines.join(''), complete);
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    const dropped = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.write(`GET /v1/sessions/slow/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.keys.read}\r\n\r\n`);
    socket.pause();
    await vi.waitFor(() => expect(api.logLines.join('')).toContain('slow reader'));
    socket.resume();
    await dropped;

    const follower = await followEvents({ url: api.url, key: api.keys.read }, 'resumed', { lastEventId: 1000 });
    await vi.waitFor(() => expect(follower.comments.length).toBeGreaterThanOrEqual(2));
    follower.close();
  });
});

describe('private data', () => {
  it('stays in the workspace, and out of the log', async () => {
    await record('secret-session', toStreamLines('secret-session'));
    const theirs = { authorization: `Bearer ${api.keys.other}` };
    for (const path of ['events', 'checkpoints']) {
      const response = await api.fetch(`/v1/sessions/secret-session/${path}`, { headers: theirs });
      await expectProblem(response, 404, 'not-found');
    }
    expect(await (await api.fetch('/v1/live?state=all', { headers: theirs })).json()).toEqual({ streams: [] });
    const log = api.logLines.join('');
    for (const text of ['prüfe', 'Fertig', 'Ich sehe nach', 'secret-session']) expect(log).not.toContain(text);
  });

  it('is deleted with its session', async () => {
    await record('doomed', toStreamLines('doomed'));
    await record('doomed', toCodexLines('doomed'), { agent: 'codex' });
    const before = await api.listStore();
    expect((await api.fetch('/v1/sessions/doomed', { method: 'DELETE' })).status).toBe(204);
    expect((await api.listStore()).length).toBe(before.length - 2);
    for (const table of ['live_sessions', 'live_streams', 'live_events']) {
      const { rows } = await api.database.pool.query(`SELECT 1 FROM recount.${table} WHERE session_id = 'doomed'`);
      expect(rows).toEqual([]);
    }
    await expectProblem(await api.fetch('/v1/sessions/doomed/events'), 404, 'not-found');
  });

  it('belongs to the workspace of the key', async () => {
    const name = newTestStreamId();
    const lines = toStreamLines('shared-name').join('');
    const headers = { 'recount-stream': name, ...complete };
    await sendLive({ url: api.url, key: api.keys.other }, 'shared-name', lines, headers);
    await expectProblem(await api.fetch('/v1/sessions/shared-name/events'), 404, 'not-found');
    await sendLive(sender, 'shared-name', lines, headers);
    const { rows } = await api.database.pool.query<{ workspace_id: string }>(
      'SELECT workspace_id FROM recount.live_streams WHERE id = $1 ORDER BY 1',
      [name],
    );
    expect(rows.map(({ workspace_id }) => workspace_id)).toContain(HOME_WORKSPACE);
    expect(rows).toHaveLength(2);
    const wrong = await sendLive(sender, 'another-session', '', { 'recount-stream': name });
    expect([wrong.status, slugOf(wrong.body)]).toEqual([400, 'invalid-request']);
  });
});
