import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolveReportFilter } from '../filters/report-filter.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { readCompactionsReport } from './read-compactions-report.ts';
import { readSessionsReport } from './read-sessions-report.ts';
import { readUsageReport } from './read-usage-report.ts';
import type { ReportKey } from './report-keys.ts';

/**
 * Moments around days of 23 and 25 hours; the n-th response has 2^n output tokens, so that a sum identifies its parts.
 */
const MOMENTS = [
  '2026-03-08T03:29:59.999Z', // St. John's: the last moment of 7 March; 8 March has 23 hours
  '2026-03-08T03:30:00.000Z',
  '2026-03-09T02:29:59.999Z', // its last moment
  '2026-03-09T02:30:00.000Z',
  '2026-03-28T22:59:59.999Z', // Berlin: the last moment of 28 March; 29 March has 23 hours
  '2026-03-28T23:00:00.000Z',
  '2026-03-29T21:59:59.999Z',
  '2026-03-29T22:00:00.000Z',
  '2026-06-01T18:14:59.999Z', // Kathmandu: the last moment of 1 June
  '2026-06-01T18:15:00.000Z',
  '2026-10-24T21:59:59.999Z', // Berlin: the last moment of 24 October; 25 October has 25 hours
  '2026-10-24T22:00:00.000Z',
  '2026-10-25T00:30:00.000Z', // half past two, the first time
  '2026-10-25T01:30:00.000Z', // half past two, once more
  '2026-10-25T22:59:59.999Z',
  '2026-10-25T23:00:00.000Z',
];
const RANDOM_COUNT = 400;
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'America/Havana',
  'Pacific/Apia',
  // Their rules changed in 2026: PostgreSQL's and Node's may differ.
  'Africa/Casablanca',
  'America/Edmonton',
  'America/Vancouver',
];

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, [
    {
      session_id: 'fixed',
      project: 'fixed',
      responses: MOMENTS.map((timestamp, index) => ({ timestamp, tokens_out: 2 ** index })),
    },
    {
      session_id: 'random',
      project: 'random',
      responses: randomMoments().map((timestamp) => ({ timestamp, tokens_out: 1 })),
    },
    ...randomMoments().map((timestamp, index) => ({
      ...{ session_id: `start-${index}`, project: 'starts' },
      responses: [{ timestamp, tokens_out: 1, cost_usd: (index % 10) + 1 }],
    })),
  ]);
  // They began before their first response, some in years without anything else.
  const starts = randomMoments().map((moment, index) =>
    new Date(Date.parse(moment) - (index % 4) * 511.125 * 86_400_000).toISOString(),
  );
  await pool.pool.query(
    `UPDATE recount.sessions AS s SET first_timestamp = begun.at
    FROM unnest($2::text[], $3::timestamptz[]) AS begun (session_id, at)
    WHERE s.workspace_id = $1 AND s.session_id = begun.session_id`,
    [TEST_WORKSPACE, starts.map((_, index) => `start-${index}`), starts],
  );
});
afterAll(() => pool.close());

/** Spread over a year, deterministic, by a linear congruential generator. */
function randomMoments(): string[] {
  let state = 1;
  return Array.from({ length: RANDOM_COUNT }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return new Date(Date.UTC(2026, 0, 1) + Math.floor((state / 2_147_483_647) * 365 * 86_400_000)).toISOString();
  });
}

async function readTokens(
  key: ReportKey,
  request: { timeZone: string; project: string; from?: string; to?: string },
): Promise<Record<string, number>> {
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, { subagents: 'include', ...request });
  const { rows, totals } = await readUsageReport(pool.database, filter, { groupBy: [key], limit: 10_000 });
  expect(rows.reduce((sum, { own }) => sum + own.tokens_out, 0)).toBe(totals.own.tokens_out);
  return Object.fromEntries(rows.map((row) => [row[key] ?? 'none', row.own.tokens_out]));
}

const sumOf = (...indexes: number[]) => indexes.reduce((sum, index) => sum + 2 ** index, 0);

describe('days', () => {
  it('have 23 and 25 hours in Berlin', async () => {
    expect(await readTokens('day', { timeZone: 'Europe/Berlin', project: 'fixed', from: '2026-03-28' })).toEqual({
      '2026-03-28': sumOf(4),
      '2026-03-29': sumOf(5, 6),
      '2026-03-30': sumOf(7),
      '2026-06-01': sumOf(8, 9),
      '2026-10-24': sumOf(10),
      '2026-10-25': sumOf(11, 12, 13, 14),
      '2026-10-26': sumOf(15),
    });
  });

  it('may begin at a quarter past in UTC', async () => {
    const request = { timeZone: 'Asia/Kathmandu', project: 'fixed', from: '2026-06-01', to: '2026-06-03' };
    expect(await readTokens('day', request)).toEqual({ '2026-06-01': sumOf(8), '2026-06-02': sumOf(9) });
  });

  it('follow half-hour zones with daylight saving', async () => {
    const request = { timeZone: 'America/St_Johns', project: 'fixed', to: '2026-03-10' };
    expect(await readTokens('day', request)).toEqual({
      '2026-03-07': sumOf(0),
      '2026-03-08': sumOf(1, 2),
      '2026-03-09': sumOf(3),
    });
  });
});

describe('hours', () => {
  it('are two if clocks repeat them', async () => {
    const request = { timeZone: 'Europe/Berlin', project: 'fixed', from: '2026-10-25', to: '2026-10-26' };
    expect(await readTokens('hour', request)).toEqual({
      '2026-10-25T00:00:00+02:00': sumOf(11),
      '2026-10-25T02:00:00+02:00': sumOf(12),
      '2026-10-25T02:00:00+01:00': sumOf(13),
      '2026-10-25T23:00:00+01:00': sumOf(14),
    });
  });

  it('have the offset of the zone, west of Greenwich as well', async () => {
    const request = { timeZone: 'America/St_Johns', project: 'fixed', from: '2026-03-08', to: '2026-03-10' };
    expect(Object.keys(await readTokens('hour', request))).toEqual([
      '2026-03-08T00:00:00-03:30',
      '2026-03-08T23:00:00-02:30',
      '2026-03-09T00:00:00-02:30',
    ]);
  });
});

it('counts weeks from Monday, and months', async () => {
  const request = { timeZone: 'Europe/Berlin', project: 'fixed', from: '2026-03-28', to: '2026-06-02' };
  expect(await readTokens('week', request)).toEqual({
    '2026-03-23': sumOf(4, 5, 6),
    '2026-03-30': sumOf(7),
    '2026-06-01': sumOf(8, 9),
  });
  expect(await readTokens('month', request)).toEqual({ '2026-03': sumOf(4, 5, 6, 7), '2026-06': sumOf(8, 9) });
});

describe.each(ZONES)('in %s, compared with Intl,', (timeZone) => {
  const format = new Intl.DateTimeFormat('sv', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const days = randomMoments().map((moment) => format.format(new Date(moment)));

  it('every response is in its day', async () => {
    const expected: Record<string, number> = {};
    for (const day of days) expected[day] = (expected[day] ?? 0) + 1;
    expect(await readTokens('day', { timeZone, project: 'random' })).toEqual(expected);
  });

  it.each([
    ['2026-03-08', '2026-03-29'],
    ['2026-04-05', '2026-10-04'],
    ['2026-10-25', '2026-11-01'],
    ['2026-11-01', '2026-11-02'],
  ])('%s to %s contains its days and no others', async (from, to) => {
    const found = await readTokens('day', { timeZone, project: 'random', from, to });
    const expected = days.filter((day) => day >= from && day < to).length;
    expect(Object.values(found).reduce((sum, tokens) => sum + tokens, 0)).toBe(expected);
    expect(Object.keys(found).every((day) => day >= from && day < to)).toBe(true);
  });
});

describe('resolveReportFilter', () => {
  const resolve = async (from: string, timeZone: string) =>
    (await resolveReportFilter(pool.database, TEST_WORKSPACE, { from, timeZone, subagents: 'include' })).filter.from;

  it.each([
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
    ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
    ['2026-06-02', 'Asia/Kathmandu', '2026-06-01T18:15:00.000Z'],
    // Clocks go from midnight to one o'clock, so the day begins at one.
    ['2026-03-08', 'America/Havana', '2026-03-08T05:00:00.000Z'],
    // Clocks go back from one o'clock to midnight, so the day begins with the first midnight.
    ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00.000Z'],
    ['2026-03-29T12:00:00+02:00', 'Asia/Kathmandu', '2026-03-29T10:00:00.000Z'],
  ])('%s in %s is %s', async (date, timeZone, moment) => {
    expect(await resolve(date, timeZone)).toBe(moment);
  });

  it('throws for a zone that Node does not know', async () => {
    await expect(resolve('2026-01-01', 'Europe/Atlantis')).rejects.toThrow(RangeError);
  });
});

const toMonday = (day: string): string => {
  const date = new Date(day);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
};
const PERIODS = {
  day: (day: string) => day,
  week: toMonday,
  month: (day: string) => day.slice(0, 7),
} as const;

describe.each(ZONES)('sessions in %s', (timeZone) => {
  const format = new Intl.DateTimeFormat('sv', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });

  it.each(['day', 'week', 'month'] as const)('by %s equal Intl’s, with their usage', async (key) => {
    const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
      ...{ subagents: 'include', timeZone, project: 'starts' },
    });
    const page = { groupBy: [key], limit: 1000, idleThresholdMs: 300_000 };
    const report = await readSessionsReport(pool.database, filter, page);
    const { rows } = await pool.pool.query<{ first_ms: number; cost: number }>(
      `SELECT extract(epoch FROM first_timestamp)::float8 * 1000 AS first_ms, u.cost::float8 AS cost
      FROM recount.sessions AS s JOIN (
        SELECT session_id, sum(cost_units) / 1e10 AS cost FROM recount.usage_day_rollup GROUP BY 1
      ) AS u USING (session_id)
      WHERE project = 'starts'`,
    );
    const expected = new Map<string, { sessions: number; cost: number }>();
    for (const { first_ms, cost } of rows) {
      const start = PERIODS[key](format.format(first_ms));
      const before = expected.get(start) ?? { sessions: 0, cost: 0 };
      expected.set(start, { sessions: before.sessions + 1, cost: before.cost + cost });
    }
    const found = report.rows.map((row) => [row[key], { sessions: row.sessions, cost: row.own_cost_usd }]);
    expect(found).toEqual([...expected].sort(([a], [b]) => (a < b ? -1 : 1)));
  });
});

describe('where rules changed in 2026', () => {
  // With a database of 2025, these would be of the next day in Casablanca, and of the day before in Edmonton.
  const expected: Record<string, string> = {
    'Africa/Casablanca': new Intl.DateTimeFormat('sv', { timeZone: 'Africa/Casablanca' }).format(
      new Date('2026-10-01T23:30:00Z'),
    ),
    'America/Edmonton': new Intl.DateTimeFormat('sv', { timeZone: 'America/Edmonton' }).format(
      new Date('2026-11-20T06:30:00Z'),
    ),
  };
  const workspaceId = OTHER_WORKSPACE;

  beforeAll(() =>
    insertTestFleet(
      pool,
      [
        {
          session_id: 'changed',
          first_timestamp: '2026-10-01T23:30:00.000Z',
          responses: ['2026-10-01T23:30:00.000Z', '2026-11-20T06:30:00.000Z'].map((timestamp) => ({
            timestamp,
            tokens_out: 1,
          })),
          events: [{ kind: 'compaction', name: 'auto', timestamp: '2026-11-20T06:30:00.000Z', details: {} }],
        },
      ],
      workspaceId,
    ),
  );

  it.each(Object.entries(expected))('usage, sessions and events of %s are in the days of Node', async (zone, day) => {
    const { filter } = await resolveReportFilter(pool.database, workspaceId, {
      timeZone: zone,
      subagents: 'include',
    });
    const page = { groupBy: ['day'] as const, limit: 10 };
    const usage = await readUsageReport(pool.database, filter, page);
    expect(usage.rows.map((row) => row.day)).toContain(day);
    const hours = await readUsageReport(pool.database, filter, { ...page, groupBy: ['hour'] });
    expect(hours.rows.map((row) => row.hour?.slice(0, 10))).toContain(day);
    if (zone === 'Africa/Casablanca') {
      const sessions = await readSessionsReport(pool.database, filter, { ...page, idleThresholdMs: 300_000 });
      expect(sessions.rows.map((row) => row.day)).toEqual([day]);
    } else {
      const compactions = await readCompactionsReport(pool.database, filter, page);
      expect(compactions.rows.map((row) => row.day)).toEqual([day]);
    }
  });
});
