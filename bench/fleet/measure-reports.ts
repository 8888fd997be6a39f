import {
  type Database,
  type DatabasePool,
  listExpensiveSessions,
  type ReportFilter,
  type ReportKey,
  readApiErrorsReport,
  readBlocksReport,
  readCaveats,
  readCompactionsReport,
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
} from '@recount/db';
import { type Cost, measure } from './measure.ts';
import { FLEET_WORKSPACE } from './seed-fleet.ts';

interface ReportCosts {
  report: string;
  /** For the fleet's whole year, and for its last 30 days. */
  year: Cost;
  month: Cost;
}

type Read = (database: Database, filter: ReportFilter) => Promise<unknown>;

const limit = 1000;
const FINDING_THRESHOLDS = { minResultBytes: 40_000, minSessionCostUsd: 10, nowMs: Date.now() };

const readUsageBy =
  (...groupBy: ReportKey[]): Read =>
  (database, filter) =>
    readUsageReport(database, filter, { groupBy, limit });

const REPORTS: Record<string, Read> = {
  caveats: readCaveats,
  'usage by day': readUsageBy('day'),
  'usage by hour': readUsageBy('hour'),
  'usage by month and model': readUsageBy('month', 'model'),
  'usage by project': readUsageBy('project'),
  'usage by session': readUsageBy('session'),
  models: (database, filter) => readModelsReport(database, filter, { limit }),
  sessions: (database, filter) => readSessionsReport(database, filter, { limit, idleThresholdMs: 300_000 }),
  'sessions by day': (database, filter) =>
    readSessionsReport(database, filter, { groupBy: ['day'], limit, idleThresholdMs: 300_000 }),
  'most expensive sessions': (database, filter) =>
    listExpensiveSessions(database, filter, { idleThresholdMs: 300_000, top: 10 }),
  tools: (database, filter) => readToolsReport(database, filter, { groupBy: ['tool'], limit, percentiles: false }),
  'tools with percentiles': (database, filter) =>
    readToolsReport(database, filter, { groupBy: ['tool'], limit, percentiles: true }),
  files: (database, filter) => readFilesReport(database, filter, { limit, sort: 'calls' }),
  programs: (database, filter) => readProgramsReport(database, filter, { limit }),
  'mcp-servers': (database, filter) => readMcpServersReport(database, filter, { limit }),
  subagents: (database, filter) => readSubagentsReport(database, filter, { limit }),
  skills: (database, filter) => readSkillsReport(database, filter, { limit }),
  compactions: (database, filter) => readCompactionsReport(database, filter, { limit }),
  'api-errors': (database, filter) => readApiErrorsReport(database, filter, { limit }),
  'permission-denials': (database, filter) => readPermissionDenialsReport(database, filter, { limit }),
  'pull-requests': (database, filter) => readPullRequestsReport(database, filter, { limit }),
  findings: (database, filter) => readFindingsReport(database, filter, { limit, ...FINDING_THRESHOLDS }),
  blocks: (database, filter) => readBlocksReport(database, filter, { limit }),
  reconciliation: (database, filter) => readReconciliationReport(database, filter, { limit }),
};

/** Measures each report in its own snapshot, as the API reads it, in a time zone with daylight saving. */
export async function* measureReports(pool: DatabasePool): AsyncGenerator<ReportCosts> {
  const request = { timeZone: 'Europe/Berlin', subagents: 'include' as const };
  const year = await resolveReportFilter(pool.database, FLEET_WORKSPACE, request);
  const month = await resolveReportFilter(pool.database, FLEET_WORKSPACE, {
    ...request,
    from: '2026-05-02',
    to: '2026-06-01',
  });
  for (const [report, read] of Object.entries(REPORTS)) {
    const ask = (filter: ReportFilter) =>
      measure(pool, () => withReportSnapshot(pool, (snapshot) => read(snapshot, filter)));
    yield { report, year: await ask(year.filter), month: await ask(month.filter) };
  }
}
