import { isOnCitus } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import {
  listExpensiveSessions,
  type ReportFilter,
  type ReportKey,
  type ReportRequest,
  readApiErrorsReport,
  readBlocksReport,
  readCaveats,
  readCompactionsReport,
  readDisagreementsReport,
  readFilesReport,
  readFindingsReport,
  readMcpServersReport,
  readModelsReport,
  readPermissionDenialsReport,
  readProgramsReport,
  readPullRequestsReport,
  readReconciliationReport,
  readSessionsReport,
  readSkillsReport,
  readSubagentsReport,
  readToolsReport,
  readUsageReport,
  resolveReportFilter,
  withReportSnapshot,
} from './index.ts';

const limit = 50;
const idleThresholdMs = 300_000;
const thresholds = { minResultBytes: 40_000, minSessionCostUsd: 10, nowMs: Date.UTC(2026, 5) };
const groupBy: ReportKey[] = ['day'];

type Read = (database: Database, filter: ReportFilter) => Promise<unknown>;
const REPORTS: Record<string, Read> = {
  caveats: readCaveats,
  usage: (database, filter) => readUsageReport(database, filter, { groupBy, limit }),
  'usage-by-project': (database, filter) => readUsageReport(database, filter, { groupBy: ['project'], limit }),
  models: (database, filter) => readModelsReport(database, filter, { limit }),
  sessions: (database, filter) => readSessionsReport(database, filter, { groupBy, limit, idleThresholdMs }),
  'expensive-sessions': (database, filter) => listExpensiveSessions(database, filter, { idleThresholdMs, top: 10 }),
  tools: (database, filter) => readToolsReport(database, filter, { groupBy: ['tool'], limit, percentiles: true }),
  files: (database, filter) => readFilesReport(database, filter, { limit, sort: 'calls' }),
  programs: (database, filter) => readProgramsReport(database, filter, { limit }),
  'mcp-servers': (database, filter) => readMcpServersReport(database, filter, { limit }),
  subagents: (database, filter) => readSubagentsReport(database, filter, { limit }),
  skills: (database, filter) => readSkillsReport(database, filter, { limit }),
  compactions: (database, filter) => readCompactionsReport(database, filter, { limit }),
  'api-errors': (database, filter) => readApiErrorsReport(database, filter, { limit }),
  'permission-denials': (database, filter) => readPermissionDenialsReport(database, filter, { limit }),
  'pull-requests': (database, filter) => readPullRequestsReport(database, filter, { limit }),
  findings: (database, filter) => readFindingsReport(database, filter, { limit, ...thresholds }),
  blocks: (database, filter) => readBlocksReport(database, filter, { limit }),
  reconciliation: (database, filter) => readReconciliationReport(database, filter, { limit }),
  disagreements: (database, filter) => readDisagreementsReport(database, filter, { limit }),
};

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, [
    {
      session_id: 'main',
      first_timestamp: '2026-05-04T10:00:00.000Z',
      responses: [{ timestamp: '2026-05-04T10:05:00.000Z', tokens_out: 20 }],
      calls: [{ tool_name: 'Bash', program: 'git', file_path: '/app/a.ts', mcp_server: 'docs', skill_name: 'release' }],
      events: [{ kind: 'pull_request', name: 'https://github.com/ada/app/pull/7', details: { number: 7 } }],
    },
  ]);
});
afterAll(() => pool.close());

interface Statement {
  sql: string;
  params: unknown[];
}

/** Calls `onStatement` with each statement that `read` sends to Postgres, before it is sent, on the same connection. */
async function observeStatements(
  read: Read,
  period: Pick<ReportRequest, 'from' | 'to'>,
  onStatement: (snapshot: Database, statement: Statement) => Promise<void>,
): Promise<void> {
  const request = { timeZone: 'Europe/Berlin', subagents: 'include', ...period } as const;
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, request);
  await withReportSnapshot(pool, async (snapshot) => {
    const observed = new Proxy(snapshot, {
      get(target, name) {
        const member = Reflect.get(target, name);
        if (name !== 'execute') return typeof member === 'function' ? member.bind(target) : member;
        return async (query: Parameters<Database['execute']>[0]) => {
          const prepared = target.execute(query);
          await onStatement(target, (prepared as unknown as { getQuery(): Statement }).getQuery());
          return await prepared;
        };
      },
    });
    await read(observed, filter);
  });
}

/** The nodes in the plan (a single task on one shard, and no intermediate results). */
const ONE_SHARD = { tasks: ['Task Count: 1'], gathered: [] };

it.runIf(isOnCitus()).each(Object.entries(REPORTS))('%s is routed to one shard', async (_, read) => {
  const plans: { tasks: string[]; gathered: string[] }[] = [];
  const addPlan = async (snapshot: Database, { sql: text, params }: Statement) => {
    const { rows } = await explain(snapshot, text, params);
    const lines = rows.map((row) => String(row['QUERY PLAN']).trim());
    if (!lines.some((line) => line.includes('Custom Scan (Citus'))) return;
    plans.push({
      tasks: lines.filter((line) => line.startsWith('Task Count')),
      gathered: lines.filter((line) => line.includes('Distributed Subplan')),
    });
  };
  // Sessions and events of a short time are looked up, by other statements than for a long one.
  for (const to of [undefined, '2026-06-01']) await observeStatements(read, { from: '2026-05-01', to }, addPlan);
  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans) expect(plan).toEqual(ONE_SHARD);
});

/** The parameters replace their placeholders, as they came. */
async function explain(snapshot: Database, text: string, params: readonly unknown[]) {
  const chunks = text
    .split(/\$(\d+)/)
    .map((part, index) => (index % 2 === 0 ? sql.raw(part) : sql`${sql.param(params[Number(part) - 1])}`));
  return await snapshot.execute<Record<string, unknown>>(sql`EXPLAIN ${sql.join(chunks)}`);
}
