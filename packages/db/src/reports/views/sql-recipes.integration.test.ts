import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isOnCitus } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestPool, TEST_WORKSPACE } from '../../testing/create-test-pool.ts';
import { ingestTranscript } from '../../testing/ingest-transcript.ts';
import { insertTestTranscript } from '../../testing/insert-test-transcript.ts';
import { readSamples } from '../../testing/read-samples.ts';

const PAGE = readFileSync(new URL('../../../../../docs/sql.md', import.meta.url), 'utf8');
const CONNECTING = 'Connecting';

/** The page's SQL by the heading above it. */
const sqlByHeading = new Map(
  PAGE.split(/^#+ /m).flatMap((section) => {
    const [heading = ''] = section.split('\n', 1);
    return [...section.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, sql = '']) => [heading, sql] as const);
  }),
);
const recipes = [...sqlByHeading].filter(([heading]) => heading !== CONNECTING);

/** The expected first rows, if known; any other recipe must return at least one row. */
const knownRows: Record<string, Record<string, unknown>[]> = {
  'Cost by repository and week': [
    { repository: 'billing-service', responses: '7', cost_usd: '0.11' },
    { repository: 'billing-service', responses: '16', cost_usd: '0.22' },
    { repository: 'harbor-docs', responses: '17', cost_usd: '0.22' },
  ],
  'Cost of a session with its sub-agents': [
    { own_cost_usd: '0.1699219500', subagents: '1', subagent_cost_usd: '0.0511899000', cost_usd: '0.2211118500' },
    { own_cost_usd: '0.1511293500', subagents: '0', subagent_cost_usd: '0', cost_usd: '0.1511293500' },
  ],
  "Sub-agents' share of the cost": [
    { by_subagent: false, responses: '37', tokens_out: '7201', cost_usd: '0.4912' },
    { by_subagent: true, responses: '3', tokens_out: '511', cost_usd: '0.0512', percent_of_cost: '9.4' },
  ],
  'Cache hit ratio by project': [
    { project: '/home/maya/code/billing-service', input_tokens: '497800', percent_from_cache: '93.8' },
  ],
  'Tool error rates': [
    { tool_name: 'Bash', calls: '15', errors: '1', percent_of_answered: '6.7', unanswered: '0' },
    { tool_name: 'Read', calls: '11', errors: '0', percent_of_answered: '0.0', unanswered: '0' },
  ],
  'Slowest tools': [{ tool_name: 'Bash', calls: '15', max_ms: '144500' }],
  'Pull requests, and what their sessions cost': [{ sessions: '1', cost_usd: '0.1699219500' }],
  'What sessions have in common with others': [{ session_id: 'fork', tokens_out_credited_elsewhere: '152' }],
  'Sessions with errors in ingestion': [{ code: 'replaced_characters', faults: '1', occurrences: '4' }],
  'Uploads that are not ingested': [{ transcript_id: 'waiting', status: 'queued', failure_reason: null }],
  'The whole text of a truncated block': [
    { transcript_id: 'long', block_type: 'text', original_bytes: '300000', line: '/v1/transcripts/long/lines/15' },
  ],
};

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  const ingest = (transcriptId: string, path: string, bytes: Uint8Array) =>
    ingestTranscript(pool, { workspaceId: TEST_WORKSPACE, transcriptId }, { path, bytes });
  const samples = await readSamples();
  for (const [index, { path, bytes }] of samples.entries()) await ingest(`sample-${index}`, path, bytes);
  const [answer = ''] = samples.flatMap(
    ({ bytes }) => bytes.toString().match(/^.*"stop_reason":"end_turn".*\n/m) ?? [],
  );
  await ingest('fork', 'fork.jsonl', Buffer.from(answer.replace(/"sessionId":"[^"]+"/, '"sessionId":"fork"')));
  const long = { type: 'user', message: { role: 'user', content: 'x'.repeat(300_000) } };
  await ingest('long', 'long.jsonl', Buffer.from(`{"type":"tag"}\n${JSON.stringify(long)}\n`));
  await insertTestTranscript(pool, { id: 'waiting', status: 'queued', ingested_at: null });
});
afterAll(() => pool.close());

it('tests only recipes that are on the page', () => {
  expect(recipes.length).toBeGreaterThanOrEqual(15);
  expect(recipes.map(([heading]) => heading)).toEqual(expect.arrayContaining(Object.keys(knownRows)));
});

describe('the recipe', () => {
  it.each(recipes)('%s', async (heading, sql) => {
    const { rows } = await pool.withTransaction(async (_, client) => {
      await client.query('SET LOCAL search_path = analytics');
      return await client.query(sql);
    });
    const expected = knownRows[heading];
    if (expected === undefined) expect(rows.length).toBeGreaterThan(0);
    else expect(rows.slice(0, expected.length)).toMatchObject(expected);
  });
});

it.skipIf(isOnCitus())('creates a role that reads the views and nothing else', async () => {
  const role = `recount_reader_${randomBytes(8).toString('hex')}`;
  const client = await pool.pool.connect();
  try {
    // Roles belong to the whole server; this one disappears with the rollback.
    await client.query('BEGIN');
    await client.query((sqlByHeading.get(CONNECTING) ?? '').replaceAll('recount_reader', role));
    await client.query('CREATE VIEW analytics.later AS SELECT 1 AS one');
    await client.query(`SET LOCAL ROLE ${role}; SET LOCAL search_path = analytics`);
    for (const [, sql] of recipes) await client.query(sql);
    await client.query('SELECT one FROM analytics.later');
    for (const forbidden of [
      'SELECT key_hash FROM recount.api_keys',
      'SELECT FROM recount.transcript_messages',
      'SELECT FROM recount.ingest_jobs',
      'CREATE VIEW analytics.mine AS SELECT 1',
      'DELETE FROM analytics.sessions',
    ]) {
      await client.query('SAVEPOINT before');
      await expect(client.query(forbidden), forbidden).rejects.toMatchObject({ code: '42501' });
      await client.query('ROLLBACK TO before');
    }
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
});
