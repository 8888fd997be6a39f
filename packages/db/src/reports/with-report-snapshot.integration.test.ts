import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from '../drizzle.cjs';
import { createTestPool } from '../testing/create-test-pool.ts';
import { ReportTimeoutError, withReportSnapshot } from './with-report-snapshot.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

it('aborts a report that takes too long', async () => {
  const sleeping = withReportSnapshot(pool, (snapshot) => snapshot.execute(sql`SELECT pg_sleep(10)`), 20);
  await expect(sleeping).rejects.toThrow(ReportTimeoutError);
});

it('passes on other errors, and leaves no setting behind', async () => {
  const failure = new Error('Something else');
  await expect(withReportSnapshot(pool, () => Promise.reject(failure))).rejects.toBe(failure);
  const { rows } = await withReportSnapshot(pool, (snapshot) => snapshot.execute(sql`SELECT 1 AS one`), 600_000);
  expect(rows).toEqual([{ one: 1 }]);
  expect((await pool.pool.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '0' }]);
});
