import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolveReportFilter } from '../filters/report-filter.ts';
import { workspaces } from '../schema/workspaces.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { refreshTotals } from '../usage/refresh-totals.ts';
import { writeRollups } from '../usage/write-rollups.ts';
import { readBlocksReport } from './read-blocks-report.ts';
import { readDurations } from './read-durations.ts';
import { readFilesReport } from './read-files-report.ts';
import { readSessionsReport } from './read-sessions-report.ts';
import { readToolsReport } from './read-tools-report.ts';
import { readUsageReport } from './read-usage-report.ts';
import { withReportSnapshot } from './with-report-snapshot.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

const resolve = async (timeZone: string, workspaceId = TEST_WORKSPACE, from?: string) => {
  const request = { timeZone, from, subagents: 'include' as const };
  return (await resolveReportFilter(pool.database, workspaceId, request)).filter;
};

describe('calls in each of a thousand years', () => {
  const FIRST_YEAR = 1970;
  const YEARS = 1000;
  const LONGEST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

  beforeAll(async () => {
    const years = Array.from({ length: YEARS }, (_, index) => FIRST_YEAR + index);
    await insertTestFleet(pool, [
      {
        session_id: 'a',
        responses: [{ timestamp: '9999-12-31T23:59:59.999Z', tokens_out: 7 }],
        calls: [
          { tool_name: 'Bash', timestamp: '9999-12-31T23:59:59.999Z', duration_ms: 1 },
          { tool_name: 'Wait', timestamp: '1970-01-01T00:00:00.000Z', duration_ms: LONGEST_MS },
          ...years.map((year) => ({
            tool_name: 'Bash',
            timestamp: `${year}-0${1 + (year % 9)}-0${1 + (year % 2)}T${10 + (year % 14)}:30:00.000Z`,
          })),
        ],
      },
    ]);
  });

  it.each(['Europe/Berlin', 'Asia/Kathmandu', 'America/Havana'])('are in the periods of %s', async (timeZone) => {
    const filter = await resolve(timeZone);
    for (const key of ['day', 'week', 'month'] as const) {
      const { rows } = await readToolsReport(pool.database, filter, {
        groupBy: [key],
        limit: 2000,
        percentiles: false,
      });
      const { rows: expected } = await pool.pool.query(
        `SELECT to_char(date_trunc($1, "timestamp" AT TIME ZONE $2), $3) AS period, count(*)::int AS calls
         FROM recount.tool_calls WHERE workspace_id = $4 GROUP BY 1 ORDER BY min("timestamp")`,
        [key, timeZone, key === 'month' ? 'YYYY-MM' : 'YYYY-MM-DD', TEST_WORKSPACE],
      );
      expect(rows.map((row) => ({ period: row[key], calls: row.calls }))).toEqual(expected);
    }
    const { rows, totals } = await readToolsReport(pool.database, filter, {
      groupBy: ['hour'],
      limit: 3,
      percentiles: false,
    });
    expect(rows.map(({ calls }) => calls)).toEqual([1, 1, 1]);
    expect(totals.calls).toBe(YEARS + 2);
  });

  it('spanned the largest possible durations', async () => {
    const page = { groupBy: ['tool'] as const, limit: 10, percentiles: true };
    const { rows } = await readToolsReport(pool.database, await resolve('UTC'), page);
    expect(rows.find(({ tool }) => tool === 'Wait')).toMatchObject({
      duration_p50_ms: LONGEST_MS,
      duration_mean_ms: LONGEST_MS,
    });
  });

  it('the last block ends with the last year', async () => {
    for (const from of [undefined, '9999-12-31T00:00:00Z']) {
      const filter = await resolve('UTC', TEST_WORKSPACE, from);
      const { rows, totals } = await readBlocksReport(pool.database, filter, { limit: 10 });
      expect(rows).toMatchObject([
        { start: '9999-12-31T23:00:00.000Z', end: '9999-12-31T23:59:59.999Z', tokens_out: 7, sessions: 1 },
      ]);
      expect(totals).toMatchObject({ blocks: 1, tokens_out: 7 });
    }
  });
});

describe('calls in the first year and in the last one', () => {
  const workspaceId = 'FIRST_AND_LAST';

  beforeAll(async () => {
    await pool.database.insert(workspaces).values({ id: workspaceId, name: workspaceId });
    const timestamps = ['1970-01-01T00:30:00.000Z', '2026-03-29T00:30:00.000Z', '9999-12-31T23:30:00.000Z'];
    const calls = timestamps.map((timestamp) => ({ tool_name: 'Bash', timestamp }));
    const responses = timestamps.map((timestamp) => ({ timestamp, tokens_out: 1 }));
    await insertTestFleet(pool, [{ session_id: 'c', responses, calls }], workspaceId);
  });

  it('cost no time for the days between them', async () => {
    const filter = await resolve('Europe/Berlin', workspaceId);
    const page = { groupBy: ['day'] as const, limit: 10, percentiles: false };
    const { rows } = await withReportSnapshot(pool, (snapshot) => readToolsReport(snapshot, filter, page), 2000);
    // The last one is on the first day of the following year.
    expect(rows.map(({ day }) => day)).toEqual(['1970-01-01', '2026-03-29', '10000-01-01']);
  });

  it.each(['UTC', 'Europe/Berlin'])('are counted by totals and starts of sessions in %s', async (timeZone) => {
    await refreshTotals(pool, workspaceId);
    await pool.pool.query(
      `UPDATE recount.sessions SET first_timestamp = '9999-12-31T22:30:00Z' WHERE workspace_id = $1`,
      [workspaceId],
    );
    const filter = await resolve(timeZone, workspaceId);
    for (const key of ['hour', 'day', 'week', 'month'] as const) {
      const page = { groupBy: [key], limit: 10 };
      const tools = await readToolsReport(pool.database, filter, { ...page, percentiles: false });
      expect(tools.rows.map(({ sessions }) => sessions)).toEqual([1, 1, 1]);
      expect((await readUsageReport(pool.database, filter, page)).totals.sessions).toBe(1);
      const sessions = await readSessionsReport(pool.database, filter, { ...page, idleThresholdMs: 300_000 });
      expect(sessions.rows.map((row) => row.sessions)).toEqual([1]);
    }
  });
});

describe('a session with a file and a program for every other call', () => {
  const CALLS = 16_000;

  beforeAll(async () => {
    await insertTestFleet(pool, [{ session_id: 'b' }], OTHER_WORKSPACE);
    await pool.pool.query(
      `INSERT INTO recount.tool_calls (workspace_id, row_set_id, call_number, session_id, call_key, message_id, tool_name, tool_kind,
         file_path, program, "timestamp", is_subagent, is_denied, input_bytes, line_number, duration_ms)
       SELECT $1, 'transcript-b', n, 'b', 'call-' || n, 'message', 'Bash', 'shell', '/file-' || n % $2, 'program-' || n % $2,
         timestamptz '2026-06-15T00:00:00Z' + n * interval '5 seconds', false, false, 1, n, n
       FROM generate_series(0, $2 * 2 - 1) AS n`,
      [OTHER_WORKSPACE, CALLS / 2],
    );
    const session = { workspaceId: OTHER_WORKSPACE, sessionIds: [] };
    await pool.withTransaction((transaction) => writeRollups(transaction, session, ['b']));
  });

  it('costs no time for each pair of them', async () => {
    // Half of each file's calls are on the next day.
    const filter = await resolve('Asia/Tokyo', OTHER_WORKSPACE, '2026-06-15T11:00:00Z');
    await withReportSnapshot(
      pool,
      async (snapshot) => {
        const files = await readFilesReport(snapshot, filter, { limit: 10, sort: 'calls' });
        expect(files.totals).toMatchObject({ calls: CALLS - 7920, files: CALLS / 2 });
        const tools = await readToolsReport(snapshot, filter, { groupBy: ['day'], limit: 10, percentiles: true });
        expect(tools.rows).toMatchObject([
          { day: '2026-06-15', calls: 2880 },
          { day: '2026-06-16', calls: CALLS - 10_800, duration_p50_ms: 13_399 },
        ]);
      },
      4000,
    );
  });

  it('computes percentiles only for the groups on the page', async () => {
    const filter = await resolve('UTC', OTHER_WORKSPACE);
    const groupBy = ['hour'] as const;
    const page = await readToolsReport(pool.database, filter, { groupBy, limit: 2, percentiles: true });
    expect(page.rows.map(({ duration_p50_ms }) => duration_p50_ms)).toEqual([359, 1079]);
    expect(page.totals).toMatchObject({ duration_p50_ms: CALLS / 2 - 1, duration_p95_ms: CALLS * 0.95 - 1 });
    for (const maxListedCalls of [0, CALLS]) {
      const request = { groupBy, rows: page.rows.slice(1), truncated: true, timedCalls: CALLS, maxListedCalls };
      const durations = await withReportSnapshot(pool, (snapshot) => readDurations(snapshot, filter, request));
      expect(page.rows.map((row) => durations.of(row).duration_p50_ms)).toEqual([null, 1079]);
      expect(page.totals).toMatchObject(durations.all);
    }
  });
});
