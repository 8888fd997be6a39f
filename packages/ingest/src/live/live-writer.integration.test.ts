import { MAX_WAIT_MS } from '@recount/core/live';
import {
  changeWorkspaceSettings,
  findLiveSession,
  type LiveStreamRow,
  listLiveEvents,
  type WorkspaceSettings,
} from '@recount/db';
import { waitForLocks } from '@recount/local-postgres/testing';
import type { RawStore } from '@recount/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';
import { createLiveBudget } from './live-budget.ts';
import type { LiveDependencies, LiveEnding } from './live-writer.ts';
import { newStreamId, openLiveWriter } from './open-live-writer.ts';

/** Assembled from parts, so that secret scanners do not report this repository. */
const TOKEN = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
const LIMITS = { maxOpenStreams: 10, maxBytes: 50_000_000 };
const SILENCE: LiveEnding = { silentMs: 900_000 };

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

const toAnswer = (index: number, text = `answer ${index}`): string =>
  `${JSON.stringify({
    type: 'assistant',
    session_id: 's',
    message: {
      id: `msg_${index}`,
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text }],
      usage: { input_tokens: 10, output_tokens: 100, cache_read_input_tokens: 1000, cache_creation_input_tokens: 1 },
    },
  })}\n`;
const toResult = (costUsd: number): string =>
  `${JSON.stringify({ type: 'result', subtype: 'success', is_error: false, session_id: 's', total_cost_usd: costUsd })}\n`;

const open = (agent: string, streamId = newStreamId(), offset = 0, deps: LiveDependencies = installation) =>
  openLiveWriter(
    deps,
    { workspaceId: TEST_WORKSPACE, uploaderKeyId: 'key', streamId, sessionId: 's', agent, offset },
    LIMITS,
  );

async function record(agent: string, text: string, ending: LiveEnding = {}): Promise<LiveStreamRow> {
  const writer = await open(agent);
  await writer.append(Buffer.from(text));
  return await writer.end(ending);
}

const key = { workspaceId: TEST_WORKSPACE, sessionId: 's' };
const readTotals = () => findLiveSession(installation.database.database, key);
const readEvents = async () =>
  (await listLiveEvents(installation.database.database, key, { afterId: 0, limit: 1000 }))
    .map(({ name, data }) => `${name} ${data}`)
    .join('\n');

const setRedaction = (redaction: WorkspaceSettings['redaction']) =>
  changeWorkspaceSettings(installation.database.database, TEST_WORKSPACE, { redaction });

describe.each(['claude-code', 'amp'])('a stream of %s that is sent again as a whole', (agent) => {
  it('counts once, however often it was abandoned', async () => {
    await record(agent, toAnswer(1) + toResult(0.25), SILENCE);
    expect(await readTotals()).toMatchObject({ stream_count: 1, tokens_in: 10, tokens_out: 100, cost_usd: 0.25 });
    await record(agent, toAnswer(1) + toResult(0.25) + toAnswer(2), SILENCE);
    await record(agent, toAnswer(1) + toResult(0.25) + toAnswer(2) + toAnswer(3) + toResult(0.75));
    expect(await readTotals()).toMatchObject({
      stream_count: 1,
      tokens_in: 30,
      tokens_out: 300,
      cache_read: 3000,
      cache_write: 3,
      cost_usd: 0.75,
    });
  });

  it('counts once, even if it was abandoned earlier the second time', async () => {
    await record(agent, toAnswer(1) + toAnswer(2), SILENCE);
    await record(agent, toAnswer(1), SILENCE);
    await record(agent, toAnswer(1), SILENCE);
    expect(await readTotals()).toMatchObject({ stream_count: 1, tokens_in: 20 });
    await record(agent, toAnswer(1) + toAnswer(2) + toAnswer(3));
    expect(await readTotals()).toMatchObject({ stream_count: 1, tokens_in: 30, tokens_out: 300 });
    await record(agent, toAnswer(1) + toAnswer(2), SILENCE);
    expect(await readTotals()).toMatchObject({ stream_count: 1, tokens_in: 30 });
  });

  it('subtracts the abandoned part only once, however many runs begin with it', async () => {
    await record(agent, toAnswer(1), SILENCE);
    await record(agent, toAnswer(1) + toAnswer(2));
    await record(agent, toAnswer(1) + toAnswer(3));
    expect(await readTotals()).toMatchObject({ stream_count: 2, tokens_in: 40 });
  });

  it('counts once, also while the abandoned part is still being stored', async () => {
    const isStoring = Promise.withResolvers<void>();
    const mayGoOn = Promise.withResolvers<void>();
    const put: RawStore['put'] = async (...request) => {
      isStoring.resolve();
      await mayGoOn.promise;
      return await installation.rawStore.put(...request);
    };
    const slow = { ...installation, rawStore: { ...installation.rawStore, put } };
    const writer = await open(agent, newStreamId(), 0, slow);
    await writer.append(Buffer.from(toAnswer(1)));
    const givenUp = writer.end(SILENCE);
    await isStoring.promise;
    await record(agent, toAnswer(1) + toAnswer(2));
    expect(await readTotals()).toMatchObject({ stream_count: 1, tokens_in: 20, tokens_out: 200 });
    mayGoOn.resolve();
    await givenUp;
    expect(await readTotals()).toMatchObject({ stream_count: 1, tokens_in: 20, tokens_out: 200 });
  });

  it.each([0, 1])('counts once, even if both end at the same moment: %i first', async (first) => {
    const writers = [await open(agent), await open(agent)] as const;
    await writers[0].append(Buffer.from(toAnswer(1)));
    await writers[1].append(Buffer.from(toAnswer(1) + toAnswer(2)));
    await Promise.all(writers.map((writer) => writer.flush()));
    const endings = [() => writers[0].end(SILENCE), () => writers[1].end({})];
    const held = await installation.database.pool.connect();
    await held.query('BEGIN');
    await held.query('SELECT FROM recount.live_sessions WHERE workspace_id = $1 FOR UPDATE', [TEST_WORKSPACE]);
    const ended: Promise<unknown>[] = [];
    for (const [index, end] of (first === 0 ? endings : endings.toReversed()).entries()) {
      ended.push(end());
      await waitForLocks(installation, index + 1);
    }
    await held.query('COMMIT');
    held.release();
    await Promise.all(ended);
    expect(await readTotals()).toMatchObject({ stream_count: 1, tokens_in: 20, tokens_out: 200 });
  });

  it('is distinguished from another run by its bytes', async () => {
    await record(agent, toAnswer(1), SILENCE);
    await record(agent, toAnswer(2) + toAnswer(3));
    expect(await readTotals()).toMatchObject({ stream_count: 2, tokens_in: 30 });
  });

  it('does not reduce the count of a run that was completed', async () => {
    await record(agent, toAnswer(1));
    await record(agent, toAnswer(1) + toAnswer(2));
    expect(await readTotals()).toMatchObject({ stream_count: 2, tokens_in: 30 });
  });
});

it.each([0, 3])('refuses a stream that continues after bytes which never came: %i are stored', async (storedBytes) => {
  const streamId = newStreamId();
  if (storedBytes > 0) {
    const writer = await open('claude-code', streamId);
    await writer.append(Buffer.alloc(storedBytes, '{'));
    await writer.flush();
  }
  await expect(open('claude-code', streamId, storedBytes + 1)).rejects.toMatchObject({
    code: 'offset-mismatch',
    storedBytes,
  });
});

describe('the totals of a session', () => {
  it('are sums over its ended streams, with the first model named', async () => {
    await record('claude-code', toResult(0.1));
    await record('claude-code', toAnswer(1) + toResult(0.2));
    await record('claude-code', toAnswer(2));
    await (await open('claude-code')).append(Buffer.from(toAnswer(3)));
    expect(await readTotals()).toMatchObject({
      ...{ stream_count: 3, running_count: 1, tokens_in: 20, tokens_out: 200, cache_read: 2000, cache_write: 2 },
      ...{ cost_usd: 0.3, model: 'claude-sonnet-4-5' },
    });
  });

  it('come from the largest stream if the agent states totals of the whole session', async () => {
    const toTurn = (input: number, output: number): string =>
      `${JSON.stringify({ type: 'turn.completed', usage: { input_tokens: input, output_tokens: output } })}\n`;
    await record('codex', toTurn(100, 5));
    await record('codex', toTurn(300, 9));
    expect(await readTotals()).toMatchObject({ stream_count: 2, tokens_in: 300, tokens_out: 9, cost_usd: null });
  });
});

describe('a budget of memory', () => {
  it('refuses a stream that finds no room, which continues later where its stored bytes end', async () => {
    const budget = createLiveBudget(300_000);
    const openWithin = (streamId: string, offset = 0, share = budget.open()) => ({
      share,
      writer: openLiveWriter(
        installation,
        { workspaceId: TEST_WORKSPACE, uploaderKeyId: 'key', streamId, sessionId: 's', agent: 'claude-code', offset },
        { ...LIMITS, share },
      ),
    });
    const unfinished = Buffer.from(`{"type":"user","message":{"content":"${'x'.repeat(180_000)}`);
    const rest = Buffer.from('"}}\n');
    const [one, other] = [newStreamId(), newStreamId()];
    const first = openWithin(one);
    await (await first.writer).append(unfinished);
    await (await first.writer).flush();
    const second = openWithin(other);
    await (await second.writer).append(unfinished.subarray(0, 50_000));
    await expect((await second.writer).append(unfinished.subarray(50_000))).rejects.toMatchObject({
      code: 'no-memory',
      storedBytes: 50_000,
    });
    second.share.release();
    await (await first.writer).append(rest);
    const { state } = await (await first.writer).end({});
    expect(state).toBe('closed');
    first.share.release();
    const third = openWithin(other, 50_000);
    await (await third.writer).append(unfinished.subarray(50_000));
    await (await third.writer).append(rest);
    expect((await (await third.writer).end({})).line_count).toBe(1);
  });

  it('counts the unfinished line of a stream that is continued', async () => {
    const budget = createLiveBudget(300_000);
    const streamId = newStreamId();
    const writer = await open('claude-code', streamId);
    await writer.append(Buffer.from(`{"a":"${'x'.repeat(200_000)}`));
    await writer.flush();
    budget.open().hold(200_000);
    const request = { workspaceId: TEST_WORKSPACE, uploaderKeyId: 'key', streamId, sessionId: 's', offset: 200_006 };
    const continued = openLiveWriter(
      installation,
      { ...request, agent: 'claude-code' },
      { ...LIMITS, share: budget.open() },
    );
    await expect(continued).rejects.toMatchObject({ code: 'no-memory', storedBytes: 200_006 });
  });
});

describe('a workspace that redacts rows', () => {
  it('streams no secrets to readers, even if one is split where the stream breaks off and continues', async () => {
    await setRedaction('rows');
    const lines = Buffer.from(toAnswer(1, `use ${TOKEN} now`) + toAnswer(2, `again ${TOKEN}`));
    const cut = lines.indexOf(TOKEN) + 20;
    const streamId = newStreamId();
    const first = await open('claude-code', streamId);
    await first.append(lines.subarray(0, cut));
    await first.flush();
    const second = await open('claude-code', streamId, cut);
    await second.append(lines.subarray(cut));
    const stream = await second.end({});
    const events = await readEvents();
    expect(events).toContain('use [REDACTED:github] now');
    expect(events).toContain('again [REDACTED:github]');
    expect(events).not.toContain(TOKEN.slice(-8));
    expect(events).not.toContain(TOKEN.slice(0, 8));
    const stored = await (
      await installation.rawStore.get((await installation.find(stream.transcript_id ?? ''))?.object_key ?? '')
    ).toArray();
    expect(Buffer.concat(stored)).toEqual(lines);
  });

  it('streams everything unchanged without redaction', async () => {
    await record('claude-code', toAnswer(1, `use ${TOKEN} now`));
    expect(await readEvents()).toContain(TOKEN);
  });
});

describe('a result whose call was never seen', () => {
  const toOrphan = (id: string): string => {
    const content = [{ type: 'tool_result', tool_use_id: id, content: `output of ${id}` }];
    return `${JSON.stringify({ type: 'user', session_id: 's', message: { content } })}\n`;
  };
  const countTold = async (id: string) => (await readEvents()).split(`output of ${id}"`).length - 1;

  it('is emitted once, however many requests continue the stream', async () => {
    // After the stream's start by the database's clock.
    let nowMs = Date.now() + 60_000;
    const deps: LiveDependencies = { ...installation, now: () => nowMs };
    const streamId = newStreamId();
    const parts = [toOrphan('a') + toAnswer(1), toOrphan('b'), toAnswer(2), toAnswer(3)];
    let offset = 0;
    for (const [index, part] of parts.entries()) {
      const writer = await open('claude-code', streamId, offset, deps);
      await writer.append(Buffer.from(part));
      await writer.flush();
      expect(await countTold('a')).toBe(index > 0 ? 1 : 0);
      nowMs += MAX_WAIT_MS;
      // Happens automatically when nothing has come for a while.
      await writer.flush();
      offset = writer.storedBytes;
    }
    expect(await countTold('a')).toBe(1);
    expect(await countTold('b')).toBe(1);
    await (await open('claude-code', streamId, offset, deps)).end({});
    expect(await countTold('a')).toBe(1);
    expect(await countTold('b')).toBe(1);
  });

  it('is emitted by the request that continues the stream if the previous one did not', async () => {
    // No time passes, so that none emits it by itself.
    const nowMs = Date.now() + 60_000;
    const deps: LiveDependencies = { ...installation, now: () => nowMs };
    const streamId = newStreamId();
    const first = await open('claude-code', streamId, 0, deps);
    await first.append(Buffer.from(toOrphan('a')));
    await first.flush();
    const second = await open('claude-code', streamId, first.storedBytes, deps);
    expect(await countTold('a')).toBe(0);
    await second.end({});
    expect(await countTold('a')).toBe(1);
  });

  it('keeps its time of arrival, whenever it is emitted', async () => {
    // After the stream's start by the database's clock.
    let nowMs = Date.now() + 60_000;
    const startMs = nowMs;
    const deps: LiveDependencies = { ...installation, now: () => nowMs };
    const writer = await open('claude-code', newStreamId(), 0, deps);
    await writer.append(Buffer.from(toOrphan('a')));
    await writer.flush();
    nowMs += MAX_WAIT_MS;
    await writer.flush();
    const stream = await writer.end({});
    expect(stream.arrivals).toEqual([[Buffer.byteLength(toOrphan('a')), startMs]]);
  });
});

describe('events', () => {
  it('are stored a bounded number at a time, in order, however short the lines are', async () => {
    const lines = 87_000;
    let mostAtOnce = 0;
    const database: LiveDependencies['database'] = {
      ...installation.database,
      withTransaction: async (work) => {
        const before = (await readTotals())?.last_event_id ?? 0;
        const result = await installation.database.withTransaction(work);
        mostAtOnce = Math.max(mostAtOnce, ((await readTotals())?.last_event_id ?? 0) - before);
        return result;
      },
    };
    const writer = await open('claude-code', newStreamId(), 0, { ...installation, database });
    await writer.append(Buffer.from('{}\n'.repeat(lines)));
    const { stored_bytes, line_count } = await writer.end({});
    expect({ stored_bytes, line_count }).toEqual({ stored_bytes: 3 * lines, line_count: lines });
    expect((await readTotals())?.last_event_id).toBeGreaterThan(lines);
    expect(mostAtOnce).toBeLessThan(15_000);
  });

  it('are the same, however many requests a line of many pieces comes in', async () => {
    const text = toAnswer(1, 'x'.repeat(100_000)) + '{}\n'.repeat(3000) + toAnswer(2) + toResult(0.5);
    await record('claude-code', text);
    const withoutTimes = (events: string) => events.replaceAll(/"(timestampMs|lastActivityMs)":\d+/g, '');
    const stored = withoutTimes(await readEvents());
    const otherKey = { ...key, sessionId: 'other' };
    const streamId = newStreamId();
    for (let offset = 0; offset < text.length; offset += 33_333) {
      const request = { workspaceId: TEST_WORKSPACE, uploaderKeyId: 'key', streamId, sessionId: 'other', offset };
      const writer = await openLiveWriter(installation, { ...request, agent: 'claude-code' }, LIMITS);
      await writer.append(Buffer.from(text.slice(offset, offset + 33_333)));
      if (offset + 33_333 < text.length) await writer.flush();
      else await writer.end({});
    }
    const events = await listLiveEvents(installation.database.database, otherKey, { afterId: 0, limit: 1000 });
    const again = events.map(({ name, data }) => `${name} ${data}`).join('\n');
    expect(withoutTimes(again)).toBe(stored);
  });

  it('are bounded, and so is the state kept of the stream, whatever names the agent uses', async () => {
    const name = 'n'.repeat(5_000_000);
    const line = {
      type: 'assistant',
      message: { id: 'm', model: name, stop_reason: name, content: [{ type: 'tool_use', id: name, name, input: {} }] },
    };
    const stream = await record(
      'amp',
      `${JSON.stringify({ type: 'system', subtype: 'init', session_id: name, model: name })}\n${JSON.stringify(line)}\n`,
    );
    expect((await readEvents()).length).toBeLessThan(10_000);
    expect(JSON.stringify(stream).length).toBeLessThan(3000);
    expect(JSON.stringify(await readTotals()).length).toBeLessThan(1000);
  });
});
