import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { type RawVerification, verifyTranscripts } from './verify-transcripts.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
  const call = { type: 'tool_use', id: 'toolu_01AbCdEfGhIjKlMnOpQrStUv', name: 'Bash', input: { command: 'ls' } };
  const message = { id: 'msg_call', role: 'assistant', model: 'claude-sonnet-4-5', content: [call] };
  const usage = { input_tokens: 3, output_tokens: 20 };
  const line = toLine('one', 7, { type: 'assistant', message: { ...message, usage } });
  await installation.receive(`${toTranscript('one', 6)}${line}no JSON\n`, { person: 'Ada' });
  await installation.receive(toTranscript('two', 4));
  await installation.work();
  // Continues the rows of the shorter version.
  await installation.receive(toTranscript('two', 7));
  await installation.work();
  // Another version, which does not continue the first one.
  await installation.receive(toTranscript('two', 3) + toLine('two', 9));
  await installation.work();
});
afterAll(() => installation.close());

const verify = (): Promise<RawVerification> =>
  verifyTranscripts(installation, TEST_WORKSPACE, { maxLineBytes: 1024 * 1024 });
const toWrong = ({ checks }: RawVerification): string[] =>
  checks.flatMap(({ table, missing, surplus }) => (missing + surplus > 0 ? [table] : []));

it('finds nothing if nothing is wrong, also in rows that a longer version has continued', async () => {
  const result = await verify();
  expect(toWrong(result)).toEqual([]);
  expect(result).toMatchObject({
    ...{ transcripts: 3, differing: [], unreadable: [] },
    leftOut: { rawDeleted: 0, textsDeleted: 0, outdated: 0, otherPrices: 0, withoutRows: 1, waitingForSearch: 0 },
  });
  for (const { rows } of result.checks) expect(rows).toBeGreaterThan(0);
  expect(result.checks.map(({ table }) => table)).toEqual([
    ...['transcripts', 'transcript_messages', 'content_blocks', 'usage_entries', 'tool_calls', 'session_events'],
    ...['ingest_issues', 'search_segments', 'descriptions'],
  ]);
});

describe('finds', () => {
  it.each([
    ['transcript_messages', 'UPDATE recount.transcript_messages SET tokens_out = tokens_out + 1000000'],
    ['transcript_messages', 'UPDATE recount.transcript_messages SET cost_usd = 999'],
    ['content_blocks', "UPDATE recount.content_blocks SET content_text = 'FORGED' WHERE content_text LIKE 'answer%'"],
    ['content_blocks', 'DELETE FROM recount.content_blocks WHERE block_order = 0'],
    ['usage_entries', 'UPDATE recount.usage_entries SET tokens_out = tokens_out + 1'],
    ['tool_calls', "UPDATE recount.tool_calls SET tool_name = 'Read'"],
    ['session_events', "UPDATE recount.session_events SET name = 'forged'"],
    ['ingest_issues', 'DELETE FROM recount.ingest_issues'],
    ['transcripts', "UPDATE recount.transcripts SET title = 'FORGED' WHERE ingested_at IS NOT NULL"],
    ['transcripts', "UPDATE recount.transcripts SET models = '{forged}' WHERE ingested_at IS NOT NULL"],
    ['descriptions', "UPDATE recount.transcripts SET person = 'Mallory'"],
    ['descriptions', "UPDATE recount.transcripts SET uploader_key_id = 'mallory'"],
    ['search_segments', 'DELETE FROM recount.search_segments'],
    ['search_segments', 'UPDATE recount.search_segments SET keys = places'],
    ['search_segments', 'DELETE FROM recount.search_postings'],
    ['search_segments', "UPDATE recount.search_postings SET postings = '\\x00'"],
    [
      'search_segments',
      'UPDATE recount.search_postings SET postings = (SELECT postings FROM recount.search_postings ORDER BY 1 DESC LIMIT 1)',
    ],
    ['search_segments', 'DELETE FROM recount.search_segment_row_sets'],
    ['search_segments', 'UPDATE recount.search_segment_row_sets SET removed_at = now()'],
    ['search_segments', "UPDATE recount.search_segment_row_sets SET row_set_id = 'gone'"],
  ])('%s: %s', async (table, change) => {
    const { pool } = installation.database;
    const changed = /recount\.(\w+)/.exec(change)?.[1] ?? '';
    await pool.query(`CREATE TABLE recount.kept AS SELECT * FROM recount.${changed}`);
    try {
      await pool.query(change);
      expect(toWrong(await verify())).toContain(table);
    } finally {
      await pool.query(`TRUNCATE recount.${changed} CASCADE; INSERT INTO recount.${changed} SELECT * FROM recount.kept;
        DROP TABLE recount.kept`);
    }
    expect(toWrong(await verify())).toEqual([]);
  });

  it('a description whose session was changed', async () => {
    const { rows } = await installation.database.pool.query(
      `SELECT id, object_key FROM recount.transcripts WHERE session_id = 'one'`,
    );
    const [{ id, object_key: key }] = rows;
    const stored = await installation.rawStore.readDescription(key);
    await installation.rawStore.describe(key, { ...stored, session_id: 'another' });
    const result = await verify();
    expect(toWrong(result)).toEqual(['descriptions']);
    expect(result.differing).toEqual([id]);
    await installation.rawStore.describe(key, stored ?? {});
    expect(toWrong(await verify())).toEqual([]);
  });
});

describe('says that it left out', () => {
  beforeEach(() => installation.database.pool.query('CREATE TABLE recount.kept AS SELECT * FROM recount.transcripts'));

  it.each([
    ['outdated', "parser_version = '1'"],
    ['rawDeleted', 'raw_deleted_at = now()'],
    ['textsDeleted', 'rows_deleted_at = now()'],
    ['otherPrices', "price_version = 'old', cost_estimate_usd = 7"],
  ] as const)('%s', async (reason, change) => {
    const { pool } = installation.database;
    await pool.query(`UPDATE recount.transcripts SET ${change} WHERE session_id = 'one'`);
    const result = await verify();
    await pool.query(`TRUNCATE recount.transcripts CASCADE; INSERT INTO recount.transcripts SELECT * FROM recount.kept;
      DROP TABLE recount.kept`);
    expect(toWrong(result)).toEqual([]);
    expect(result.leftOut[reason]).toBe(1);
  });
});
