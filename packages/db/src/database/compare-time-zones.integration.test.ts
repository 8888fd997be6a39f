import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestPool } from '../testing/create-test-pool.ts';
import { findDifferingTimeZones } from './compare-time-zones.ts';

const NOW_MS = Date.UTC(2026, 10, 27);

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

it('names the zones whose local times PostgreSQL computes otherwise than Node', async () => {
  const found = await findDifferingTimeZones(pool.database, NOW_MS);
  for (const [zone, time] of [
    ['Africa/Casablanca', '2026-10-01T23:30:00Z'],
    ['America/Edmonton', '2026-11-20T06:30:00Z'],
    ['Europe/Berlin', '2026-11-20T06:30:00Z'],
  ] as const) {
    const { rows } = await pool.pool.query(
      `SELECT to_char($2::timestamptz AT TIME ZONE $1, 'YYYY-MM-DD HH24:MI') AS at`,
      [zone, time],
    );
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
    expect(found.includes(zone)).toBe(rows[0]?.at !== format.format(new Date(time)));
  }
});

it('names a zone that PostgreSQL does not know', async () => {
  // JavaScript reads names in any case; PostgreSQL lists them in one.
  expect(await findDifferingTimeZones(pool.database, NOW_MS, ['UTC', 'europe/berlin'])).toEqual(['europe/berlin']);
});
