import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Database } from '../database/database.ts';
import { SchemaVersionError } from '../migrations/migrate-database.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { refreshTotals } from '../usage/refresh-totals.ts';
import {
  type ReportFilter,
  type ReportKey,
  type ReportRequest,
  readBlocksReport,
  readCaveats,
  readFilesReport,
  readMcpServersReport,
  readModelsReport,
  readPermissionDenialsReport,
  readProgramsReport,
  readSkillsReport,
  readSubagentsReport,
  readToolsReport,
  readUsageReport,
  resolveReportFilter,
} from './index.ts';

const limit = 1000;
const GROUPS: readonly ReportKey[][] = [
  [],
  ['hour'],
  ['day'],
  ['week', 'model'],
  ['month', 'model'],
  ['model'],
  ['project'],
  ['day', 'project'],
  ['month', 'project', 'agent'],
  ['person', 'machine', 'model'],
  ['session'],
];
type Read = (database: Database, filter: ReportFilter) => Promise<unknown>;
const REPORTS: Record<string, Read> = {
  ...Object.fromEntries(
    GROUPS.flatMap((groupBy): [string, Read][] => [
      [`usage by ${groupBy}`, (database, filter) => readUsageReport(database, filter, { groupBy, limit })],
      [
        `tools by ${groupBy}`,
        (database, filter) =>
          readToolsReport(database, filter, { groupBy: [...groupBy, 'tool'], limit, percentiles: true }),
      ],
    ]),
  ),
  'usage of the first hours': (database, filter) => readUsageReport(database, filter, { groupBy: ['hour'], limit: 3 }),
  caveats: readCaveats,
  models: (database, filter) => readModelsReport(database, filter, { limit }),
  files: (database, filter) => readFilesReport(database, filter, { limit, sort: 'calls' }),
  programs: (database, filter) => readProgramsReport(database, filter, { limit }),
  'mcp-servers': (database, filter) => readMcpServersReport(database, filter, { limit }),
  skills: (database, filter) => readSkillsReport(database, filter, { limit }),
  subagents: (database, filter) => readSubagentsReport(database, filter, { limit }),
  'permission-denials': (database, filter) => readPermissionDenialsReport(database, filter, { limit }),
  blocks: (database, filter) => readBlocksReport(database, filter, { limit }),
  'first blocks': (database, filter) => readBlocksReport(database, filter, { limit: 2 }),
};
const REQUESTS: readonly Partial<ReportRequest>[] = [
  {},
  { model: 'model-1' },
  { subagents: 'only' },
  { project: 'one' },
  { agent: 'codex' },
  { machine: 'desk', model: 'model-1' },
  { person: 'ada', from: '2026-03-28T10:20:00Z', to: '2026-03-30T23:10:00Z' },
  { from: '2026-03-28', to: '2026-04-02' },
  { from: '2026-03-28T10:20:00Z', to: '2026-03-30T23:10:00Z', subagents: 'exclude' },
];
const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns'];

/** Every 100 minutes of a week with a change of clocks, and of days at the end of a month. */
const MOMENTS = Array.from({ length: 150 }, (_, index) =>
  new Date(Date.parse('2026-03-25T00:10:00Z') + index * 100 * 60_000).toISOString(),
);

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(
    pool,
    ['a', 'b', 'c', 'fork'].map((session_id, session) => {
      const own = MOMENTS.filter((_, index) => session < 3 && (index % 3 === session || index % 7 === 0));
      return {
        session_id,
        agent: session === 2 ? 'codex' : 'claude-code',
        project: session === 0 ? 'one' : 'two',
        machine: session === 1 ? 'desk' : null,
        person: session < 2 ? 'ada' : null,
        responses: [
          { timestamp: null, tokens_out: 1000 },
          ...own.map((timestamp, index) => ({
            ...{ timestamp, tokens_out: index + 1, model: `model-${index % 2}`, is_subagent: index % 4 === 0 },
            ...(index % 5 === 0 && { price_basis: 'unpriced' as const, cost_usd: null }),
            ...(session === 0 && index === 8 && { copiedTo: ['fork'] }),
          })),
        ],
        calls: own.map((timestamp, index) => ({
          timestamp,
          ...{
            tool_name: ['Bash', 'Read', 'Task', 'mcp__docs__query', 'Skill'][index % 5] ?? 'Read',
            model: `model-${index % 2}`,
          },
          ...(index % 5 === 0 && { program: `program-${index % 3}` }),
          ...(index % 5 === 1 && { file_path: `/file-${index % 6}` }),
          ...(index % 5 === 2 && { subagent_type: 'explorer' }),
          ...(index % 5 === 3 && { mcp_server: 'docs' }),
          ...(index % 5 === 4 && { skill_name: 'release' }),
          ...{ duration_ms: index % 6 === 0 ? null : index * 37, is_denied: index % 9 === 0, output_bytes: index },
        })),
      };
    }),
  );
  await pool.pool.query(`
    INSERT INTO recount.message_rollup
    SELECT workspace_id, session_id, bucket_start, model, is_subagent, sum(responses) + 1, 1 FROM recount.usage_rollup
    GROUP BY workspace_id, session_id, bucket_start, model, is_subagent`);
  await pool.pool.query(`
    INSERT INTO recount.message_day_rollup (workspace_id, session_id, first_bucket_start, last_bucket_start, is_subagent, messages, user_messages)
    SELECT workspace_id, session_id, min(bucket_start), max(bucket_start), is_subagent, sum(messages), sum(user_messages)
    FROM recount.message_rollup
    GROUP BY workspace_id, session_id, is_subagent, date_bin('1 day', bucket_start, '2000-01-01Z')`);
});
afterAll(() => pool.close());

/**
 * By day each zone gets a part of all combinations, chosen by the run's seed so that each report runs in one zone at
 * least. A fault of a report that only one filter in one zone shows may be found at night, when all run.
 */
const isAsked = (zone: number, request: number, report: number): boolean =>
  process.env.RECOUNT_TEST_STAGE === 'night' ||
  (request + report + inject('propertyTests').seed) % ZONES.length === zone;

async function readAll(timeZone: string): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [requestNumber, request] of REQUESTS.entries()) {
    const whole = { subagents: 'include' as const, ...request, timeZone };
    const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, whole);
    for (const [reportNumber, [name, read]] of Object.entries(REPORTS).entries()) {
      if (!isAsked(ZONES.indexOf(timeZone), requestNumber, reportNumber)) continue;
      answers[`${name} ${JSON.stringify(request)}`] = await read(pool.database, filter);
    }
  }
  return answers;
}

const mark = (condition: string) =>
  pool.pool.query(`
    INSERT INTO recount.stale_days
    SELECT DISTINCT workspace_id, date_bin('1 day', first_bucket_start, '2000-01-01Z') AS day FROM recount.tool_day_rollup
    WHERE first_bucket_start IS NOT NULL AND ${condition}`);

it.each(ZONES)('answers in %s are the same with totals, without them and with some totals', async (timeZone) => {
  // So many that all rows are read.
  await pool.pool.query(
    `INSERT INTO recount.stale_days SELECT $1, '2000-01-01Z'::timestamptz + n * interval '1 day' FROM generate_series(1, 300) AS n`,
    [TEST_WORKSPACE],
  );
  await mark('true');
  const expected = await readAll(timeZone);
  await pool.pool.query(`DELETE FROM recount.stale_days WHERE day < '2001-01-01Z'`);
  expect(await readAll(timeZone)).toEqual(expected);
  await refreshTotals(pool, TEST_WORKSPACE);
  expect(await readAll(timeZone)).toEqual(expected);
  // The totals of stale days are not read.
  await mark('extract(day FROM first_bucket_start)::int % 2 = 0');
  for (const [table, column] of [
    ['usage_hour_total', 'tokens_out'],
    ['usage_attribution_total', 'tokens_out'],
    ['message_attribution_total', 'messages'],
  ]) {
    await pool.pool.query(`
      UPDATE recount.${table} AS t SET ${column} = 1e9 WHERE EXISTS (
        SELECT FROM recount.stale_days AS s WHERE s.workspace_id = t.workspace_id AND s.day = date_bin('1 day', first_bucket_start, '2000-01-01Z'))`);
  }
  expect(await readAll(timeZone)).toEqual(expected);
});

it('reads totals if it may', async () => {
  await mark('true');
  await refreshTotals(pool, TEST_WORKSPACE);
  const request = { subagents: 'include' as const, timeZone: 'Europe/Berlin' };
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, request);
  const read = (groupBy: ReportKey[]) => readUsageReport(pool.database, filter, { groupBy, limit });
  const [before, ofBranches] = [await read(['day']), await read(['git_branch'])];
  for (const table of ['usage_hour_total', 'usage_attribution_total']) {
    await pool.pool.query(`UPDATE recount.${table} SET tokens_out = tokens_out + 1`);
    const groupBy: ReportKey[] = table === 'usage_hour_total' ? ['day'] : ['project'];
    expect((await read(groupBy)).totals.own.tokens_out).toBeGreaterThan(before.totals.own.tokens_out);
  }
  const { filter: ofOne } = await resolveReportFilter(pool.database, TEST_WORKSPACE, { ...request, project: 'one' });
  const [inTotal] = (await read(['project'])).rows.filter(({ project }) => project === 'one');
  expect((await readUsageReport(pool.database, ofOne, { limit })).totals.own).toEqual({ ...inTotal?.own });
  expect(await read(['git_branch'])).toEqual(ofBranches);
});

it('leaves days stale that a newer program has marked', async () => {
  await mark('true');
  const { rowCount } = await pool.pool.query('SELECT FROM recount.stale_days');
  await pool.pool.query(`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('newer', 1e15)`);
  try {
    await expect(refreshTotals(pool, TEST_WORKSPACE)).rejects.toThrow(SchemaVersionError);
    expect((await pool.pool.query('SELECT FROM recount.stale_days')).rowCount).toBe(rowCount);
  } finally {
    await pool.pool.query(`DELETE FROM drizzle.__drizzle_migrations WHERE hash = 'newer'`);
  }
});

it('counts sessions by totals where it may', async () => {
  await mark('true');
  await refreshTotals(pool, TEST_WORKSPACE);
  const read = async (report: Read, request: Partial<ReportRequest> = {}) => {
    const whole = { subagents: 'include' as const, timeZone: 'Europe/Berlin', ...request };
    const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, whole);
    return (await report(pool.database, filter)) as Record<'totals', { sessions: number }> & {
      rows: { sessions: number }[];
    };
  };
  const byDay: Read = (database, filter) => readUsageReport(database, filter, { groupBy: ['day'], limit });
  const byTool: Read = (database, filter) =>
    readToolsReport(database, filter, { groupBy: ['tool'], limit, percentiles: false });
  const reports = Object.entries({ ...REPORTS, byDay, byTool }).filter(([name]) =>
    ['byDay', 'byTool', 'models', 'programs', 'mcp-servers', 'files'].includes(name),
  );
  const readCounts = async () => {
    const counts: Record<string, number> = {};
    for (const [name, report] of reports) {
      const { totals, rows } = await read(report);
      counts[name] = totals.sessions;
      // Files are only counted together.
      if (name !== 'files') counts[`rows of ${name}`] = rows.reduce((sum, { sessions }) => sum + sessions, 0);
    }
    return counts;
  };
  const before = await readCounts();
  const ofModel = await read(byDay, { model: 'model-1' });
  await pool.pool.query('UPDATE recount.session_total SET sessions = sessions + 100');
  for (const [name, count] of Object.entries(await readCounts()))
    expect(count).toBeGreaterThan((before[name] ?? 0) + 99);
  expect(await read(byDay, { model: 'model-1' })).toEqual(ofModel);
});
