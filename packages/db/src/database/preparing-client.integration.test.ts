import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from '../drizzle.cjs';
import { createTestPool } from '../testing/create-test-pool.ts';
import { createDatabasePool, type DatabasePool } from './database.ts';

let created: Awaited<ReturnType<typeof createTestPool>>;
let pool: DatabasePool;
beforeAll(async () => {
  created = await createTestPool();
  const { connectionString } = created;
  pool = createDatabasePool({ connectionString, maxConnections: 1, preparesStatements: true });
});
afterAll(async () => {
  await pool.close();
  await created.close();
});

const readPrepared = async (): Promise<unknown[]> =>
  (await pool.pool.query('SELECT statement, generic_plans + custom_plans AS runs FROM pg_prepared_statements')).rows;

it('prepares what is repeated with parameters, in and out of transactions, and nothing else', async () => {
  const select = (value: number) => sql`SELECT ${value}::int AS value`;
  for (const value of [1, 2]) await pool.database.execute(select(value));
  await pool.withTransaction(async (transaction) => {
    expect((await transaction.execute(select(3))).rows).toEqual([{ value: 3 }]);
  });
  await pool.database.execute(sql`SELECT ${1}::text`);
  for (const _ of [1, 2]) await pool.database.execute(sql`SELECT 1`);
  expect((await pool.pool.query('SELECT $1::int AS value', [4])).rows).toEqual([{ value: 4 }]);
  expect(await readPrepared()).toEqual([{ statement: 'SELECT $1::int AS value', runs: '2' }]);
});

it('bounds the number of prepared statements', async () => {
  for (let index = 0; index < 400; index++) {
    for (const _ of [1, 2]) await pool.pool.query(`SELECT $1::int AS value_${index}`, [index]);
  }
  expect((await readPrepared()).length).toBeLessThanOrEqual(200);
});
