import { afterAll, beforeAll, expect, it } from 'vitest';
import { deleteSession } from '../../sessions/delete-session.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../../testing/create-test-pool.ts';
import { ingestTranscript } from '../../testing/ingest-transcript.ts';
import { insertTestTranscript } from '../../testing/insert-test-transcript.ts';
import { setTranscriptStatus } from '../../transcripts/transcript-status.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;

type Line = Record<string, unknown>;

/** As long as the API's ids, which count as unique without a request id. */
const toMessageId = (name: string) => `msg_${name.padEnd(24, '0')}`;
const ask = (uuid: string, content: unknown, fields: Line = {}) => ({
  type: 'user',
  uuid,
  cwd: '/home/ada/app',
  message: { role: 'user', content },
  ...fields,
});
const answer = (id: string | null, at: string, output: number, fields: Line = {}, content: unknown[] = []) => ({
  type: 'assistant',
  uuid: `uuid-of-${id}`,
  timestamp: `2026-03-0${at}Z`,
  cwd: '/home/ada/app',
  ...(id !== null && { requestId: `req-${id}` }),
  message: {
    id: id === null ? null : toMessageId(id),
    role: 'assistant',
    model: 'claude-opus-5',
    stop_reason: 'end_turn',
    content,
    usage: { input_tokens: 10, output_tokens: output, cache_read_input_tokens: 7, cache_creation_input_tokens: 3 },
  },
  ...fields,
});
const use = (id: string, name = 'Bash') => ({ type: 'tool_use', id, name, input: { command: 'ls' } });
const result = (id: string, text: string, isError = false) => [
  { type: 'tool_result', tool_use_id: id, content: text, is_error: isError },
];

/** The beginning that all versions and the fork of the session share. */
const history = [
  ask('u1', 'hello'),
  // Two lines of one response, the first with a placeholder.
  { ...answer('m1', '1T10:00:00.000', 1, {}, [{ type: 'text', text: 'ok' }]) },
  answer('m1', '1T10:00:01.500', 100, {}, [use('tool-1')]),
  ask('u2', result('tool-1', 'größe'), { timestamp: '2026-03-01T10:00:05.250Z' }),
  // No message.id, because a copy is recognised by its uuid.
  answer(null, '1T10:00:06', 50, { uuid: 'no-id' }),
];

async function ingest(transcriptId: string, path: string, lines: unknown[], workspaceId = TEST_WORKSPACE) {
  const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  await ingestTranscript(pool, { workspaceId, transcriptId }, { path, bytes });
}

const remove = (session: string) =>
  pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, session));

async function query(text: string, ...values: unknown[]) {
  return (await pool.pool.query(text, values)).rows;
}

beforeAll(async () => {
  pool = await createTestPool();
  // The fork comes first, because credit must not depend on the order of arrival.
  const copies = history.map((line) => ({ ...line, forkedFrom: { sessionId: 'first', messageUuid: 'x' } }));
  const bareCopies = copies.map(({ requestId: _requestId, ...line }: Line) => line);
  await ingest('t1', 'a-fork.jsonl', [...bareCopies, answer('m4', '3T00:00:00', 400)]);
  await ingest('t2', 'first.jsonl', [
    ...history,
    answer('m2', '2T09:00:00', 20, {}, [use('tool-2', 'Read'), use('tool-3', 'Read')]),
    // Written twice; and tool-3 never gets a result.
    ask('u3', result('tool-2', 'no such file', true)),
    ask('u3', result('tool-2', 'again')),
    answer('m3', '1T23:59:59.999', 30),
    answer('synthetic', '2T10:00:00', 0, { message: { id: 'synthetic', model: '<synthetic>', content: [] } }),
    'this is not JSON',
  ]);
  await ingest('t3', 'first.jsonl', [...history, answer('m5', '4T00:00:00', 500), answer('m1', '1T10:00:00', 90)]);
  await ingest('t4', 'first.jsonl', history, OTHER_WORKSPACE);
  await ingest('t5', 'first/subagents/agent-a1.jsonl', [
    answer('m6', '5T00:00:00', 4, {
      isSidechain: true,
      agentId: 'a1',
      message: { ...answer('m6', '', 4).message, stop_reason: null },
    }),
    answer('m2', '2T09:00:00', 20, { isSidechain: true, agentId: 'a1' }),
  ]);
  await insertTestTranscript(pool, { id: 'waiting', status: 'queued', ingested_at: null });
});
afterAll(() => pool.close());

it('shows each message once, and which are of the primary transcript', async () => {
  expect(
    await query(
      `SELECT transcript_id, session_id, is_primary, count(*)::int AS messages, count(DISTINCT message_id)::int AS ids
       FROM analytics.messages WHERE workspace_id = $1 GROUP BY 1, 2, 3 ORDER BY 1`,
      TEST_WORKSPACE,
    ),
  ).toEqual([
    { transcript_id: 't1', session_id: 'a-fork', is_primary: true, messages: 5, ids: 5 },
    { transcript_id: 't2', session_id: 'first', is_primary: true, messages: 9, ids: 9 },
    { transcript_id: 't3', session_id: 'first', is_primary: false, messages: 5, ids: 5 },
    { transcript_id: 't5', session_id: 'first:a1', is_primary: true, messages: 2, ids: 2 },
  ]);
  expect(
    await query(
      `SELECT count(*)::int AS differing FROM analytics.transcripts t
       LEFT JOIN analytics.sessions s USING (workspace_id, session_id)
       WHERE t.is_primary IS DISTINCT FROM coalesce(s.primary_transcript_id = t.transcript_id, false)`,
    ),
  ).toEqual([{ differing: 0 }]);
});

it('gives the figures of sessions if primary rows are summed', async () => {
  const rows = await query(
    `SELECT s.session_id, s.total_messages = count(*) AS messages, s.tokens_out = sum(m.tokens_out) AS tokens,
            s.cost_estimate_usd = sum(m.cost_usd) AS cost,
            s.tool_use_count = (SELECT count(*) FROM analytics.tool_calls c
              WHERE c.is_primary AND (c.workspace_id, c.session_id) = (s.workspace_id, s.session_id)) AS tool_calls
     FROM analytics.sessions s JOIN analytics.messages m USING (workspace_id, session_id)
     WHERE m.is_primary GROUP BY s.workspace_id, s.session_id, s.total_messages, s.tokens_out, s.cost_estimate_usd, s.tool_use_count`,
  );
  expect(rows).toHaveLength(4);
  for (const row of rows) expect(row).toMatchObject({ messages: true, tokens: true, cost: true, tool_calls: true });
});

it('shows rows while their transcript is waiting to be parsed again', async () => {
  const count = () => query('SELECT count(*)::int AS count FROM analytics.messages');
  const before = await count();
  await setTranscriptStatus(pool.database, TEST_WORKSPACE, ['t2'], { status: 'queued' });
  expect(await count()).toEqual(before);
  await setTranscriptStatus(pool.database, TEST_WORKSPACE, ['t2'], { status: 'ingested' });
});

it('joins each tool use with its result in the same transcript', async () => {
  expect(
    await query(
      `SELECT transcript_id, tool_use_id, tool_name, tool_input, is_error, result_text, result_bytes::int,
              duration_ms::int, is_primary
       FROM analytics.tool_calls WHERE workspace_id = $1 ORDER BY transcript_id, message_id, block_order`,
      TEST_WORKSPACE,
    ),
  ).toEqual(
    [
      ['t1', 'tool-1', 'Bash', false, 'größe', 7, 5250, true],
      ['t2', 'tool-1', 'Bash', false, 'größe', 7, 5250, true],
      ['t2', 'tool-2', 'Read', true, 'no such file', 12, null, true],
      ['t2', 'tool-3', 'Read', null, null, null, null, true],
      ['t3', 'tool-1', 'Bash', false, 'größe', 7, 5250, false],
    ].map(([transcript_id, tool_use_id, tool_name, is_error, result_text, result_bytes, duration_ms, is_primary]) => ({
      ...{ transcript_id, tool_use_id, tool_name, is_error, result_text, result_bytes, duration_ms, is_primary },
      tool_input: { command: 'ls' },
    })),
  );
});

it('counts each API response once, with its final figure, for the earliest original', async () => {
  expect(
    await query(
      `SELECT response_id, request_id, transcript_id, tokens_in::int, tokens_out::int, copy_count::int, is_unfinalised
       FROM analytics.api_responses WHERE workspace_id = $1 ORDER BY response_id`,
      TEST_WORKSPACE,
    ),
  ).toEqual(
    [
      [toMessageId('m1'), 'req-m1', 't2', 10, 100, 3, false],
      [toMessageId('m2'), 'req-m2', 't2', 10, 20, 2, false],
      [toMessageId('m3'), 'req-m3', 't2', 10, 30, 1, false],
      [toMessageId('m4'), 'req-m4', 't1', 10, 400, 1, false],
      [toMessageId('m5'), 'req-m5', 't3', 10, 500, 1, false],
      [toMessageId('m6'), 'req-m6', 't5', 10, 4, 1, true],
      ['uuid:no-id', null, 't2', 10, 50, 3, false],
    ].map(([response_id, request_id, transcript_id, tokens_in, tokens_out, copy_count, is_unfinalised]) => ({
      ...{ response_id, request_id, transcript_id, tokens_in, tokens_out, copy_count, is_unfinalised },
    })),
  );
  // Another workspace counts separately.
  expect(
    await query(
      'SELECT count(*)::int AS count, sum(copy_count)::int AS copies FROM analytics.api_responses WHERE workspace_id = $1',
      OTHER_WORKSPACE,
    ),
  ).toEqual([{ count: 2, copies: 2 }]);
});

it('treats messages without any id as separate responses', async () => {
  const anonymous = { requestId: undefined, uuid: undefined };
  const line = { ...answer(null, '6T00:00:00', 1), ...anonymous };
  await ingest('t6', 'anonymous.jsonl', [line, line, line]);
  expect(await query(`SELECT copy_count::int FROM analytics.api_responses WHERE session_id = 'anonymous'`)).toEqual([
    { copy_count: 1 },
    { copy_count: 1 },
    { copy_count: 1 },
  ]);
  await remove('anonymous');
});

it('tells short message ids, which may clash, apart by the request, and never long ones', async () => {
  const line = answer('shared', '7T00:00:00', 5);
  const short = { ...line, message: { ...line.message, id: 'shared' } };
  await ingest('t7', 'requests-1.jsonl', [short, { ...line, requestId: 'req-a' }]);
  await ingest('t8', 'requests-2.jsonl', [
    { ...short, requestId: 'req-z' },
    { ...line, requestId: 'req-b' },
  ]);
  await ingest('t9', 'requests-3.jsonl', [short]);
  expect(
    await query(
      `SELECT response_id, session_id, copy_count::int FROM analytics.api_responses
       WHERE session_id LIKE 'requests-%' ORDER BY response_id`,
    ),
  ).toEqual([
    { response_id: toMessageId('shared'), session_id: 'requests-1', copy_count: 2 },
    { response_id: 'shared/req-shared', session_id: 'requests-1', copy_count: 2 },
    { response_id: 'shared/req-z', session_id: 'requests-2', copy_count: 1 },
  ]);
  for (const session of ['requests-1', 'requests-2', 'requests-3']) await remove(session);
});

it('sums responses by UTC day, whatever the time zone of the reader', async () => {
  for (const zone of ['UTC', 'Asia/Tokyo', 'America/Los_Angeles']) {
    const client = await pool.pool.connect();
    try {
      await client.query(`SET TimeZone = '${zone}'`);
      const { rows } = await client.query(
        `SELECT day::text, responses::int, tokens_out::int, cost_usd::float8, unpriced_responses::int
         FROM analytics.daily_usage WHERE workspace_id = $1 AND project = '/home/ada/app' ORDER BY day`,
        [TEST_WORKSPACE],
      );
      const toCost = (responses: number, output: number) =>
        (responses * (10 * 3 + 7 * 0.3 + 3 * 3.75) + output * 15) / 1e6;
      expect(rows).toEqual(
        [
          ['2026-03-01', 3, 180],
          ['2026-03-02', 1, 20],
          ['2026-03-03', 1, 400],
          ['2026-03-04', 1, 500],
          ['2026-03-05', 1, 4],
        ].map(([day, responses, tokens_out]) => ({
          ...{ day, responses, tokens_out, unpriced_responses: 0 },
          cost_usd: expect.closeTo(toCost(Number(responses), Number(tokens_out)), 10),
        })),
      );
    } finally {
      client.release(true);
    }
  }
});

it('shows the faults of ingested transcripts', async () => {
  expect(
    await query(
      'SELECT session_id, transcript_id, code, severity, line_number, is_primary FROM analytics.ingest_issues',
    ),
  ).toEqual([
    {
      session_id: 'first',
      transcript_id: 't2',
      code: 'missing_type',
      severity: 'error',
      line_number: 11,
      is_primary: true,
    },
  ]);
});

it('survives malformed facts of a transcript', async () => {
  const media = { type: 'image', source: { type: 'url', truncated: 'no', original_byte_length: 'many' } };
  await ingest('t10', 'odd.jsonl', [
    ask('u1', [media]),
    answer('odd', '8T00:00:00', 1, {}, [{ ...use('odd-tool'), input: 'not an object' }]),
    ask(
      'u2',
      [{ type: 'tool_result', tool_use_id: 'odd-tool', content: { truncated: 'x', original_byte_length: {} } }],
      {
        toolUseResult: { durationMs: 'long' },
      },
    ),
  ]);
  expect(
    await query(`SELECT tool_input, result_bytes, result_text FROM analytics.tool_calls WHERE session_id = 'odd'`),
  ).toEqual([{ tool_input: 'not an object', result_bytes: null, result_text: null }]);
  const blocks = await query(`SELECT is_truncated FROM analytics.content_blocks WHERE session_id = 'odd'`);
  expect(blocks.map(({ is_truncated }) => is_truncated)).toEqual([false, false, false]);
  await remove('odd');
});
