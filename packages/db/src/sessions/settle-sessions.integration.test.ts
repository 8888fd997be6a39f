import type { ApiResponse, ParsedContentBlock, ToolCall } from '@recount/core';
import { waitForLocks } from '@recount/local-postgres/testing';
import fc from 'fast-check';
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyUsage } from '../consistency/verify-usage.ts';
import type { Database } from '../database/database.ts';
import { lockSession } from '../database/lock-sessions.ts';
import {
  type ReportFilter,
  type ReportKey,
  readModelsReport,
  readProgramsReport,
  readToolsReport,
  readUsageReport,
} from '../reports/index.ts';
import { copyToOtherTenant } from '../testing/copy-to-other-tenant.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestTranscript } from '../testing/insert-test-transcript.ts';
import { findNextUsageNumbers } from '../transcripts/replaced-usage.ts';
import type { RowSet } from '../transcripts/transcript-rows.ts';
import { createTranscriptCopier, TranscriptWriter } from '../transcripts/transcript-writer.ts';
import { lockLedger } from '../usage/changed-responses.ts';
import { refreshTotals } from '../usage/refresh-totals.ts';
import { settleUsageLedger } from '../usage/settle-usage-ledger.ts';
import { deleteSession } from './delete-session.ts';
import { settleSessions } from './settle-sessions.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

/** A response in a made-up transcript. */
interface Copy {
  response: number;
  minute: number | null;
  source: 'message' | 'progress';
  isMarkedCopy: boolean;
  isUnfinalised: boolean;
  tokensIn: number;
  tokensOut: number;
  calls: number;
  /** Default 0. */
  webSearches?: number;
  serviceTier?: string;
  /** Defaults to progress lines only. */
  isSubagent?: boolean;
}

interface MadeTranscript {
  id: string;
  /** Default `claude-code`. */
  agent?: string;
  sessionId: string;
  sizeBytes: number;
  startMinute: number;
  copies: Copy[];
}

const toTime = (minute: number | null) =>
  minute === null ? null : new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString();
const toKey = (response: number) => `msg_${String(response).padStart(24, '0')}`;

/** The same in all copies. Odd responses are written to a cache, which is cold after a pause. */
const toCacheWrite = ({ response }: Copy) => (response % 2) * 500;
const toCost = ({ tokensIn, tokensOut }: Copy) => (tokensIn + 10 * tokensOut) / 1e6;

function toApiResponse(sessionId: string, copy: Copy, index: number): ApiResponse {
  const cost = toCost(copy);
  return {
    response_key: toKey(copy.response),
    source: copy.source,
    session_id: sessionId,
    message_id: copy.source === 'message' ? `m${index}` : null,
    provider_message_id: toKey(copy.response),
    request_id: null,
    model: copy.tokensOut % 2 === 0 ? 'even' : 'odd',
    timestamp: toTime(copy.minute),
    is_subagent: copy.isSubagent ?? copy.source === 'progress',
    agent_id: null,
    turn_line: 0,
    git_branch: null,
    agent_version: null,
    is_marked_copy: copy.isMarkedCopy,
    tokens_in: copy.tokensIn,
    tokens_out: copy.tokensOut,
    cache_read: 5,
    cache_write: toCacheWrite(copy),
    cache_write_5m: 0,
    cache_write_1h: 0,
    thinking_tokens: 0,
    web_search_requests: copy.webSearches ?? 0,
    web_fetch_requests: 0,
    service_tier: copy.serviceTier ?? null,
    speed: null,
    inference_geo: null,
    request_tokens: null,
    is_unfinalised: copy.isUnfinalised,
    estimated_tokens_out: copy.isUnfinalised ? copy.tokensOut * 2 : null,
    reported_cost_usd: null,
    cost_usd: cost,
    cost_input_usd: 0,
    cost_output_usd: cost,
    cost_cache_read_usd: 1e-6,
    cost_cache_write_usd: toCacheWrite(copy) / 1e6,
    cost_web_search_usd: 0,
    price_basis: 'list',
    line_number: index + 1,
  };
}

/** Inputs are alike, so that consecutive calls of a session are findings. */
const toContentBlocks = (sessionId: string, copy: Copy, index: number): ParsedContentBlock[] =>
  toToolCalls(sessionId, copy, index).map(({ call_key, line_number }, order) => ({
    ...{ id: `${index}-${order}`, session_id: sessionId, message_id: `m${index}`, block_order: order, line_number },
    ...{
      block_type: 'tool_use',
      tool_name: 'Bash',
      tool_kind: 'shell',
      tool_use_id: call_key,
      tool_input: { command: 'ls' },
    },
    ...{ content_text: null, thinking_text: null, tool_result_id: null, is_error: null, result_text: null },
    ...{ metadata: {}, byte_offset: 0, byte_length: 1 },
  }));

const toToolCalls = (sessionId: string, copy: Copy, index: number): ToolCall[] =>
  Array.from({ length: copy.source === 'message' ? copy.calls : 0 }, (_, call) => ({
    call_key: `call-${copy.response}-${call}`,
    response_key: toKey(copy.response),
    session_id: sessionId,
    message_id: `m${index}`,
    tool_name: 'Bash',
    tool_kind: 'shell',
    mcp_server: null,
    program: 'ls',
    file_path: null,
    subagent_type: null,
    subagent_id: null,
    skill_name: null,
    model: null,
    timestamp: toTime(copy.minute),
    is_subagent: false,
    duration_ms: 100,
    is_error: false,
    is_denied: false,
    input_bytes: 10,
    output_bytes: 20,
    line_number: index + 1,
  }));

interface Write {
  transcript: MadeTranscript;
  superseded: readonly string[];
}

/** Writes a transcript, or writes it again, like a worker; returns what is new in it. */
async function insertRows(
  transaction: Database,
  client: PoolClient,
  { id, agent = 'claude-code', sessionId, sizeBytes, startMinute, copies }: MadeTranscript,
): Promise<RowSet> {
  await client.query('DELETE FROM recount.transcripts WHERE workspace_id = $1 AND id = $2', [TEST_WORKSPACE, id]);
  await client.query('DELETE FROM recount.content_blocks WHERE workspace_id = $1 AND row_set_id = $2', [
    TEST_WORKSPACE,
    id,
  ]);
  await insertTestTranscript(
    { ...pool, database: transaction as typeof pool.database },
    {
      ...{
        id,
        agent,
        row_set_id: id,
        session_id: sessionId,
        size_bytes: sizeBytes,
        first_timestamp: toTime(startMinute),
      },
      // Another version of the session may have others.
      ...{ project: sizeBytes > 1 ? 'one' : 'two', machine: startMinute > 1 ? null : `machine ${startMinute}` },
    },
  );
  const key = { workspaceId: TEST_WORKSPACE, rowSetId: id };
  const rowSet = { ...key, firstNewNumbers: await findNextUsageNumbers(transaction, key) };
  const copier = createTranscriptCopier(client);
  const writer = new TranscriptWriter(transaction, copier, rowSet, { agent, priceVersion: 'test' });
  await writer.write({
    ...{ messages: [], events: [], issues: [] },
    contentBlocks: copies.flatMap((copy, index) => toContentBlocks(sessionId, copy, index)),
    apiResponses: copies.map((copy, index) => toApiResponse(sessionId, copy, index)),
    toolCalls: copies.flatMap((copy, index) => toToolCalls(sessionId, copy, index)),
  });
  await copier.sendAll();
  return rowSet;
}

/**
 * Writes transcripts of different sessions in one transaction and removes those whose bytes they contain. Returns the
 * number of rows read.
 */
const write = (...writes: readonly Write[]): Promise<number> => writeInSteps(writes);

async function writeInSteps(writes: readonly Write[], keysPerStep?: number): Promise<number> {
  const sessionIds = writes.map(({ transcript }) => transcript.sessionId).sort();
  const removedRowSetIds = writes.flatMap(({ superseded }) => superseded);
  return await pool.withTransaction(async (transaction, client) => {
    // Rows that a join keeps in memory are read repeatedly without being counted.
    await client.query(`SET LOCAL work_mem = '64kB'`);
    for (const sessionId of sessionIds) await lockSession(transaction, TEST_WORKSPACE, sessionId);
    const written: RowSet[] = [];
    for (const { transcript } of writes) written.push(await insertRows(transaction, client, transcript));
    await client.query('DELETE FROM recount.transcripts WHERE workspace_id = $1 AND id = ANY($2)', [
      TEST_WORKSPACE,
      removedRowSetIds,
    ]);
    await settleSessions(transaction, {
      ...{ workspaceId: TEST_WORKSPACE, sessionIds, written, removedRowSetIds },
      ...(keysPerStep !== undefined && { keysPerStep }),
    });
    const { rows } = await client.query(
      'SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_xact_user_tables',
    );
    return rows[0]?.read ?? 0;
  });
}

type Held = Copy & { transcript: MadeTranscript; index: number };

const compare = (a: readonly (number | string)[], b: readonly (number | string)[]): number => {
  for (const [index, left] of a.entries()) {
    const right = b[index] ?? 0;
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
};
const toCreditRank = ({ transcript, index, ...copy }: Held) => [
  copy.source === 'progress' ? 1 : 0,
  copy.minute ?? Number.POSITIVE_INFINITY,
  Number(copy.isMarkedCopy),
  Number(copy.source === 'progress'),
  transcript.startMinute,
  transcript.sessionId,
  -transcript.sizeBytes,
  `sha-${transcript.id}`,
  index,
];
const toFigureRank = (held: Held) => [
  Number(held.isUnfinalised),
  -held.tokensOut,
  -held.tokensIn,
  ...toCreditRank(held),
];
const first = (held: readonly Held[], toRank: (held: Held) => (number | string)[]): Held => {
  const [best] = held.toSorted((a, b) => compare(toRank(a), toRank(b)));
  if (best === undefined) throw new Error('No copy');
  return best;
};

const areEqual = (values: readonly unknown[]): boolean => new Set(values).size <= 1;

/** The disagreements of copies, computed independently of the ledger. */
function toDisagreement(copies: readonly Held[]) {
  const placeholders = copies.filter(({ isUnfinalised }) => isUnfinalised).map(({ tokensOut }) => tokensOut);
  const finals = copies.filter(({ isUnfinalised }) => !isUnfinalised).map(({ tokensOut }) => tokensOut);
  const minutes = copies.flatMap(({ minute }) => minute ?? []);
  const areExplained =
    areEqual(copies.map(({ tokensIn }) => tokensIn)) &&
    areEqual(finals) &&
    placeholders.every((tokensOut) => finals.every((final) => tokensOut <= final && final <= 200_000)) &&
    Math.max(...placeholders) - Math.min(...placeholders) <= 128;
  const disagreements = [
    ...(areEqual(copies.map(({ tokensOut }) => tokensOut % 2)) ? [] : ['model']),
    ...(Math.max(...minutes) - Math.min(...minutes) > 15 ? ['time'] : []),
    ...(areExplained ? [] : ['figures']),
  ];
  if (disagreements.length === 0) return { disagreements: null, lowest: null, highest: null };
  const costs = (of: readonly Held[]) => of.map(toCost);
  const final = copies.filter(({ isUnfinalised }) => !isUnfinalised);
  return {
    disagreements,
    lowest: Math.min(...costs(final.length > 0 ? final : copies)),
    highest: Math.max(...costs(copies)),
  };
}

/** The ledger by its definition, from only the existing transcripts. */
function toExpected(transcripts: readonly MadeTranscript[]) {
  const held = transcripts.flatMap((transcript) =>
    transcript.copies.map((copy, index): Held => ({ ...copy, transcript, index })),
  );
  const ledger = [...Map.groupBy(held, ({ response }) => response)].map(([response, copies]) => {
    const credited = first(copies, toCreditRank);
    const final = first(copies, toFigureRank);
    return {
      response_key: toKey(response),
      session_id: credited.transcript.sessionId,
      row_set_id: credited.transcript.id,
      timestamp: toTime(credited.minute),
      tokens_out: final.tokensOut,
      is_unfinalised: final.isUnfinalised,
      copy_count: copies.length,
      ...toDisagreement(copies),
    };
  });
  const calls = held.flatMap((copy) => toToolCalls('', copy, 0).map(({ call_key }) => ({ call_key, held: copy })));
  const owners = [...Map.groupBy(calls, ({ call_key }) => call_key)].map(([call_key, copies]) => ({
    call_key,
    session_id: first(
      copies.map((copy) => copy.held),
      toCreditRank,
    ).transcript.sessionId,
  }));
  const byKey = (a: object, b: object) => compare([JSON.stringify(a)], [JSON.stringify(b)]);
  const sums = (rows: { session_id: string; tokens_out: number }[]) =>
    [...Map.groupBy(rows, ({ session_id }) => session_id)]
      .map(([session_id, own]) => ({
        session_id,
        responses: own.length,
        tokens_out: own.reduce((sum, row) => sum + row.tokens_out, 0),
      }))
      .sort(byKey);
  const creditedTo = new Map(ledger.map((row) => [row.response_key, row.session_id]));
  const heldOnce = [...Map.groupBy(held, ({ transcript, response }) => `${transcript.sessionId} ${response}`).values()];
  const shared = heldOnce
    .map((copies) => first(copies, toFigureRank))
    .filter(({ response, transcript }) => creditedTo.get(toKey(response)) !== transcript.sessionId)
    .map(({ transcript, tokensOut }) => ({ session_id: transcript.sessionId, tokens_out: tokensOut }));
  return {
    ledger: ledger.sort((a, b) => compare([a.response_key], [b.response_key])),
    owners: owners.sort((a, b) => compare([a.call_key], [b.call_key])),
    own: sums(ledger),
    shared: sums(shared),
  };
}

async function readActual() {
  const query = async (text: string) => (await pool.pool.query(text)).rows;
  const sums = (isShared: boolean) =>
    query(
      `SELECT session_id, sum(responses)::int AS responses, sum(tokens_out)::int AS tokens_out
       FROM recount.usage_rollup WHERE is_shared = ${isShared} GROUP BY 1 ORDER BY 1`,
    );
  return {
    ledger: (
      await query(
        `SELECT response_key, session_id, row_set_id, "timestamp", tokens_out::int, is_unfinalised, copy_count,
           disagreements, lowest_cost_usd::float8 AS lowest, highest_cost_usd::float8 AS highest
         FROM recount.usage_ledger ORDER BY response_key`,
      )
    ).map((row) => ({ ...row, timestamp: row.timestamp?.toISOString() ?? null })),
    owners: await query(`SELECT call_key, session_id FROM recount.tool_calls WHERE is_own ORDER BY call_key`),
    own: await sums(false),
    shared: await sums(true),
  };
}

async function clear(): Promise<void> {
  await pool.pool.query(
    `TRUNCATE recount.content_blocks, recount.usage_entries, recount.usage_ledger, recount.usage_rollup, recount.tool_calls,
     recount.message_rollup, recount.usage_day_rollup, recount.tool_day_rollup, recount.file_day_rollup, recount.message_day_rollup, recount.findings, recount.transcripts, recount.usage_hour_total, recount.message_hour_total, recount.tool_day_total,
     recount.usage_attribution_total, recount.message_attribution_total, recount.session_total, recount.stale_days, recount.sessions`,
  );
}

const REPORT: ReportFilter = {
  ...{ workspaceId: TEST_WORKSPACE, from: null, to: null, timeZone: 'Europe/Berlin', subagents: 'include' },
};
const REPORTS: readonly ReportFilter[] = [
  REPORT,
  { ...REPORT, from: '2026-01-01T00:15:00.000Z', to: '2026-01-03T02:30:00.000Z', timeZone: 'Asia/Kolkata' },
  { ...REPORT, from: '2026-01-02T00:00:00.000Z', timeZone: 'UTC' },
  { ...REPORT, project: ['one'] },
];

const GROUPS: readonly (readonly ReportKey[])[][] = [
  [['day'], ['project']],
  [['hour'], ['machine', 'month']],
  [[], ['month', 'model']],
];

/** Reports are the same whether totals are read or the rows of sessions, of all days and of one. */
async function expectTotals(filter: ReportFilter, groups: readonly (readonly ReportKey[])[]): Promise<void> {
  const read = async (database: Database) => {
    const answers: unknown[] = [];
    for (const groupBy of groups) {
      answers.push(await readUsageReport(database, filter, { groupBy, limit: 100 }));
    }
    const page = { groupBy: ['tool'], limit: 100, percentiles: true } satisfies Parameters<typeof readToolsReport>[2];
    answers.push(await readToolsReport(database, filter, page));
    answers.push(
      await readProgramsReport(database, filter, { limit: 100 }),
      await readModelsReport(database, filter, { limit: 100 }),
    );
    return answers;
  };
  const { withTotals, withSome, withoutTotals } = await pool.withTransaction(async (transaction, client) => {
    const withTotals = await read(transaction);
    await client.query('SAVEPOINT before');
    const insert = `INSERT INTO recount.stale_days SELECT $1, '2026-01-01Z'::timestamptz + n * interval '1 day' FROM generate_series(0, 3) AS n`;
    await client.query(`${insert} WHERE n % 2 = 0`, [TEST_WORKSPACE]);
    const withSome = await read(transaction);
    await client.query(insert, [TEST_WORKSPACE]);
    const withoutTotals = await read(transaction);
    await client.query('ROLLBACK TO before');
    return { withTotals, withSome, withoutTotals };
  });
  expect(withTotals).toEqual(withoutTotals);
  expect(withSome).toEqual(withoutTotals);
}

const copyArbitrary = fc.record({
  response: fc.nat(5),
  minute: fc.option(
    fc.oneof(
      { weight: 5, arbitrary: fc.nat(3) },
      { weight: 1, arbitrary: fc.nat(40) },
      { weight: 1, arbitrary: fc.constantFrom(1439, 1440, 3000, 4400) },
    ),
    { freq: 8 },
  ),
  source: fc.constantFrom('message', 'message', 'progress'),
  isMarkedCopy: fc.boolean(),
  isUnfinalised: fc.boolean(),
  tokensIn: fc.constantFrom(3, 3, 3, 3, 100_000_000),
  tokensOut: fc.constantFrom(2, 2, 2, 1, 3, 4, 600, 300_000),
  calls: fc.nat(4),
}) satisfies fc.Arbitrary<Copy>;

/** Sessions a to d; versions 0 and 1 of each, written for the first time or again, or the whole session deleted. */
const stepArbitrary = fc.record({
  session: fc.constantFrom('a', 'b', 'c', 'd'),
  action: fc.oneof(
    { weight: 4, arbitrary: fc.constant('write' as const) },
    { weight: 1, arbitrary: fc.constant('supersede' as const) },
    { weight: 1, arbitrary: fc.constant('delete' as const) },
  ),
  version: fc.nat(1),
  sizeBytes: fc.integer({ min: 1, max: 3 }),
  startMinute: fc.nat(2),
  copies: fc.uniqueArray(copyArbitrary, { maxLength: 6, selector: ({ response, source }) => `${response} ${source}` }),
});

/** A transcript of many responses, and a copy of it in another session. */
function toLongTranscripts(responses: number, calls: number) {
  const copies = Array.from({ length: responses }, (_, response) => ({
    ...{ response, minute: response, source: 'message', isMarkedCopy: false, isUnfinalised: false, calls },
    ...{ tokensIn: 3, tokensOut: 2 },
  })) satisfies Copy[];
  const long = { id: 'a0', sessionId: 'a', sizeBytes: 2, startMinute: 0, copies };
  const fork = { ...long, id: 'b0', sessionId: 'b', copies: copies.map((copy) => ({ ...copy, isMarkedCopy: true })) };
  return { long, fork };
}

it('settles more responses than fit one step', async () => {
  await clear();
  // Listed in three steps. Their copies are read in more, of 5,000.
  const { long, fork } = toLongTranscripts(6001, 0);
  const settle = (transcript: MadeTranscript, superseded: readonly string[] = []) =>
    writeInSteps([{ transcript, superseded }], 3000);
  await settle(long);
  expect(await readActual()).toEqual(toExpected([long]));
  await settle(fork);
  expect(await readActual()).toEqual(toExpected([long, fork]));
  const short = { ...long, id: 'a1', copies: long.copies.slice(0, 1) };
  await settle(short, ['a0']);
  expect(await readActual()).toEqual(toExpected([short, fork]));
  await pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'a'));
  expect(await readActual()).toEqual(toExpected([fork]));
});

it('reads a proportionate number of rows even if statistics are of empty tables', async () => {
  await clear();
  await pool.pool.query('ANALYZE');
  const responses = 4000;
  const { long, fork } = toLongTranscripts(responses, 0);
  expect(await write({ transcript: long, superseded: [] })).toBeLessThan(50 * responses);
  expect(await write({ transcript: fork, superseded: [] })).toBeLessThan(50 * responses);
});

/** One response with one call. */
const toSingle = (sessionId: string, tokensOut: number, agent?: string): MadeTranscript => ({
  ...{ id: `t-${sessionId}`, sessionId, sizeBytes: 1, startMinute: 0, ...(agent !== undefined && { agent }) },
  copies: [
    {
      ...{ response: 1, minute: 0, source: 'message', isMarkedCopy: false, isUnfinalised: false },
      ...{ tokensIn: 3, tokensOut, calls: 1 },
    },
  ],
});

const final = { isUnfinalised: false };
const placeholder = { isUnfinalised: true };

it.each<[string, Partial<Copy>, Partial<Copy>, string[] | null]>([
  ['nothing', {}, {}, null],
  ['20 searches that one lacks', { webSearches: 1 }, { webSearches: 21 }, null],
  ['21 searches', { webSearches: 0 }, { webSearches: 21 }, ['figures']],
  ['the tier of final copies', { ...final, serviceTier: 'priority' }, { ...final, serviceTier: 'batch' }, ['figures']],
  ['a tier that only a final copy has', placeholder, { ...final, serviceTier: 'priority' }, null],
  ['the tier of placeholders', { ...placeholder, serviceTier: 'priority' }, placeholder, ['figures']],
  ['the output of final copies', { ...final, tokensOut: 2 }, { ...final, tokensOut: 4 }, ['figures']],
  ['placeholders 128 apart', { ...placeholder, tokensOut: 2 }, { ...placeholder, tokensOut: 130 }, null],
  ['placeholders 130 apart', { ...placeholder, tokensOut: 2 }, { ...placeholder, tokensOut: 132 }, ['figures']],
  ['a final copy as long as any', { ...placeholder, tokensOut: 2 }, { ...final, tokensOut: 200_000 }, null],
  ['a longer one', { ...placeholder, tokensOut: 2 }, { ...final, tokensOut: 200_002 }, ['figures']],
  ['a placeholder above the final copy', { ...placeholder, tokensOut: 4 }, { ...final, tokensOut: 2 }, ['figures']],
  ['a 15-minute bucket', { minute: 0 }, { minute: 15 }, null],
  ['more than that', { minute: 0 }, { minute: 16 }, ['time']],
  ['the model', { tokensOut: 2 }, { tokensOut: 3 }, ['model', 'figures']],
])('decides whether copies disagree that differ by %s', async (_, one, another, disagreements) => {
  await clear();
  for (const [sessionId, differing] of Object.entries({ a: one, b: another })) {
    const { copies, ...transcript } = toSingle(sessionId, 2);
    const changed = copies.map((copy) => ({ ...copy, ...differing }));
    await write({ transcript: { ...transcript, copies: changed }, superseded: [] });
  }
  const { rows } = await pool.pool.query('SELECT disagreements FROM recount.usage_ledger');
  expect(rows).toEqual([{ disagreements }]);
});

it.each<[string, Partial<Copy> & { startMinute?: number }, Partial<Copy> & { startMinute?: number }, 'a' | 'b']>([
  ['the earliest copy', { minute: 1 }, { minute: 0, isMarkedCopy: true, isSubagent: true }, 'b'],
  ['a copy that is not marked as one', { isMarkedCopy: true }, { isSubagent: true, startMinute: 2 }, 'b'],
  ['a copy that is not a sub-agent’s', { isSubagent: true }, { startMinute: 2 }, 'b'],
  ['a message', { source: 'progress', isSubagent: false }, { minute: 1, isMarkedCopy: true }, 'b'],
  ['the session that began first', { startMinute: 1 }, {}, 'b'],
  ['the first session by its id', {}, {}, 'a'],
])('credits %s', async (_, one, another, credited) => {
  await clear();
  for (const [sessionId, { startMinute = 0, ...differing }] of Object.entries({ b: another, a: one })) {
    const { copies, ...transcript } = toSingle(sessionId, 2);
    const changed = copies.map((copy) => ({ ...copy, ...differing, calls: 0 }));
    await write({ transcript: { ...transcript, startMinute, copies: changed }, superseded: [] });
  }
  const { rows } = await pool.pool.query('SELECT session_id FROM recount.usage_ledger');
  expect(rows).toEqual([{ session_id: credited }]);
});

it('keeps responses of two agents with the same key apart', async () => {
  await clear();
  const readLedger = async () =>
    (
      await pool.pool.query(
        'SELECT agent, session_id, tokens_out::int, copy_count FROM recount.usage_ledger ORDER BY agent, session_id',
      )
    ).rows;
  const other = { agent: 'other-agent', session_id: 'b', tokens_out: 4, copy_count: 1 };
  await write({ transcript: toSingle('a', 2), superseded: [] });
  await write({ transcript: toSingle('b', 4, 'other-agent'), superseded: [] });
  await write({ transcript: toSingle('c', 2), superseded: [] });
  const copied = { agent: 'claude-code', session_id: 'a', tokens_out: 2, copy_count: 2 };
  expect(await readLedger()).toEqual([copied, other]);
  await pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'b'));
  expect(await readLedger()).toEqual([copied]);
  await pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'a'));
  expect(await readLedger()).toEqual([{ ...copied, session_id: 'c', copy_count: 1 }]);
});

it('counts the copies of others where a response was inserted after its transaction had locked the rest', async () => {
  await clear();
  const toChange = (sessionId: string, written: RowSet[]) => {
    return { workspaceId: TEST_WORKSPACE, sessionIds: [sessionId], written, removedRowSetIds: [] };
  };
  const locked = Promise.withResolvers<void>();
  const mayContinue = Promise.withResolvers<void>();
  const last = pool.withTransaction(async (transaction, client) => {
    const change = toChange('c', [await insertRows(transaction, client, toSingle('c', 2))]);
    const lockedNames = await lockLedger(transaction, change, []);
    locked.resolve();
    await mayContinue.promise;
    await settleUsageLedger(transaction, change, [], lockedNames);
  });
  await locked.promise;
  await write({ transcript: toSingle('a', 2), superseded: [] });
  await pool.withTransaction(async (transaction, client) => {
    await settleSessions(transaction, toChange('b', [await insertRows(transaction, client, toSingle('b', 2))]));
    mayContinue.resolve();
    await waitForLocks({ database: pool }, 1);
  });
  await last;
  const { rows } = await pool.pool.query('SELECT copy_count FROM recount.usage_ledger');
  expect(rows).toEqual([{ copy_count: 3 }]);
});

it('counts a call once whose response is in two entries of its transcript', async () => {
  await clear();
  const { copies, ...transcript } = toSingle('a', 2);
  const again = copies.map((copy) => ({ ...copy, minute: 1, calls: 0 }));
  await write({ transcript: { ...transcript, copies: [...copies, ...again] }, superseded: [] });
  await write({ transcript: { ...toSingle('c', 2), startMinute: 2 }, superseded: [] });
  const { rows } = await pool.pool.query('SELECT session_id FROM recount.tool_calls WHERE is_own');
  expect(rows).toEqual([{ session_id: 'a' }]);
});

it('neither reads nor changes another workspace with the same ids and keys', async () => {
  const tables = ['usage_ledger', 'usage_entries', 'tool_calls', 'usage_rollup', 'sessions'];
  const read = async (workspaceId: string) => {
    const rowsOf = async (table: string) => {
      const own = "to_jsonb(t) - 'created_at' - 'updated_at'";
      const text = `SELECT ${own} AS row FROM recount.${table} AS t WHERE workspace_id = $1 ORDER BY (${own})::text`;
      return (await pool.pool.query(text, [workspaceId])).rows;
    };
    return await Promise.all(tables.map(rowsOf));
  };
  const steps = [
    () => write({ transcript: toSingle('0', 2), superseded: [] }),
    () => write({ transcript: { ...toSingle('0', 2), startMinute: 1 }, superseded: [] }),
    () => pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, '0')),
    () => pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'a')),
  ];
  const alone: unknown[] = [];
  for (const hasNeighbour of [false, true]) {
    await clear();
    await write({ transcript: toSingle('a', 2), superseded: [] });
    if (hasNeighbour) await copyToOtherTenant(pool, 'a');
    const before = await read(OTHER_WORKSPACE);
    expect(before.every((rows) => rows.length > 0)).toBe(hasNeighbour);
    for (const [index, step] of steps.entries()) {
      await step();
      const own = await read(TEST_WORKSPACE);
      if (hasNeighbour) expect(own).toEqual(alone[index]);
      else alone.push(own);
      expect(await read(OTHER_WORKSPACE)).toEqual(before);
    }
  }
});

/** Like a grown transcript. Its calls from number `from` on were open, and are written again. */
async function writeCallsAgain({ id, sessionId }: MadeTranscript, toolCalls: ToolCall[], from: number): Promise<void> {
  await pool.withTransaction(async (transaction, client) => {
    await lockSession(transaction, TEST_WORKSPACE, sessionId);
    const key = { workspaceId: TEST_WORKSPACE, rowSetId: id };
    const firstNewNumbers = await findNextUsageNumbers(transaction, key);
    const rowSet = { ...key, firstNewNumbers };
    const copier = createTranscriptCopier(client);
    const writer = new TranscriptWriter(transaction, copier, rowSet, { agent: 'claude-code', priceVersion: 'test' });
    await writer.write({ messages: [], contentBlocks: [], events: [], issues: [], apiResponses: [], toolCalls });
    await copier.sendAll();
    const prefix = { numbers: { entry: firstNewNumbers.entry, call: from } };
    await settleSessions(transaction, {
      ...{ workspaceId: TEST_WORKSPACE, sessionIds: [sessionId], removedRowSetIds: [] },
      written: [{ ...rowSet, prefix } as RowSet],
    });
  });
}

const toCopyWithCall = (response: number): Copy => ({
  ...{ response, minute: 0, source: 'message', isMarkedCopy: false, isUnfinalised: false },
  ...{ tokensIn: 3, tokensOut: 2, calls: 1 },
});
const readOwners = async () =>
  (await pool.pool.query('SELECT session_id, call_key FROM recount.tool_calls WHERE is_own ORDER BY call_key')).rows;

it('keeps crediting a call to its session when a copy of it is uploaded again', async () => {
  await clear();
  const copies = [1, 2, 3].map(toCopyWithCall);
  const original: MadeTranscript = { ...toSingle('a', 2), copies };
  const copy: MadeTranscript = { ...toSingle('b', 2), startMinute: 1, copies: copies.slice(2) };
  await write({ transcript: original, superseded: [] });
  await write({ transcript: copy, superseded: [] });
  const owners = [1, 2, 3].map((response) => ({ session_id: 'a', call_key: `call-${response}-0` }));
  expect(await readOwners()).toEqual(owners);
  await writeCallsAgain(copy, toToolCalls('b', toCopyWithCall(3), 0), 0);
  expect(await readOwners()).toEqual(owners);
});

it('counts a call once that is repeated in a later entry of its response', async () => {
  await clear();
  const again = { ...toCopyWithCall(3), minute: 1 };
  const transcript: MadeTranscript = { ...toSingle('a', 2), copies: [toCopyWithCall(3), again] };
  await write({ transcript, superseded: [] });
  const owner = { session_id: 'a', call_key: 'call-3-0' };
  expect(await readOwners()).toEqual([owner]);
  await writeCallsAgain(transcript, toToolCalls('a', again, 1), 1);
  expect(await readOwners()).toEqual([owner]);
});

// The last one, because it takes long enough that PostgreSQL counts what it writes, and the others write more.
it('depends only on the transcripts present, whatever was written, replaced and deleted, by whom and in what order', async () => {
  const round = fc.record({
    /** Number of its writes in one transaction. */
    groupSize: fc.nat(4),
    /** The number of workers that make totals at the same time, and a flag for one afterwards. */
    refreshes: fc.nat(2),
    isRefreshed: fc.boolean(),
    steps: fc.uniqueArray(stepArbitrary, { minLength: 1, maxLength: 4, selector: ({ session }) => session }),
  });
  const rounds = fc.array(round, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(rounds, async (everyRound) => {
      await clear();
      const present = new Map<string, MadeTranscript>();
      for (const [number, { groupSize, refreshes, isRefreshed, steps }] of everyRound.entries()) {
        const deletions: string[] = [];
        const writes: Write[] = [];
        for (const { session, action, version, sizeBytes, startMinute, copies } of steps) {
          const transcript = { id: `${session}${version}`, sessionId: session, sizeBytes, startMinute, copies };
          const other = `${session}${1 - version}`;
          if (action !== 'write') present.delete(other);
          if (action === 'delete') {
            present.delete(transcript.id);
            deletions.push(session);
            continue;
          }
          present.set(transcript.id, transcript);
          writes.push({ transcript, superseded: action === 'supersede' ? [other] : [] });
        }
        // The sessions of a round run concurrently, on separate connections.
        await Promise.all([
          ...deletions.map((session) =>
            pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, session)),
          ),
          write(...writes.slice(0, groupSize)),
          ...writes.slice(groupSize).map((single) => write(single)),
          ...Array.from({ length: refreshes }, () => refreshTotals(pool, TEST_WORKSPACE)),
        ]);
        if (isRefreshed) await refreshTotals(pool, TEST_WORKSPACE);
        // packages/db/src/reports/totals-source.integration.test.ts compares all reports; this one, what is marked as stale.
        const filter = REPORTS[number % REPORTS.length] ?? REPORT;
        await expectTotals(filter, GROUPS[number % GROUPS.length] ?? []);
        expect(await readActual()).toEqual(toExpected([...present.values()]));
        const checks = await pool.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
        // These transcripts state no figures.
        for (const check of checks.filter(({ table }) => table !== 'transcripts')) {
          expect(check).toMatchObject({ missing: 0, surplus: 0 });
        }
      }
    }),
  );
});
