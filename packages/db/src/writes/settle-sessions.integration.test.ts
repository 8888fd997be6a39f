import type { ApiResponse, ToolCall } from '@recount/core';
import fc from 'fast-check';
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../database.ts';
import { verifyUsage } from '../queries/verify-usage.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestTranscript } from '../testing/insert-test-transcript.ts';
import { deleteSession } from './delete-session.ts';
import { lockSession } from './lock-session.ts';
import { findNextUsageNumbers, type WrittenRows } from './replaced-usage.ts';
import { settleSessions } from './settle-sessions.ts';
import { createTranscriptCopier } from './transcript-copier.ts';
import { createTranscriptWriter } from './transcript-writer.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

/** What a made transcript holds of a response. */
interface Copy {
  response: number;
  minute: number | null;
  source: 'message' | 'progress';
  isMarkedCopy: boolean;
  isUnfinalised: boolean;
  tokensOut: number;
  calls: number;
}

interface MadeTranscript {
  id: string;
  sessionId: string;
  sizeBytes: number;
  startMinute: number;
  copies: Copy[];
}

const toTime = (minute: number | null) =>
  minute === null ? null : new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString();
const toKey = (response: number) => `msg_${String(response).padStart(24, '0')}`;

function toApiResponse(sessionId: string, copy: Copy, index: number): ApiResponse {
  const cost = copy.tokensOut / 1e6;
  return {
    response_key: toKey(copy.response),
    source: copy.source,
    session_id: sessionId,
    message_id: copy.source === 'message' ? `m${index}` : null,
    provider_message_id: toKey(copy.response),
    request_id: null,
    model: copy.tokensOut % 2 === 0 ? 'even' : 'odd',
    timestamp: toTime(copy.minute),
    is_subagent: copy.source === 'progress',
    agent_id: null,
    git_branch: null,
    agent_version: null,
    is_marked_copy: copy.isMarkedCopy,
    tokens_in: 3,
    tokens_out: copy.tokensOut,
    cache_read: 5,
    cache_write: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
    thinking_tokens: 0,
    web_search_requests: 0,
    web_fetch_requests: 0,
    service_tier: null,
    speed: null,
    inference_geo: null,
    is_unfinalised: copy.isUnfinalised,
    estimated_tokens_out: copy.isUnfinalised ? copy.tokensOut * 2 : null,
    reported_cost_usd: null,
    cost_usd: cost,
    cost_input_usd: 0,
    cost_output_usd: cost,
    cost_cache_read_usd: 0,
    cost_cache_write_usd: 0,
    cost_web_search_usd: 0,
    price_basis: 'list',
    line_number: index + 1,
  };
}

const toToolCalls = (sessionId: string, copy: Copy, index: number): ToolCall[] =>
  Array.from({ length: copy.source === 'message' ? copy.calls : 0 }, (_, call) => ({
    call_key: `call-${copy.response}-${call}`,
    response_key: toKey(copy.response),
    session_id: sessionId,
    message_id: `m${index}`,
    tool_name: 'Bash',
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

/** Writes a transcript, or writes it anew, as a worker does; returns what is new of it. */
async function insertRows(
  transaction: Database,
  client: PoolClient,
  { id, sessionId, sizeBytes, startMinute, copies }: MadeTranscript,
): Promise<WrittenRows> {
  await client.query('DELETE FROM recount.transcripts WHERE workspace_id = $1 AND id = $2', [TEST_WORKSPACE, id]);
  await insertTestTranscript(
    { ...pool, database: transaction as typeof pool.database },
    { id, row_set_id: id, session_id: sessionId, size_bytes: sizeBytes, first_timestamp: toTime(startMinute) },
  );
  const firstNumbers = await findNextUsageNumbers(transaction, { workspaceId: TEST_WORKSPACE, rowSetId: id });
  const context = { workspaceId: TEST_WORKSPACE, rowSetId: id, agent: 'claude-code', priceVersion: 'test' };
  const copier = createTranscriptCopier(client);
  const writer = createTranscriptWriter(transaction, copier, context, { ...firstNumbers, event: 0, issue: 0 });
  await writer.write({
    ...{ messages: [], updatedMessages: [], contentBlocks: [], events: [], issues: [] },
    apiResponses: copies.map((copy, index) => toApiResponse(sessionId, copy, index)),
    toolCalls: copies.flatMap((copy, index) => toToolCalls(sessionId, copy, index)),
  });
  await writer.finish();
  await copier.sendAll();
  return { rowSetId: id, firstNumbers };
}

/** Writes transcripts of different sessions in one transaction; those whose bytes they contain go. */
async function write(...writes: readonly Write[]): Promise<void> {
  const sessionIds = writes.map(({ transcript }) => transcript.sessionId).sort();
  const removedRowSetIds = writes.flatMap(({ superseded }) => superseded);
  await pool.withTransaction(async (transaction, client) => {
    for (const sessionId of sessionIds) await lockSession(transaction, TEST_WORKSPACE, sessionId);
    const written: WrittenRows[] = [];
    for (const { transcript } of writes) written.push(await insertRows(transaction, client, transcript));
    await client.query('DELETE FROM recount.transcripts WHERE workspace_id = $1 AND id = ANY($2)', [
      TEST_WORKSPACE,
      removedRowSetIds,
    ]);
    await settleSessions(transaction, { workspaceId: TEST_WORKSPACE, sessionIds, written, removedRowSetIds });
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
const toFigureRank = (held: Held) => [Number(held.isUnfinalised), -held.tokensOut, ...toCreditRank(held)];
const first = (held: readonly Held[], toRank: (held: Held) => (number | string)[]): Held => {
  const [best] = held.toSorted((a, b) => compare(toRank(a), toRank(b)));
  if (best === undefined) throw new Error('No copy');
  return best;
};

/** The ledger by the definition, from nothing but the transcripts that are there. */
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
        `SELECT response_key, session_id, row_set_id, "timestamp", tokens_out::int, is_unfinalised, copy_count
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
    `TRUNCATE recount.usage_entries, recount.usage_ledger, recount.usage_rollup, recount.tool_calls, recount.tool_rollup,
     recount.message_rollup, recount.usage_day_rollup, recount.tool_day_rollup, recount.file_day_rollup, recount.message_day_rollup, recount.transcripts, recount.sessions`,
  );
}

const copyArbitrary = fc.record({
  response: fc.nat(5),
  minute: fc.option(fc.nat(3), { freq: 8 }),
  source: fc.constantFrom('message', 'message', 'progress'),
  isMarkedCopy: fc.boolean(),
  isUnfinalised: fc.boolean(),
  tokensOut: fc.integer({ min: 1, max: 4 }),
  calls: fc.nat(2),
}) satisfies fc.Arbitrary<Copy>;

/** Sessions a to d; versions 0 and 1 of each, written once or anew, or the whole session deleted. */
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

it('follows from the transcripts that are there, whatever was written, replaced and deleted, by whom and in what order', async () => {
  const round = fc.record({
    /** How many of its writes come in one transaction. */
    groupSize: fc.nat(4),
    steps: fc.uniqueArray(stepArbitrary, { minLength: 1, maxLength: 4, selector: ({ session }) => session }),
  });
  const rounds = fc.array(round, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(rounds, async (everyRound) => {
      await clear();
      const present = new Map<string, MadeTranscript>();
      for (const { groupSize, steps } of everyRound) {
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
        // The sessions of a round at once, on connections of their own.
        await Promise.all([
          ...deletions.map((session) =>
            pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, session)),
          ),
          write(...writes.slice(0, groupSize)),
          ...writes.slice(groupSize).map((single) => write(single)),
        ]);
        expect(await readActual()).toEqual(toExpected([...present.values()]));
        const checks = await pool.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
        // These transcripts say nothing of their own figures.
        for (const check of checks.filter(({ table }) => table !== 'transcripts')) {
          expect(check).toMatchObject({ missing: 0, surplus: 0 });
        }
      }
    }),
    { numRuns: 60 },
  );
});

it('settles more responses than fit one step', async () => {
  await clear();
  const copies = Array.from({ length: 20_001 }, (_, response) => ({
    ...{ response, minute: response, source: 'message', isMarkedCopy: false, isUnfinalised: false, calls: 0 },
    tokensOut: 2,
  })) satisfies Copy[];
  const long = { id: 'a0', sessionId: 'a', sizeBytes: 2, startMinute: 0, copies };
  await write({ transcript: long, superseded: [] });
  expect(await readActual()).toEqual(toExpected([long]));
  const fork = { ...long, id: 'b0', sessionId: 'b', copies: copies.map((copy) => ({ ...copy, isMarkedCopy: true })) };
  await write({ transcript: fork, superseded: [] });
  expect(await readActual()).toEqual(toExpected([long, fork]));
  await pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'a'));
  expect(await readActual()).toEqual(toExpected([fork]));
});
