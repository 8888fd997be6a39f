import { Readable } from 'node:stream';
import { changeWorkspaceSettings, deleteSession, type TranscriptRow, verifyUsage } from '@recount/db';
import { type PriceOverride, parsePriceOverrides } from '@recount/prices';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { repriceWorkspace } from '../maintenance/reprice-workspace.ts';
import { changePriceSettings, readWorkspacePrices } from '../prices/workspace-prices.ts';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';

let installation: TestInstallation;
let sessionNumber = 0;
const newSession = (): string => `grown-${++sessionNumber}`;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

async function ingest(text: string): Promise<TranscriptRow> {
  const { transcript } = await installation.receive(text);
  await installation.work();
  return await find(transcript.id);
}

async function find(id: string): Promise<TranscriptRow> {
  const row = await installation.find(id);
  if (row === undefined) throw new Error('No such transcript');
  return row;
}

async function query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return (await installation.database.pool.query(text, values)).rows;
}

function toOverrides(rates: readonly object[]): PriceOverride[] {
  const parsed = parsePriceOverrides(rates);
  if ('issues' in parsed) throw new Error(parsed.issues[0]?.message);
  return parsed.overrides;
}

async function expectDerivedRowsAreRight(): Promise<void> {
  for (const check of await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE))) {
    expect(check).toMatchObject({ missing: 0, surplus: 0 });
  }
}

const requeue = async (id: string): Promise<void> => {
  const job = { workspaceId: TEST_WORKSPACE, transcriptId: id };
  expect(await requeueTranscript(installation, job, ['queued', 'processing', 'ingested', 'superseded', 'failed'])).toBe(
    true,
  );
  await installation.work();
};

describe('a transcript whose session grew', () => {
  it('is derived further, by SQL while another session shares its responses', async () => {
    const session = newSession();
    const toOwn = (sessionId: string, lineCount: number): string =>
      Array.from({ length: lineCount }, (_, index) =>
        toLine(sessionId, index, { requestId: `${session}-${index}` }),
      ).join('');
    const isDerivedFurther = async (): Promise<unknown> => {
      const [row] = await query(
        `SELECT c.derived_state IS NOT NULL AS is_known FROM recount.transcripts AS t
         JOIN recount.transcript_checkpoints AS c USING (workspace_id, row_set_id) WHERE t.session_id = $1`,
        [session],
      );
      return row?.is_known;
    };
    const first = await ingest(toOwn(session, 60));
    for (const lineCount of [61, 64, 90]) {
      const grown = await ingest(toOwn(session, lineCount));
      expect(grown.row_set_id).toBe(first.row_set_id);
      expect(await isDerivedFurther()).toBe(true);
      await expectDerivedRowsAreRight();
    }
    const other = await ingest(toOwn(newSession(), 10));
    await expectDerivedRowsAreRight();
    for (const lineCount of [100, 110]) {
      expect((await ingest(toOwn(session, lineCount))).row_set_id).toBe(first.row_set_id);
      expect(await isDerivedFurther()).toBe(true);
      await expectDerivedRowsAreRight();
    }
    await installation.database.withTransaction((transaction) =>
      deleteSession(transaction, TEST_WORKSPACE, other.session_id),
    );
    for (const lineCount of [111, 120]) {
      await ingest(toOwn(session, lineCount));
      await expectDerivedRowsAreRight();
    }
  });

  it('is derived by SQL if a response that it adds is stored already', async () => {
    const [session, other] = [newSession(), newSession()];
    const toOwn = (sessionId: string, from: number, to: number): string =>
      Array.from({ length: to - from }, (_, index) =>
        toLine(sessionId, from + index, { requestId: `${session}-${from + index}` }),
      ).join('');
    await ingest(toOwn(session, 0, 60));
    await ingest(toOwn(other, 60, 63));
    await ingest(toOwn(session, 0, 70));
    await expectDerivedRowsAreRight();
    await ingest(toOwn(other, 60, 75));
    await expectDerivedRowsAreRight();
  });

  it('has each notice once, with the count of the whole transcript', async () => {
    const session = newSession();
    const unknown = `${JSON.stringify({ type: 'heron-seen', text: 'Where?', sessionId: session })}\n`;
    const listIssues = (id: string) =>
      query(
        `SELECT severity, message, line_number, occurrence_count FROM recount.ingest_issues
         WHERE row_set_id = $1 ORDER BY issue_number`,
        [id],
      );
    const toNotices = (count: number) =>
      ['Unknown line type: heron-seen', 'Text that is not shown, in lines of type heron-seen'].map((message) => ({
        ...{ severity: 'notice', message, line_number: 9, occurrence_count: count },
      }));
    const shorter = await ingest(`${toTranscript(session, 8)}${unknown}`);
    expect(await listIssues(shorter.id)).toEqual(toNotices(1));
    const longer = await ingest(`${toTranscript(session, 8)}${unknown}${unknown}`);
    expect(longer.row_set_id).toBe(shorter.id);
    expect(await listIssues(shorter.id)).toEqual(toNotices(2));
    expect(longer).toMatchObject({
      error_count: 0,
      warning_count: 0,
      issue_counts: { unknown_line_type: 2, unread_content: 2 },
    });
  });

  it('takes over the rows of the shorter version and adds its own', async () => {
    const session = newSession();
    const shorter = await ingest(toTranscript(session, 8));
    const listBlocks = () =>
      query('SELECT ctid::text, id FROM recount.content_blocks WHERE row_set_id = $1 ORDER BY id', [shorter.id]);
    const kept = await listBlocks();
    const longer = await ingest(toTranscript(session, 12));
    expect(longer).toMatchObject({
      row_set_id: shorter.id,
      total_messages: 12,
      content_block_count: 12,
      line_count: 12,
    });
    expect(await find(shorter.id)).toMatchObject({ status: 'superseded', superseded_by: longer.id, row_set_id: null });
    const messages = await query(
      'SELECT ordinal FROM recount.transcript_messages WHERE row_set_id = $1 ORDER BY ordinal',
      [shorter.id],
    );
    expect(messages.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 12 }, (_, index) => index));
    expect((await listBlocks()).slice(0, 8)).toEqual(kept);
    await expectDerivedRowsAreRight();
  });

  it('is parsed again if the shorter version is not its beginning, and is stored beside it', async () => {
    const session = newSession();
    const shorter = await ingest(toTranscript(session, 8));
    const edited = await ingest(toTranscript(session, 12).replace('prompt 0', 'prompt X'));
    expect(edited).toMatchObject({ row_set_id: edited.id, total_messages: 12, is_diverged: false });
    expect(await find(shorter.id)).toMatchObject({ status: 'ingested', is_diverged: true, total_messages: 8 });
    // If two versions have rows, neither is extended, because credit for a response may move between them.
    const longest = await ingest(toTranscript(session, 14));
    expect(longest).toMatchObject({ row_set_id: longest.id, total_messages: 14 });
    expect(await find(shorter.id)).toMatchObject({ status: 'superseded' });
    await expectDerivedRowsAreRight();
  });

  it('is parsed again if an added line is older than all before', async () => {
    const session = newSession();
    await ingest(toLine(session, 50) + toLine(session, 51));
    const longer = await ingest(toLine(session, 50) + toLine(session, 51) + toLine(session, 3));
    expect(longer).toMatchObject({ row_set_id: longer.id, total_messages: 3 });
    await expectDerivedRowsAreRight();
  });

  it('can be parsed again, and its shorter version then has separate rows again', async () => {
    const session = newSession();
    const shorter = await ingest(toTranscript(session, 8));
    const longer = await ingest(toTranscript(session, 12));
    await requeue(longer.id);
    expect(await find(longer.id)).toMatchObject({ row_set_id: shorter.id, total_messages: 12, status: 'ingested' });
    await requeue(shorter.id);
    expect(await find(shorter.id)).toMatchObject({ status: 'superseded', row_set_id: null });

    // Without its bytes it cannot be shown that the longer one contains the shorter.
    await installation.rawStore.delete(longer.object_key);
    await requeue(shorter.id);
    const again = await find(shorter.id);
    expect(again).toMatchObject({ status: 'ingested', is_diverged: true, total_messages: 8 });
    expect(again.row_set_id).not.toBe(shorter.id);
    await expectDerivedRowsAreRight();
  });

  it('has the rates of one parsed in one piece', async () => {
    const session = newSession();
    const shorter = await ingest(toTranscript(session, 8));
    const prices = await readWorkspacePrices(installation.database.database, TEST_WORKSPACE);
    const doubled = {
      version: 'doubled',
      price: (question: Parameters<typeof prices.price>[0]) => {
        const price = prices.price(question);
        return { ...price, costUsd: price.costUsd === null ? null : price.costUsd * 2 };
      },
    };
    for await (const _ of repriceWorkspace(installation, TEST_WORKSPACE, doubled));
    const longer = await ingest(toTranscript(session, 12));
    expect(longer.row_set_id).toBe(longer.id);
    expect((await find(shorter.id)).status).toBe('superseded');
    const [{ versions } = {}] = await query(
      'SELECT array_agg(DISTINCT price_version) AS versions FROM recount.usage_entries WHERE session_id = $1',
      [session],
    );
    expect(versions).toEqual([prices.version]);
    await expectDerivedRowsAreRight();
  });

  it('is parsed again if rates have changed since the shorter version’s rows were priced', async () => {
    const session = newSession();
    const shorter = await ingest(toTranscript(session, 8));
    const rates = { inputUsdPerMillion: 1000, outputUsdPerMillion: 1000 };
    const price = { model: 'claude-sonnet-4-5', ...rates, cacheReadUsdPerMillion: 1000 };
    const change = (overrides: PriceOverride[]) => changePriceSettings(installation, TEST_WORKSPACE, { overrides });
    const { priceVersion } = await change(toOverrides([price]));
    const longer = await ingest(toTranscript(session, 12));
    await change([]);
    expect(longer).toMatchObject({ row_set_id: longer.id, price_version: priceVersion });
    expect(longer.price_version).not.toBe(shorter.price_version);
    // 10 + 1000 tokens of input, and the output, at a thousandth of a dollar each.
    const [sums] = await query(
      `SELECT count(*)::int AS entries, sum(cost_usd)::float8 AS cost, sum(tokens_in + cache_read + tokens_out)::float8 / 1000 AS expected
       FROM recount.usage_entries WHERE session_id = $1`,
      [session],
    );
    expect(sums).toEqual({ entries: 6, cost: sums?.expected, expected: sums?.expected });
    await expectDerivedRowsAreRight();
  });

  it('is parsed again if secrets must be removed', async () => {
    const session = newSession();
    await ingest(toTranscript(session, 8));
    const set = (redaction: 'off' | 'rows') =>
      changeWorkspaceSettings(installation.database.database, TEST_WORKSPACE, { redaction });
    await set('rows');
    const longer = await ingest(toTranscript(session, 12));
    expect(longer).toMatchObject({ row_set_id: longer.id, parser_version: expect.stringContaining('+') });
    await set('off');
    const longest = await ingest(toTranscript(session, 14));
    expect(longest.row_set_id).toBe(longest.id);
  });

  it('does not count an open tool call credited to another session, and counts the others', async () => {
    const [original, fork] = [newSession(), newSession()];
    const id = (prefix: string, index: number) => `${prefix}_${String(index).padStart(24, '0')}`;
    const toResponse = (session: string, index: number, isCopy = false) =>
      toLine(session, index, {
        type: 'assistant',
        requestId: id('req', index),
        ...(isCopy && { forkedFrom: { sessionId: original, messageUuid: 'x' } }),
        message: {
          id: id('msg', index),
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [{ type: 'tool_use', id: id('toolu', index), name: 'Bash', input: { command: 'ls' } }],
          usage: { input_tokens: 1, output_tokens: 50 },
          stop_reason: 'tool_use',
        },
      });
    await ingest(toResponse(original, 1));
    // More responses than a checkpoint holds follow the copy, whose call never gets its result.
    const beginning =
      toResponse(fork, 1, true) + Array.from({ length: 200 }, (_, index) => toResponse(fork, 1000 + index)).join('');
    await ingest(beginning);
    const longer = await ingest(beginning + toLine(fork, 3000));
    expect(longer.row_set_id).not.toBe(longer.id);
    const own = await query('SELECT session_id FROM recount.tool_calls WHERE call_key = $1 AND is_own', [
      id('toolu', 1),
    ]);
    expect(own).toEqual([{ session_id: original }]);
    const [rolledUp] = await query(
      'SELECT sum(calls)::int AS calls FROM recount.tool_day_rollup WHERE session_id = $1',
      [fork],
    );
    expect(rolledUp).toEqual({ calls: 200 });
    await expectDerivedRowsAreRight();
  });

  it('has the roll-ups of earlier 15-minute buckets rebuilt if any of them changed', async () => {
    const session = newSession();
    const id = (prefix: string) => `${prefix}_${session.padStart(24, '0')}`;
    const at = (time: string) => ({ timestamp: `2026-01-01T${time}:00.000Z` });
    const toAnswer = (time: string, messageId: string, content: object, usage?: object) => {
      const message = { id: messageId, role: 'assistant', model: 'claude-sonnet-4-5', content: [content], usage };
      return toLine(session, 1, { ...at(time), type: 'assistant', uuid: `${session}-${time}`, message });
    };
    const text = { type: 'text', text: 'x' };
    const usage = { input_tokens: 1, output_tokens: 50 };
    const call = { type: 'tool_use', id: id('toolu'), name: 'Bash', input: { command: 'ls' } };
    const beginning =
      toLine(session, 0, at('09:00')) +
      toAnswer('10:00', id('msg'), text, usage) +
      toAnswer('10:40', id('msg'), call, usage) +
      toAnswer('11:40', id('note'), text);
    await ingest(beginning);
    const result = { type: 'tool_result', tool_use_id: id('toolu'), content: 'ok' };
    const grown =
      beginning +
      toLine(session, 2, { ...at('12:10'), message: { role: 'user', content: [result] } }) +
      // An earlier time for the message of 11:40, which is not an API response.
      toAnswer('11:10', id('note'), text);
    const longer = await ingest(grown);
    expect(longer.row_set_id).not.toBe(longer.id);
    const tools = await query('SELECT first_bucket_start, results FROM recount.tool_day_rollup WHERE session_id = $1', [
      session,
    ]);
    expect(tools).toEqual([{ first_bucket_start: new Date('2026-01-01T10:30:00Z'), results: 1 }]);
    const messages = await query(
      'SELECT bucket_start FROM recount.message_rollup WHERE session_id = $1 ORDER BY bucket_start',
      [session],
    );
    const buckets = ['09:00', '10:00', '11:00', '12:00'].map((time) => new Date(`2026-01-01T${time}:00Z`));
    expect(messages.map(({ bucket_start }) => bucket_start)).toEqual(buckets);
    await expectDerivedRowsAreRight();
  });

  describe('that is large', () => {
    const ranges: unknown[] = [];
    const toLarge = (session: string, lineCount: number) => {
      const largeLine = toLine(session, 9002, { message: { role: 'user', content: 'x'.repeat(300 * 1024) } });
      return toLine(session, 9000) + largeLine + toTranscript(session, lineCount);
    };
    const watchReads = () => {
      ranges.length = 0;
      const { get } = installation.rawStore;
      vi.spyOn(installation.rawStore, 'get').mockImplementation((key, options) => {
        ranges.push(options?.range);
        return get.call(installation.rawStore, key, options);
      });
    };
    afterEach(() => vi.restoreAllMocks());

    it('is compared while it is uploaded, so the worker reads only what was added', async () => {
      const session = newSession();
      const text = toLarge(session, 8);
      const shorter = await ingest(text);
      watchReads();
      const longer = await ingest(toLarge(session, 12));
      expect(longer).toMatchObject({
        grown_from: shorter.id,
        row_set_id: shorter.id,
        total_messages: 14,
        line_count: 14,
      });
      expect(ranges).toEqual([{ startByte: text.length, endByteExclusive: toLarge(session, 12).length }]);
      await expectDerivedRowsAreRight();
    });

    it('is compared with versions that are still waiting, and read whole if another one was ingested in between', async () => {
      const session = newSession();
      const [first, second, third] = [8, 10, 12].map((lineCount) => toLarge(session, lineCount)) as [
        string,
        string,
        string,
      ];
      const shorter = await ingest(first);
      const middle = (await installation.receive(second)).transcript;
      const longer = (await installation.receive(third)).transcript;
      expect([middle.grown_from, longer.grown_from]).toEqual([shorter.id, middle.id]);
      // The longer one first, because its beginning, which it was compared with, has no rows.
      await installation.database.pool.query('UPDATE recount.ingest_jobs SET priority = 1 WHERE transcript_id = $1', [
        longer.id,
      ]);
      watchReads();
      await installation.work();
      expect(ranges[0]).toBeUndefined();
      expect(await find(longer.id)).toMatchObject({ row_set_id: shorter.id, total_messages: 14, status: 'ingested' });
      expect(await find(middle.id)).toMatchObject({ status: 'superseded', superseded_by: longer.id });
      await expectDerivedRowsAreRight();
    });

    it('does not continue from a version that differs', async () => {
      const session = newSession();
      await ingest(toLarge(session, 8));
      const edited = await ingest(toLarge(session, 12).replace('prompt 0', 'prompt X'));
      expect(edited).toMatchObject({ grown_from: null, row_set_id: edited.id, total_messages: 14 });
    });

    it('fails if what was added is not what was uploaded, and is ingested once that is repaired', async () => {
      const session = newSession();
      await ingest(toLarge(session, 8));
      const text = toLarge(session, 12);
      const { transcript } = await installation.receive(text);
      const damaged = text.replace('answer 11', 'answer 99');
      await installation.rawStore.put(transcript.object_key, Readable.from([Buffer.from(damaged)]));
      await expect(installation.work()).rejects.toThrow('RawObjectMismatchError');
      await installation.rawStore.put(transcript.object_key, Readable.from([Buffer.from(text)]));
      await requeue(transcript.id);
      expect(await find(transcript.id)).toMatchObject({ status: 'ingested', total_messages: 14 });
      await expectDerivedRowsAreRight();
    });
  });
});

describe('a stream without keys whose session has a file', () => {
  const time = '2026-11-01T10:00:00.000Z';
  const toLines = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const toFile = (session: string, count = 1) =>
    toLines([
      { sessionId: session, projectHash: 'p', startTime: time, lastUpdated: time },
      { id: `${session}-user`, timestamp: time, type: 'user', content: 'Find the heron' },
      ...Array.from({ length: count }, (_, index) => ({
        ...{ id: `${session}-${index}`, timestamp: time, type: 'gemini', model: 'gemini-2.5-pro', content: 'Gone' },
        tokens: { input: 100, output: 20, cached: 0, thoughts: 0, tool: 0, total: 120 },
      })),
    ]);
  const toStream = (session: string) =>
    toLines([
      { type: 'init', timestamp: time, session_id: session, model: 'gemini-2.5-pro' },
      { type: 'message', timestamp: time, role: 'user', content: 'Find the heron' },
      { type: 'tool_use', timestamp: time, tool_name: 'read_file', tool_id: 'read-1', parameters: {} },
      {
        type: 'result',
        timestamp: time,
        stats: { total_tokens: 120, input_tokens: 100, output_tokens: 20, cached: 0 },
      },
    ]);
  const sumTokens = async (session: string) =>
    (
      await query('SELECT sum(tokens_in + tokens_out)::int AS tokens FROM recount.usage_ledger WHERE session_id = $1', [
        session,
      ])
    )[0]?.tokens;

  it('counts only if there is no file, in any order', async () => {
    for (const order of ['stream first', 'file first']) {
      const session = newSession();
      const [first, second] = [toStream(session), toFile(session)];
      const isStreamFirst = order === 'stream first';
      const one = await ingest(isStreamFirst ? first : second);
      expect([order, await sumTokens(session)]).toEqual([order, 120]);
      const other = await ingest(isStreamFirst ? second : first);
      const [stream, file] = isStreamFirst ? [one, other] : [other, one];
      expect(await find(stream.id)).toMatchObject({ is_stream: true, status: 'superseded', superseded_by: file.id });
      expect(await find(file.id)).toMatchObject({ status: 'ingested', is_diverged: false });
      expect([order, await sumTokens(session)]).toEqual([order, 120]);
      await expectDerivedRowsAreRight();

      const longer = await ingest(toFile(session, 2));
      expect([order, await sumTokens(session)]).toEqual([order, 240]);
      await requeue(stream.id);
      expect(await find(stream.id)).toMatchObject({ status: 'superseded', superseded_by: longer.id });
      await expectDerivedRowsAreRight();
    }
  });
});
