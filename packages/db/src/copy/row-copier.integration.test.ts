import { TOOL_KINDS } from '@recount/core';
import { isOnCitus, withFewStatements } from '@recount/local-postgres/testing';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { DatabasePool } from '../database/database.ts';
import { drizzle, getTableConfig, type PgTable } from '../drizzle.cjs';
import { findings } from '../schema/findings.ts';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import { toolDayRollup, usageRollup } from '../schema/rollups.ts';
import { COST_UNIT_COLUMNS, SUMMED_TOKENS } from '../schema/usage-columns.ts';
import { createTestPool } from '../testing/create-test-pool.ts';
import { createBinaryRowEncoder } from './binary-row-encoder.ts';
import { createChunkPool } from './chunk-pool.ts';
import { runCopies } from './copy-query.ts';
import { createRowCopier } from './row-copier.ts';

let pool: DatabasePool & { connectionString: string };
let client: pg.Client;
beforeAll(async () => {
  pool = await createTestPool();
  client = new pg.Client({ connectionString: pool.connectionString });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await pool.close();
});

const KEY = { workspace_id: 'w', row_set_id: 't' };
const RARE_TEXTS = [
  '',
  '\\N',
  '\\.',
  '"',
  "'",
  '\\',
  '\t\r\n',
  '{}',
  '{"a":1}',
  'null',
  '12',
  '\u{1f600}\u0301',
  '\ufffd',
  '\x01',
];

const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }).map((value) => value.replaceAll('\0', '')) },
  { weight: 3, arbitrary: fc.constantFrom(...RARE_TEXTS) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('x', 'é', '語', '😀', '"\\'), fc.integer({ min: 0, max: 200_000 }))
      .map(([unit, count]) => unit.repeat(count)),
  },
);
const shortText = text.map((value) => value.slice(0, 20).toWellFormed());
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.oneof(fc.constant(null), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }), text),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(shortText, tie('json'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const jsonObject = fc.dictionary(shortText, json, { maxKeys: 5, noNullPrototype: true });
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const int64 = fc.maxSafeInteger();
const cost = fc.integer({ min: -1e15, max: 1e15 }).map((units) => units / 1e10);
const timestamp = fc
  .integer({ min: Date.parse('0001-01-01T00:00:00.000Z'), max: Date.parse('9999-12-31T23:59:59.999Z') })
  .map((timeMs) => new Date(timeMs).toISOString());
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 4 });

const messageRow = fc.record({
  session_id: text,
  line_number: int32,
  ordinal: int32,
  message_type: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const, 'summary' as const),
  role: orNull(text),
  model: orNull(text),
  tokens_in: orNull(int64),
  tokens_out: orNull(int64),
  cache_read: orNull(int64),
  cache_write: orNull(int64),
  cost_usd: orNull(cost),
  timestamp: orNull(timestamp),
  has_text: fc.boolean(),
  has_thinking: fc.boolean(),
  has_tool_use: fc.boolean(),
  has_tool_result: fc.boolean(),
  metadata: jsonObject as fc.Arbitrary<Record<string, never>>,
  provider_message_id: orNull(text),
  request_id: orNull(text),
  uuid: orNull(text),
  parent_uuid: orNull(text),
  is_sidechain: fc.boolean(),
  agent_id: orNull(text),
  stop_reason: orNull(text),
  byte_offset: int64,
  byte_length: int32,
});
const blockRow = fc.record({
  id: text,
  session_id: text,
  block_type: text,
  content_text: orNull(text),
  thinking_text: orNull(text),
  tool_name: orNull(text),
  tool_kind: orNull(fc.constantFrom(...TOOL_KINDS)),
  tool_use_id: orNull(text),
  tool_input: json as fc.Arbitrary<string>,
  tool_result_id: orNull(text),
  is_error: orNull(fc.boolean()),
  result_text: orNull(text),
  metadata: jsonObject as fc.Arbitrary<Record<string, never>>,
  line_number: int32,
  byte_offset: int64,
  byte_length: int32,
});
const issueRow = fc.record({
  code: text,
  severity: fc.constantFrom('error' as const, 'warning' as const),
  message: text,
  line_number: int32,
  byte_offset: int64,
  occurrence_count: int32,
});
const findingRow = fc.record({
  session_id: shortText,
  kind: fc.constantFrom('repeated-call' as const, 'cold-cache' as const),
  is_subagent: fc.boolean(),
  times: int32,
  output_bytes: int64,
  tokens: int64,
  response_keys: orNull(fc.array(orNull(text), { maxLength: 4 }) as fc.Arbitrary<string[]>),
  cost_usd: orNull(cost),
});
const toolRow = fc.record({
  session_id: shortText,
  is_subagent: fc.boolean(),
  tool_name: shortText,
  tool_kind: fc.constantFrom(...TOOL_KINDS),
  durations: fc.uint8Array({ maxLength: 30 }),
});
const unitsRow = fc.record({
  session_id: shortText,
  bucket_start: orNull(timestamp),
  cost_units: fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
});
const NO_CALLS = { calls: 1, results: 0, errors: 0, denied: 0, timed_calls: 0 };
const NO_RESPONSES = {
  ...{ kind_of_work: 'unknown' as const, is_subagent: false, is_shared: false, responses: 0, web_search_requests: 0 },
  ...{ unfinalised_responses: 0, unpriced_responses: 0, default_priced_responses: 0 },
};
const NO_TOKENS = Object.fromEntries(
  [...SUMMED_TOKENS, 'unfinalised_tokens_out', 'estimated_tokens_out', 'unpriced_tokens'].map((name) => [name, 0]),
);
const NO_COSTS = Object.fromEntries(COST_UNIT_COLUMNS.map((name) => [name, '0']));
const NO_BYTES = { input_bytes: 0, output_bytes: 0, duration_ms: 0 };
const toIssues = (count: number, message = 'x'.repeat(100)) =>
  Array.from({ length: count }, (_, issue_number) => ({
    ...KEY,
    issue_number,
    code: 'c',
    severity: 'error' as const,
    message,
    line_number: 1,
    byte_offset: 1,
    occurrence_count: 1,
  }));

/** The table's contents after `write`, as Postgres prints them; everything is rolled back. */
async function readAfter(table: PgTable, write: () => Promise<unknown>): Promise<string[]> {
  const { schema, name } = getTableConfig(table);
  await client.query('BEGIN');
  try {
    await write();
    const { rows } = await client.query(`SELECT t::text AS row FROM ${schema}.${name} AS t ORDER BY 1`);
    return rows.map(({ row }) => row);
  } finally {
    await client.query('ROLLBACK');
  }
}

async function expectSameRows<Table extends PgTable>(table: Table, rows: Table['$inferInsert'][]): Promise<void> {
  const copied = await readAfter(table, () => copyRows(client as unknown as pg.PoolClient, table, rows));
  const inserted = await readAfter(table, () => drizzle(client).insert(table).values(rows));
  expect(inserted).toHaveLength(rows.length);
  expect(copied).toEqual(inserted);
}

async function copyRows<Table extends PgTable>(
  connection: pg.PoolClient,
  table: Table,
  rows: Iterable<Table['$inferInsert']>,
): Promise<void> {
  const copier = createRowCopier(connection);
  const addRow = copier.openTable(table);
  for (const row of rows) {
    addRow(row);
    await copier.sendFull();
  }
  await copier.sendAll();
}

const manyOf = <T>(row: fc.Arbitrary<T>) => fc.array(row, { minLength: 1, maxLength: 8 });

describe('createRowCopier', () => {
  it('stores the same messages as insert().values()', async () => {
    await fc.assert(
      fc.asyncProperty(manyOf(messageRow), (rows) =>
        expectSameRows(
          transcriptMessages,
          rows.map((row, index) => ({ ...KEY, id: `${index}`, ...row })),
        ),
      ),
      withFewStatements(),
    );
  });

  it('stores the same content blocks', async () => {
    await fc.assert(
      fc.asyncProperty(manyOf(blockRow), (rows) =>
        expectSameRows(
          contentBlocks,
          rows.map((row, index) => ({ ...KEY, message_id: 'm', block_order: index - 3, ...row })),
        ),
      ),
      withFewStatements(),
    );
  });

  it('stores the same issues', async () => {
    await fc.assert(
      fc.asyncProperty(manyOf(issueRow), (rows) =>
        expectSameRows(
          ingestIssues,
          rows.map((row, index) => ({ ...KEY, issue_number: index - 3, ...row })),
        ),
      ),
      withFewStatements(),
    );
  });

  it('stores the same findings, whose lists of texts may have nulls', async () => {
    await fc.assert(
      fc.asyncProperty(manyOf(findingRow), (rows) =>
        expectSameRows(
          findings,
          rows.map((row) => ({ ...KEY, ...row })),
        ),
      ),
      withFewStatements(),
    );
  });

  it('stores the same bytes, and the same integers of any size', async () => {
    await fc.assert(
      fc.asyncProperty(manyOf(toolRow), manyOf(unitsRow), async (tools, units) => {
        await expectSameRows(
          toolDayRollup,
          tools.map((row) => ({ workspace_id: 'w', ...NO_CALLS, ...NO_BYTES, ...row })),
        );
        await expectSameRows(
          usageRollup,
          units.map((row) => ({ workspace_id: 'w', ...NO_RESPONSES, ...NO_TOKENS, ...NO_COSTS, ...row })),
        );
      }),
      withFewStatements(),
    );
  });

  it('writes all rows, over many chunks', async () => {
    const rows = toIssues(20_000);
    const stored = await readAfter(ingestIssues, () =>
      copyRows(client as unknown as pg.PoolClient, ingestIssues, rows),
    );
    expect(stored).toHaveLength(rows.length);
  });

  it('keeps rows apart, in whatever order their tables alternate', async () => {
    const blockOf = (index: number) => ({
      ...KEY,
      message_id: `${index}`,
      block_order: index,
      id: `${index}`,
      session_id: 's',
      block_type: 'text',
      // Some longer than a chunk, most much shorter.
      content_text: `${index} `.repeat(index % 1000 === 7 ? 60_000 : index % 97),
      metadata: { index },
      line_number: index,
      byte_offset: index,
      byte_length: index,
    });
    const issues = toIssues(12_000).map((row) => ({ ...row, message: `${row.issue_number} `.repeat(100) }));
    await client.query('BEGIN');
    const copier = createRowCopier(client as unknown as pg.PoolClient);
    const [addIssue, addBlock] = [copier.openTable(ingestIssues), copier.openTable(contentBlocks)];
    for (const [index, issue] of issues.entries()) {
      addIssue(issue);
      addBlock(blockOf(index));
      await copier.sendFull();
    }
    await copier.sendAll();
    const { rows } = await client.query(`
      SELECT (SELECT count(*)::int FROM recount.ingest_issues
              WHERE message = repeat(issue_number || ' ', 100)) AS issues,
             (SELECT count(*)::int FROM recount.content_blocks
              WHERE message_id = line_number::text AND (metadata ->> 'index')::int = line_number AND content_text =
                repeat(line_number || ' ', CASE line_number % 1000 WHEN 7 THEN 60000 ELSE line_number % 97 END)) AS blocks`);
    await client.query('ROLLBACK');
    expect(rows).toEqual([{ issues: issues.length, blocks: issues.length }]);
  });

  it('writes nothing if there are no rows', async () => {
    expect(await readAfter(ingestIssues, () => copyRows(client as unknown as pg.PoolClient, ingestIssues, []))).toEqual(
      [],
    );
  });
});

/** Citus passes on a node's message, but not its code and constraint. */
const DUPLICATE_KEY = isOnCitus()
  ? { message: expect.stringMatching(/duplicate key .*"ingest_issues_pk/) }
  : { code: '23505', constraint: expect.stringMatching(/^ingest_issues_pk/) };

describe('runCopies', () => {
  const toCopy = (rows: (typeof ingestIssues.$inferInsert)[]) => {
    const encoder = createBinaryRowEncoder(ingestIssues, createChunkPool());
    for (const row of rows) encoder.encode(row);
    const statement = `COPY recount.ingest_issues (${encoder.columnList}) FROM STDIN (FORMAT binary)`;
    return { statement, chunks: encoder.take() };
  };
  const numbered = (from: number, count: number) =>
    toIssues(count).map((row) => ({ ...row, issue_number: row.issue_number + from }));

  it('leaves the connection usable once one of several fails', async () => {
    const connection = client as unknown as pg.PoolClient;
    await client.query('BEGIN; SAVEPOINT before');
    const [first, duplicate, last] = [toCopy(numbered(0, 2)), toCopy(numbered(1, 20_000)), toCopy(numbered(90_000, 2))];
    await expect(runCopies(connection, [first, duplicate, last])).rejects.toMatchObject(DUPLICATE_KEY);
    await client.query('ROLLBACK TO before');
    await runCopies(connection, [toCopy(numbered(0, 2)), toCopy(numbered(2, 3))]);
    const { rows } = await client.query('SELECT count(*)::int AS count FROM recount.ingest_issues');
    await client.query('ROLLBACK');
    expect(rows).toEqual([{ count: 5 }]);
  });

  it('ends when its transaction is aborted, though it waits for a lock', async () => {
    await client.query('BEGIN; LOCK TABLE recount.ingest_issues');
    const controller = new AbortController();
    const isWaiting = async (): Promise<void> => {
      const { rows } = await pool.pool.query(
        `SELECT FROM pg_locks WHERE NOT granted AND relation = 'recount.ingest_issues'::regclass`,
      );
      expect(rows).toHaveLength(1);
    };
    const copying = pool.withTransaction(
      async (_transaction, connection) => {
        const copies = [toCopy(numbered(0, 20_000)), toCopy(numbered(20_000, 1))];
        void vi.waitFor(isWaiting).then(() => controller.abort());
        await runCopies(connection, copies);
      },
      { signal: controller.signal },
    );
    await expect(copying).rejects.toThrow();
    await client.query('ROLLBACK');
    const { rows } = await client.query('SELECT FROM recount.ingest_issues');
    expect(rows).toEqual([]);
  });
});

describe('createRowCopier in a transaction that fails', () => {
  const attempt = <Table extends PgTable>(table: Table, rows: Iterable<Table['$inferInsert']>) =>
    pool.withTransaction((_transaction, connection) => copyRows(connection, table, rows));

  afterEach(async () => {
    // The pool still works, with all of its connections, and no rows were left.
    const count = () => pool.pool.query('SELECT FROM recount.ingest_issues');
    const results = await Promise.all(Array.from({ length: 10 }, count));
    expect(results.map(({ rowCount }) => rowCount)).toEqual(Array.from({ length: 10 }, () => 0));
    expect(pool.pool.idleCount).toBe(pool.pool.totalCount);
  });

  it('throws Postgres’ error of a duplicate key in the first chunk', async () => {
    const rows = [...toIssues(2), ...toIssues(1)];
    await expect(attempt(ingestIssues, rows)).rejects.toMatchObject(DUPLICATE_KEY);
  });

  it('throws Postgres’ error of a duplicate key in a later chunk', async () => {
    const rows = [...toIssues(20_000), ...toIssues(1)];
    await expect(attempt(ingestIssues, rows)).rejects.toMatchObject(DUPLICATE_KEY);
  });

  it('throws Postgres’ error for a text that it refuses', async () => {
    await expect(attempt(ingestIssues, toIssues(1, 'a\0b'))).rejects.toMatchObject({ code: '22021' });
  });

  it('throws for a number that the column cannot hold', async () => {
    const rows = [...toIssues(20_000), ...toIssues(1).map((row) => ({ ...row, line_number: 2 ** 31 }))];
    await expect(attempt(ingestIssues, rows)).rejects.toThrow(RangeError);
  });

  it('throws for an invalid timestamp', async () => {
    const row = { ...fc.sample(messageRow, 1)[0], ...KEY, id: '0', timestamp: 'yesterday' };
    await expect(attempt(transcriptMessages, [row as typeof transcriptMessages.$inferInsert])).rejects.toThrow(
      RangeError,
    );
  });

  it('throws the error of the row source', async () => {
    function* breakOff() {
      yield* toIssues(20_000);
      throw new Error('the source broke');
    }
    await expect(attempt(ingestIssues, breakOff())).rejects.toThrow('the source broke');
  });

  it('throws the error of a connection that Postgres ends', async () => {
    const writing = pool.withTransaction(async (_transaction, connection) => {
      const { rows } = await connection.query('SELECT pg_backend_pid() AS pid');
      function* endConnection() {
        const issues = toIssues(200_000);
        yield* issues.slice(0, 20_000);
        void pool.pool.query('SELECT pg_terminate_backend($1::int)', [rows[0].pid]);
        yield* issues.slice(20_000);
      }
      await copyRows(connection, ingestIssues, endConnection());
    });
    await expect(writing).rejects.toMatchObject({ code: expect.stringMatching(/^(57P01|ECONNRESET|EPIPE)$/) });
  });
});
