import { createTestDatabase, isOnCitus, type TestDatabase } from '@recount/local-postgres/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findFaults } from './find-faults.ts';
import { plansWithoutParameters } from './plans-without-parameters.ts';

const distributedTables = new Set(['sessions', 'transcripts', 'search_waiting', 'usage_rollup', 'message_rollup']);
const spreadTables = new Set([...distributedTables, 'sign_ins']);

let testDatabase: TestDatabase;
let client: pg.Client;
let canPlan = false;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  client = new pg.Client({ connectionString: testDatabase.connectionString });
  client.on('error', () => {});
  await client.connect();
  canPlan = !isOnCitus() && (await plansWithoutParameters(client));
});
afterAll(async () => {
  await client.end();
  await testDatabase.drop();
});

const find = (text: string, asksAllNodes = false) =>
  findFaults(client, text, { distributedTables, spreadTables, asksAllNodes });

it.each([
  ['SELECT FROM recount.sessions WHERE session_id = $1', 'reads sessions without'],
  [
    `SELECT FROM recount.sessions AS s CROSS JOIN LATERAL (
       SELECT FROM recount.transcripts AS t WHERE t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id OFFSET 0
     ) AS t WHERE s.workspace_id = $1`,
    'reads transcripts without',
  ],
  [
    'SELECT FROM recount.sessions JOIN recount.transcripts USING (session_id) WHERE sessions.workspace_id = $1',
    'reads transcripts',
  ],
  ['SELECT FROM recount.sessions WHERE workspace_id = $1 OR session_id = $2', 'reads sessions without'],
  ['UPDATE recount.sessions SET title = $1', 'reads sessions without'],
  ['DECLARE next_rows NO SCROLL CURSOR FOR SELECT FROM recount.sessions WHERE title = $1', 'reads sessions without'],
  ['DECLARE next_rows CURSOR WITH HOLD FOR WITH s AS (SELECT FROM recount.sessions) SELECT FROM s', 'reads sessions'],
  ['DELETE FROM recount.sessions WHERE workspace_id <> $1', 'reads sessions without'],
  [
    `INSERT INTO recount.search_waiting (workspace_id, session_id, row_set_id) VALUES ($1, $2, $3)
     ON CONFLICT (workspace_id, row_set_id) DO UPDATE SET waiting_since = now()`,
    'asks the clock in DO UPDATE',
  ],
  [
    `WITH removed AS (DELETE FROM recount.usage_rollup WHERE workspace_id = $1 RETURNING session_id)
     SELECT FROM recount.usage_rollup WHERE workspace_id = $1`,
    'changes usage_rollup in one part',
  ],
  [
    `WITH removed AS (DELETE FROM recount.usage_rollup WHERE workspace_id = $1 RETURNING session_id)
     UPDATE recount.usage_rollup SET session_id = $2 WHERE workspace_id = $1`,
    'changes usage_rollup in one part',
  ],
  [
    `WITH removed AS (DELETE FROM recount.usage_rollup WHERE workspace_id = $1 RETURNING session_id)
     DELETE FROM recount.message_rollup WHERE workspace_id = $1 AND session_id IN (SELECT session_id FROM removed)`,
    'needs what another part',
  ],
  [
    `INSERT INTO recount.message_rollup (workspace_id, session_id) SELECT workspace_id, session_id FROM recount.sessions
     WHERE workspace_id = $1 RETURNING session_id`,
    'returns columns of an INSERT with a query',
  ],
  [
    `WITH a AS (DELETE FROM recount.usage_rollup WHERE workspace_id = $1),
       b AS (DELETE FROM recount.message_rollup WHERE workspace_id = $2 AND false) SELECT`,
    'changes no row of message_rollup in a part of a WITH',
  ],
  [
    `WITH one (title) AS (SELECT session_id FROM recount.sessions WHERE workspace_id = $1 UNION ALL SELECT 'a')
     SELECT title FROM one`,
    'names the columns of a part of a WITH',
  ],
  [
    'UPDATE recount.sessions SET updated_at = clock_timestamp() WHERE workspace_id = $1',
    'asks the clock or chance in an UPDATE',
  ],
  [
    'SELECT session_id FROM recount.sessions WHERE workspace_id = $1 AND pg_try_advisory_xact_lock(1)',
    'takes an advisory lock where it reads a table',
  ],
  [
    `UPDATE recount.sign_ins SET last_used_at = now()
     WHERE workspace_id = $1 AND coalesce(checked_at < now() - $2 * interval '1 second', true)`,
    'asks the clock in CASE or coalesce',
  ],
  [
    `DELETE FROM recount.sign_ins WHERE workspace_id = $1 AND last_used_at + $2 * interval '1 second' < now()`,
    'adds an interval to a column',
  ],
  ['SELECT nothing FROM recount.sessions', 'cannot be planned'],
])('reports %s', async (text, fault) => {
  if (canPlan) expect(await find(text)).toContainEqual(expect.stringContaining(fault));
});

it('accepts statements of one workspace', async () => {
  if (!canPlan) return;
  for (const text of [
    'SELECT FROM recount.sessions AS s JOIN recount.transcripts AS t USING (workspace_id, session_id) WHERE s.workspace_id = $1',
    'SELECT FROM recount.sessions WHERE workspace_id = (SELECT $1::text) FOR UPDATE',
    `WITH removed AS (DELETE FROM recount.usage_rollup WHERE workspace_id = $1)
     DELETE FROM recount.message_rollup WHERE workspace_id = $1`,
    `INSERT INTO recount.message_rollup AS r (workspace_id, session_id) SELECT workspace_id, session_id
     FROM recount.sessions WHERE workspace_id = $1 RETURNING r.session_id`,
    `UPDATE recount.sign_ins SET last_used_at = now()
     WHERE workspace_id = $1 AND (checked_at IS NULL OR last_used_at < now() - $2 * interval '1 second')`,
    `WITH one (title) AS MATERIALIZED (SELECT session_id FROM recount.sessions WHERE workspace_id = $1)
     SELECT title FROM one`,
  ]) {
    expect(await find(text)).toEqual([]);
  }
});

it('lets tables of the coordinator use the clock, and be read and changed in one WITH', async () => {
  if (!canPlan) return;
  const take = `WITH free AS (SELECT transcript_id FROM recount.ingest_jobs LIMIT 1 FOR UPDATE SKIP LOCKED)
    UPDATE recount.ingest_jobs SET taken_at = now() WHERE transcript_id IN (SELECT transcript_id FROM free)`;
  expect(await find(take)).toEqual([]);
  const text = `INSERT INTO recount.maintenance_checks (workspace_id, kind, run_id, state, is_fix, actor) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (workspace_id, kind) DO UPDATE SET seen_at = now()`;
  expect(await find(text)).toEqual([]);
});

it('lets statements that are marked so query all nodes, but lets none lock rows there', async () => {
  if (!canPlan) return;
  expect(await find('SELECT FROM recount.sessions', true)).toEqual([]);
  expect(await find('SELECT FROM recount.sessions FOR UPDATE', true)).toEqual([
    'reads sessions without comparing workspace_id with a parameter, and locks rows',
  ]);
});
