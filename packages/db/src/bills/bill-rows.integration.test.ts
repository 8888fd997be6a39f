import { type BillRow, readBill } from '@recount/core';
import { createTestDatabase, waitForLocks } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabasePool, type DatabasePool } from '../database/database.ts';
import { ensureWorkspace } from '../workspaces/workspaces.ts';
import { listBills, RegroupedBillError, storeBill } from './bill-rows.ts';

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

it('counts tokens once that two imports have by other groups, as the later one has them', async () => {
  const readTokens = async (): Promise<(number | null)[]> => {
    const { rows } = await pool.pool.query<{ tokens: string }>(
      "SELECT tokens_in AS tokens FROM recount.bill_rows WHERE vendor = 'anthropic' ORDER BY tokens_in",
    );
    return rows.map(({ tokens }) => Number(tokens));
  };
  const toPage = (...windows: [number, string | null][]) =>
    JSON.stringify({
      data: [
        {
          starting_at: '2026-11-01T00:00:00Z',
          results: windows.map(([uncached_input_tokens, context_window]) => ({
            ...{ uncached_input_tokens, output_tokens: 1, context_window, model: 'claude-opus-5-5' },
            ...{ workspace_id: 'wrkspc_1', service_tier: 'standard' },
          })),
        },
      ],
    });
  const store = (rows: readonly BillRow[]) =>
    pool.withTransaction((transaction) => storeBill(transaction, { ...BILL, vendor: 'anthropic' }, rows));
  const whole = readBill('anthropic', toPage([100, null]));
  const windows = readBill('anthropic', toPage([50, '0-200k'], [60, '200k-1M']));
  await store(whole);
  await store(windows);
  expect(await readTokens()).toEqual([110]);
  // As earlier versions stored them.
  const [row] = windows;
  if (row === undefined) throw new Error('There is no line');
  await pool.pool.query("DELETE FROM recount.bill_rows WHERE vendor = 'anthropic'");
  await store(['0-200k', '200k-1M'].map((identity) => ({ ...row, identity, inputTokens: 55 })));
  expect(await readTokens()).toEqual([55, 55]);
  await store(whole);
  expect(await readTokens()).toEqual([100]);
});
