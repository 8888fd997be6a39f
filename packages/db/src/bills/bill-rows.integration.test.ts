import { type BillRow, readBill } from '@recount/core';
import { createTestDatabase, waitForLocks } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabasePool, type DatabasePool } from '../database/database.ts';
import { ensureWorkspace } from '../workspaces/workspaces.ts';
import { deleteBill, listBills, RegroupedBillError, storeBill } from './bill-rows.ts';

const WORKSPACE = '01J00000000000000000000001';
const BILL = { workspaceId: WORKSPACE, vendor: 'openai', actor: 'system' } as const;

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let pool: DatabasePool;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  pool = createDatabasePool(testDatabase);
  await ensureWorkspace(pool.database, WORKSPACE, 'home');
});
afterAll(async () => {
  await pool.close();
  await testDatabase.drop();
});

const toLine = (lineItem: string | null): BillRow => ({
  ...{ day: '2026-11-01', kind: 'cost', model: null, lineItem, scope: null, serviceTier: null, amountUsd: 5 },
  ...{ inputTokens: null, outputTokens: null, cacheReadTokens: null, cacheWriteTokens: null },
  identity: JSON.stringify([lineItem]),
});

it('refuses one of two imports at a time that have the same amounts, grouped otherwise', async () => {
  let second: Promise<unknown> | undefined;
  await pool.withTransaction(async (transaction) => {
    await storeBill(transaction, BILL, [toLine(null)]);
    second = pool
      .withTransaction((other) => storeBill(other, BILL, [toLine('tokens')]))
      .catch((error: unknown) => error);
    await Promise.race([second, waitForLocks({ database: pool }, 1)]);
  });
  expect(await second).toBeInstanceOf(RegroupedBillError);
  expect(await listBills(pool.database, WORKSPACE)).toMatchObject([{ amount_usd: 5, lines: 1 }]);
});

const ANTHROPIC = { ...BILL, vendor: 'anthropic' } as const;
const store = (rows: readonly BillRow[]) =>
  pool.withTransaction((transaction) => storeBill(transaction, ANTHROPIC, rows));
const deleteAll = () => pool.withTransaction((transaction) => deleteBill(transaction, ANTHROPIC, {}));

async function readTokens(): Promise<number[]> {
  const { rows } = await pool.pool.query<{ tokens: string }>(
    "SELECT tokens_in AS tokens FROM recount.bill_rows WHERE vendor = 'anthropic' ORDER BY tokens_in",
  );
  return rows.map(({ tokens }) => Number(tokens));
}

type Tokens = [number, { workspace_id?: string; api_key_id?: string; context_window?: string; inference_geo?: string }];
const readTokensOf = (...lines: Tokens[]): BillRow[] => {
  const results = lines.map(([uncached_input_tokens, groups]) => ({
    ...{ uncached_input_tokens, output_tokens: 1, model: 'claude-opus-5-5', service_tier: 'standard', ...groups },
  }));
  return readBill('anthropic', JSON.stringify({ data: [{ starting_at: '2026-11-01T00:00:00Z', results }] }));
};
/** As earlier versions stored them. */
const toEarlierRows = (scope: string | undefined, ...lines: Tokens[]): BillRow[] =>
  lines.flatMap((line) =>
    readTokensOf(line).map((row) => {
      const [, { workspace_id: workspace = null, api_key_id: key = null, context_window, inference_geo }] = line;
      const groups = [workspace, key, row.model, row.serviceTier, context_window ?? null, inference_geo ?? null];
      const identity = JSON.stringify(['usage', row.day, ...groups]);
      return { ...row, scope: scope === undefined ? row.scope : scope, identity };
    }),
  );
const [small, large] = [{ context_window: '0-200k' }, { context_window: '200k-1M' }];
const [one, two] = [{ workspace_id: 'wrkspc_1' }, { workspace_id: 'wrkspc_2' }];

it('counts tokens once that two imports have by other groups, as the later one has them', async () => {
  await deleteAll();
  await store(readTokensOf([100, one]));
  await store(readTokensOf([50, { ...one, ...small }], [60, { ...one, ...large }]));
  expect(await readTokens()).toEqual([110]);
});

it.each([
  ['of one workspace', undefined],
  ['before lines had a scope', ''],
])('replaces tokens by context window and region that an earlier version stored: %s', async (_name, scope) => {
  await deleteAll();
  await store(toEarlierRows(scope, [55, { ...one, ...small }], [56, { ...one, ...large, inference_geo: 'us' }]));
  expect(await readTokens()).toEqual([55, 56]);
  await store(readTokensOf([100, one], [7, two]));
  expect(await readTokens()).toEqual([7, 100]);
});

it('replaces tokens by context window of the default workspace, which earlier versions stored without a scope', async () => {
  await deleteAll();
  await store(toEarlierRows(undefined, [50, small], [60, large], [70, { ...one, ...small }]));
  await store(readTokensOf([110, {}], [70, one]));
  expect(await readTokens()).toEqual([70, 110]);
});

it.each<[string, BillRow[], BillRow[]]>([
  [
    'an unknown context window',
    toEarlierRows(undefined, [50, { ...one, context_window: '1M-2M' }]),
    readTokensOf([50, one]),
  ],
  [
    'an unknown scope, now by key',
    toEarlierRows('', [50, { ...one, ...small }]),
    readTokensOf([50, { ...one, api_key_id: 'apikey_1' }]),
  ],
  [
    'an unknown scope, which can be another workspace',
    toEarlierRows('', [50, { ...one, ...small }], [60, { ...two, ...small }]),
    readTokensOf([50, one]),
  ],
])('refuses tokens beside tokens of an earlier version that can be the same ones: %s', async (_name, earlier, rows) => {
  await deleteAll();
  await store(earlier);
  await expect(store(rows)).rejects.toBeInstanceOf(RegroupedBillError);
  expect(await readTokens()).toEqual(earlier.map(({ inputTokens }) => inputTokens));
});
