import type { BillRow } from '@recount/core';
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
