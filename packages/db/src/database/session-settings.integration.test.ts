import { createTestDatabase } from '@recount/local-postgres/testing';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabasePool } from './database.ts';

it('does not depend on the defaults of the database', async () => {
  const { connectionString, drop } = await createTestDatabase();
  const admin = createDatabasePool({ connectionString });
  onTestFinished(async () => {
    await admin.close();
    await drop();
  });
  const name = new URL(connectionString).pathname.slice(1);
  for (const setting of [
    `default_transaction_isolation = 'serializable'`,
    `DateStyle = 'SQL, DMY'`,
    `IntervalStyle = 'iso_8601'`,
    `TimeZone = 'Asia/Kolkata'`,
    `extra_float_digits = -10`,
    `bytea_output = 'escape'`,
  ]) {
    await admin.pool.query(`ALTER DATABASE ${name} SET ${setting}`);
  }
  const pool = createDatabasePool({ connectionString });
  onTestFinished(() => pool.close());

  const { rows } = await pool.withTransaction(
    async (_, client) =>
      await client.query(`
        SELECT current_setting('transaction_isolation') AS isolation, timestamptz '2026-07-14T01:02:03Z' AS at,
          interval '1 day 2 hours' AS age, 240312.4375::float8 AS sum, '\\x00ff'::bytea AS bytes,
          date_trunc('day', timestamptz '2026-07-14T23:00:00Z')::date::text AS day`),
  );
  expect(rows).toMatchObject([
    {
      isolation: 'read committed',
      at: new Date('2026-07-14T01:02:03Z'),
      age: { days: 1, hours: 2 },
      sum: 240312.4375,
      bytes: Buffer.from([0, 255]),
      day: '2026-07-14',
    },
  ]);
});
