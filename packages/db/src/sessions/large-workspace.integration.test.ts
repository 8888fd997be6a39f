import { isOnCitus } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../database/database.ts';
import {
  type ReportFilter,
  readApiErrorsReport,
  readCompactionsReport,
  readPullRequestsReport,
  resolveReportFilter,
} from '../reports/index.ts';
import { indexSearchBatch } from '../search/index-waiting.ts';
import { parseSearchTarget } from '../search/parse-search-query.ts';
import { type SearchRequest, searchTranscripts } from '../search/search-transcripts.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { listSessions, SESSION_SORTS, type SessionFilter } from './read-sessions.ts';
import { readSessionErrors } from './session-errors.ts';

const SESSIONS = 4000;
/** Some fifty sessions and what is looked up for each; all of a table that has a row for each session are 4,000 or more. */
const MAX_ROWS_READ = 1500;
const LONG_PATH = `/${'folder/'.repeat(1000)}file.ts`;

let pool: Awaited<ReturnType<typeof createTestPool>>;

/**
 * Sessions by the minute. In every hundredth something failed, and that one is linked to a pull request; each has a
 * word in common.
 */
beforeAll(async () => {
  pool = await createTestPool();
  await pool.pool.query(`
    INSERT INTO recount.transcripts (workspace_id, id, row_set_id, session_id, agent, format, is_stream, sha256, size_bytes, object_key, status,
      ingested_at, first_timestamp)
    SELECT '${TEST_WORKSPACE}', 't' || n, 't' || n, 's' || n, 'claude-code', 'claude-code', false, 'sha' || n, 1, 'key' || n, 'ingested', now(),
      '2026-01-01Z'::timestamptz + n * interval '1 minute'
    FROM generate_series(1, ${SESSIONS}) AS n;
    INSERT INTO recount.sessions (workspace_id, session_id, agent, primary_transcript_id, first_timestamp, last_timestamp, duration_ms,
      tokens_out, total_messages, cost_estimate_usd)
    SELECT workspace_id, session_id, agent, id, first_timestamp, first_timestamp + interval '1 second', 1000, n % 997, n % 91, n % 89
    FROM recount.transcripts, LATERAL (SELECT substr(id, 2)::int AS n) AS number;
    INSERT INTO recount.tool_day_rollup (workspace_id, session_id, first_bucket_start, last_bucket_start, is_subagent, tool_name, tool_kind,
      mcp_server, program, skill_name, calls, results, errors, denied, timed_calls, durations)
    SELECT workspace_id, session_id, first_timestamp, first_timestamp, false, CASE WHEN n % 1000 = 0 THEN 'Rare' ELSE 'Bash' END, 'shell',
      CASE WHEN n % 1000 = 0 THEN 'server' END, CASE WHEN n % 1000 = 1 THEN 'make' ELSE 'git' END, CASE WHEN n % 1000 = 2 THEN 'skill' END,
      1, 1, (n % 100 = 0)::int, 0, 0, ''
    FROM recount.sessions, LATERAL (SELECT substr(session_id, 2)::int AS n) AS number;
    INSERT INTO recount.file_day_rollup (workspace_id, session_id, first_bucket_start, last_bucket_start, is_subagent, file_path, calls, reads,
      edits, errors)
    SELECT workspace_id, session_id, first_timestamp, first_timestamp, false,
      CASE WHEN n % 500 = 0 THEN '${LONG_PATH}' ELSE '/src/' || n END, 1, 1, 0, 0
    FROM recount.sessions, LATERAL (SELECT substr(session_id, 2)::int AS n) AS number;
    INSERT INTO recount.session_events (workspace_id, row_set_id, event_number, session_id, event_key, kind, "timestamp",
      is_subagent, name, details, line_number)
    SELECT workspace_id, primary_transcript_id, 1, session_id, session_id, CASE WHEN n % 100 = 3 THEN 'pull_request' ELSE 'api_error' END,
      first_timestamp, false, 'https://example.org/pull/' || n, '{}', 1
    FROM recount.sessions, LATERAL (SELECT substr(session_id, 2)::int AS n) AS number WHERE n % 100 <= 3 OR n % 10 = 5;
    -- A copy of the link of s203, in a session that began later.
    INSERT INTO recount.session_events (workspace_id, row_set_id, event_number, session_id, event_key, kind, "timestamp",
      is_subagent, name, details, line_number)
    VALUES ('${TEST_WORKSPACE}', 't303', 2, 's303', 's203', 'pull_request', '2026-01-03Z', false, 'https://example.org/pull/203', '{}', 2);
    INSERT INTO recount.transcript_messages (workspace_id, row_set_id, id, session_id, line_number, ordinal, message_type, "timestamp",
      has_text, has_thinking, has_tool_use, has_tool_result, metadata, is_sidechain, byte_offset, byte_length)
    SELECT workspace_id, primary_transcript_id, session_id || '-' || d, session_id, 1, d, 'user', first_timestamp, true, false, false, false, '{}', false, 0, 1
    FROM recount.sessions, generate_series(1, 10) AS d;
    INSERT INTO recount.content_blocks (workspace_id, row_set_id, message_id, block_order, id, session_id, block_type, content_text, metadata,
      line_number, byte_offset, byte_length)
    SELECT workspace_id, row_set_id, id, 0, 'block-' || id, session_id, 'text', 'heron', '{}', 1, 0, 1 FROM recount.transcript_messages;
    INSERT INTO recount.search_waiting (workspace_id, row_set_id, session_id)
    SELECT workspace_id, row_set_id, session_id FROM recount.transcripts;
  `);
  while ((await indexSearchBatch(pool)) !== undefined);
  await pool.pool.query('VACUUM ANALYZE');
});
afterAll(() => pool.close());

/** Rows that a question reads from tables, and the question's answer. */
async function countRowsRead<T>(ask: (database: Database) => Promise<T>): Promise<{ rows: number; answer: T }> {
  return await pool.withTransaction(async (transaction, client) => {
    const count = async (): Promise<number> => {
      const { rows } = await client.query<{ count: string }>(
        `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) AS count FROM pg_stat_xact_user_tables WHERE schemaname = 'recount'`,
      );
      return Number(rows[0]?.count);
    };
    const before = await count();
    const answer = await ask(transaction);
    return { rows: (await count()) - before, answer };
  });
}

const list = (
  filter: SessionFilter,
  sort: (typeof SESSION_SORTS)[number] = 'last_timestamp',
  order: 'asc' | 'desc' = 'desc',
) => countRowsRead((database) => listSessions(database, TEST_WORKSPACE, filter, { sort, order, limit: 20 }));

const idsEvery = (step: number, remainder: number): string[] =>
  Array.from({ length: SESSIONS }, (_, index) => SESSIONS - index)
    .filter((n) => n % step === remainder)
    .slice(0, 20)
    .map((n) => `s${n}`);

it.skipIf(isOnCitus()).each(SESSION_SORTS)('reads no more than one page of the sessions by %s', async (sort) => {
  for (const order of ['asc', 'desc'] as const) {
    const { rows, answer } = await list({}, sort, order);
    expect(answer.rows).toHaveLength(20);
    expect(rows).toBeLessThan(MAX_ROWS_READ);
  }
});

it.skipIf(isOnCitus()).each<[string, SessionFilter, string[]]>([
  ['called a rare tool', { calls: { tool_name: 'Rare' } }, idsEvery(1000, 0)],
  ['called a rare program', { calls: { program: 'make' } }, idsEvery(1000, 1)],
  ['called a server', { calls: { mcp_server: 'server' } }, idsEvery(1000, 0)],
  ['used a skill', { calls: { skill_name: 'skill' } }, idsEvery(1000, 2)],
  ['called an unknown tool', { calls: { tool_name: 'none' } }, []],
  ['touched a file with a long path', { file: LONG_PATH }, idsEvery(500, 0)],
  [
    'are linked to a pull request, only by its earliest copy',
    { pullRequest: 'https://example.org/pull/203' },
    ['s203'],
  ],
])('reads no more than the sessions that %s', async (_name, filter, ids) => {
  const { rows, answer } = await list(filter);
  expect(answer.rows.map(({ session_id }) => session_id)).toEqual(ids);
  expect(rows).toBeLessThan(MAX_ROWS_READ);
});

it('finds the sessions with a failure, and the others', async () => {
  const failed = await list({ hasErrors: true });
  const hasFailed = (n: number): boolean => n % 100 <= 2 || n % 10 === 5;
  const numbers = Array.from({ length: SESSIONS }, (_, index) => SESSIONS - index);
  const toIds = (wanted: boolean) =>
    numbers
      .filter((n) => hasFailed(n) === wanted)
      .slice(0, 20)
      .map((n) => `s${n}`);
  expect(failed.answer.rows.map(({ session_id }) => session_id)).toEqual(toIds(true));
  expect((await list({ hasErrors: false })).answer.rows.map(({ session_id }) => session_id)).toEqual(toIds(false));
  if (isOnCitus()) return;
  expect(failed.rows).toBeLessThan(MAX_ROWS_READ);
});

it.skipIf(isOnCitus())('counts the failures of some sessions by reading only their rows', async () => {
  const { rows, answer } = await countRowsRead((database) =>
    readSessionErrors(database, TEST_WORKSPACE, ['s100', 's5', 's6']),
  );
  expect(answer.get('s100')).toEqual({ tool_error_count: 1, api_error_count: 1 });
  expect(answer.get('s5')).toMatchObject({ api_error_count: 1 });
  expect(answer.has('s6')).toBe(false);
  expect(rows).toBeLessThan(100);
});

/** Searches for the word that all 40,000 texts contain. */
async function searchAll(filter: Partial<SearchRequest>) {
  const target = parseSearchTarget('text', 'heron');
  if (typeof target === 'string') throw new Error('not to be searched for');
  return await countRowsRead((database) =>
    searchTranscripts(
      { database: pool.database, withSnapshot: (work) => work(database) },
      TEST_WORKSPACE,
      target,
      { timeZone: 'UTC', subagents: 'include', ...filter },
      { sort: 'relevance', limit: 20 },
      60_000,
    ),
  );
}

it.skipIf(isOnCitus())('searches the newest texts for a word that all contain', async () => {
  const { rows, answer } = await searchAll({});
  expect(answer.results).toHaveLength(20);
  expect(answer.isMatchCountCapped).toBe(true);
  // 500 texts are ranked, and the session of each looked up.
  expect(rows).toBeLessThan(5000);
});

it.skipIf(isOnCitus()).each<[string, Partial<SearchRequest>]>([
  ['of a time long ago', { to: '2026-01-01T00:31:00Z' }],
  ['of a person', { person: 'Grace' }],
])('reads hardly more than the texts %s', async (_name, filter) => {
  await pool.pool.query(`UPDATE recount.sessions SET person = 'Grace' WHERE session_id IN ('s1', 's2', 's3')`);
  const { rows, answer } = await searchAll(filter);
  expect(answer.matchCount).toBe('person' in filter ? 30 : 300);
  expect(rows).toBeLessThan(MAX_ROWS_READ);
});

it
  .skipIf(isOnCitus())
  .each<[string, (database: Database, filter: ReportFilter) => Promise<{ rows: readonly object[] }>]>([
    ['API errors', (database, filter) => readApiErrorsReport(database, filter, { limit: 20 })],
    ['compactions', (database, filter) => readCompactionsReport(database, filter, { limit: 20 })],
    ['pull requests', (database, filter) => readPullRequestsReport(database, filter, { limit: 20 })],
  ])('reads only the %s of the hour that a report is about', async (name, read) => {
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
    ...{ from: '2026-01-02T01:00Z', to: '2026-01-02T02:00Z', timeZone: 'UTC', subagents: 'include' },
  });
  const { rows, answer } = await countRowsRead((database) => read(database, filter));
  expect(answer.rows).toHaveLength(name === 'API errors' ? 9 : name === 'pull requests' ? 1 : 0);
  expect(rows).toBeLessThan(60);
});
