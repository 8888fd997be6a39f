import {
  apiErrorsReportQuerySchema,
  apiErrorsReportSchema,
  blocksReportQuerySchema,
  blocksReportSchema,
  compactionsReportQuerySchema,
  compactionsReportSchema,
  disagreementsReportQuerySchema,
  disagreementsReportSchema,
  filesReportQuerySchema,
  filesReportSchema,
  findingsReportQuerySchema,
  findingsReportSchema,
  mcpServersReportQuerySchema,
  mcpServersReportSchema,
  modelChoiceReportQuerySchema,
  modelChoiceReportSchema,
  modelsReportQuerySchema,
  modelsReportSchema,
  permissionDenialsReportQuerySchema,
  permissionDenialsReportSchema,
  programsReportQuerySchema,
  programsReportSchema,
  pullRequestsReportQuerySchema,
  pullRequestsReportSchema,
  reconciliationReportQuerySchema,
  reconciliationReportSchema,
  sessionsReportQuerySchema,
  sessionsReportSchema,
  skillsReportQuerySchema,
  skillsReportSchema,
  subagentsReportQuerySchema,
  subagentsReportSchema,
  toolsReportQuerySchema,
  toolsReportSchema,
  usageReportQuerySchema,
  usageReportSchema,
} from '@recount/contract';
import {
  compareSessionsWithUsage,
  listExpensiveSessions,
  readApiErrorsReport,
  readBlocksReport,
  readCompactionsReport,
  readDisagreementsReport,
  readFilesReport,
  readFindingsReport,
  readMcpServersReport,
  readModelChoiceReport,
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
} from '@recount/db';
import { readModelComparison } from '@recount/ingest';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { createReportRoutes, type ReportDependencies } from './analytics-report.ts';

type Deps = ReportDependencies & Pick<ApiDependencies, 'now'>;

/** Reports over everything that a workspace has ingested, each in one snapshot. */
export function addAnalyticsRoutes(app: ApiApp, deps: Deps): void {
  addUsageReports(app, deps);
  addToolReports(app, deps);
  addEventReports(app, deps);
  addFindingReports(app, deps);
}

function addUsageReports(app: ApiApp, deps: Deps): void {
  const addReport = createReportRoutes(app, deps);
  const { now = Date.now } = deps;

  addReport('usage', usageReportQuerySchema, usageReportSchema, (snapshot, filter, { group_by, limit }) =>
    readUsageReport(snapshot, filter, { groupBy: group_by, limit }),
  );

  addReport('models', modelsReportQuerySchema, modelsReportSchema, readModelsReport);

  addReport('sessions', sessionsReportQuerySchema, sessionsReportSchema, async (snapshot, filter, query) => {
    const { group_by: groupBy, limit, idle_threshold_ms: idleThresholdMs, top } = query;
    const report = await readSessionsReport(snapshot, filter, { groupBy, limit, idleThresholdMs });
    return {
      ...report,
      idle_threshold_ms: idleThresholdMs,
      usage: await compareSessionsWithUsage(snapshot, filter, report.totals.own_cost_usd),
      most_expensive: await listExpensiveSessions(snapshot, filter, { idleThresholdMs, top }),
    };
  });

  addReport('blocks', blocksReportQuerySchema, blocksReportSchema, async (snapshot, filter, page) => {
    const report = await readBlocksReport(snapshot, filter, page);
    const nowMs = now();
    const isActive = ({ start, end }: { start: string; end: string }) =>
      Date.parse(start) <= nowMs && nowMs < Date.parse(end);
    return { ...report, rows: report.rows.map((block) => ({ ...block, is_active: isActive(block) })) };
  });

  addReport('disagreements', disagreementsReportQuerySchema, disagreementsReportSchema, readDisagreementsReport);

  addReport('reconciliation', reconciliationReportQuerySchema, reconciliationReportSchema, readReconciliationReport);
}

function addToolReports(app: ApiApp, deps: Deps): void {
  const addReport = createReportRoutes(app, deps);

  addReport('tools', toolsReportQuerySchema, toolsReportSchema, (snapshot, filter, { group_by, limit, percentiles }) =>
    readToolsReport(snapshot, filter, { groupBy: group_by, limit, hasPercentiles: percentiles }),
  );
  addReport('files', filesReportQuerySchema, filesReportSchema, readFilesReport);
  addReport('programs', programsReportQuerySchema, programsReportSchema, readProgramsReport);
  addReport('mcp-servers', mcpServersReportQuerySchema, mcpServersReportSchema, readMcpServersReport);
  addReport('skills', skillsReportQuerySchema, skillsReportSchema, readSkillsReport);
  addReport(
    'permission-denials',
    permissionDenialsReportQuerySchema,
    permissionDenialsReportSchema,
    readPermissionDenialsReport,
  );
}

function addEventReports(app: ApiApp, deps: Deps): void {
  const addReport = createReportRoutes(app, deps);

  addReport('subagents', subagentsReportQuerySchema, subagentsReportSchema, (snapshot, filter, { group_by, limit }) =>
    readSubagentsReport(snapshot, filter, { groupBy: group_by, limit }),
  );
  addReport(
    'compactions',
    compactionsReportQuerySchema,
    compactionsReportSchema,
    (snapshot, filter, { group_by, limit }) => readCompactionsReport(snapshot, filter, { groupBy: group_by, limit }),
  );
  addReport('api-errors', apiErrorsReportQuerySchema, apiErrorsReportSchema, (snapshot, filter, { group_by, limit }) =>
    readApiErrorsReport(snapshot, filter, { groupBy: group_by, limit }),
  );
  addReport('pull-requests', pullRequestsReportQuerySchema, pullRequestsReportSchema, readPullRequestsReport);
}

function addFindingReports(app: ApiApp, deps: Deps): void {
  const addReport = createReportRoutes(app, deps);
  const { now = Date.now } = deps;

  addReport('findings', findingsReportQuerySchema, findingsReportSchema, (snapshot, filter, query) => {
    const { kind, limit, min_result_bytes: minResultBytes, min_session_cost_usd: minSessionCostUsd } = query;
    return readFindingsReport(snapshot, filter, { kind, limit, minResultBytes, minSessionCostUsd, nowMs: now() });
  });

  addReport(
    'model-choice',
    modelChoiceReportQuerySchema,
    modelChoiceReportSchema,
    async (snapshot, filter, { limit }) =>
      await readModelChoiceReport(
        snapshot,
        filter,
        { limit },
        await readModelComparison(snapshot, filter.workspaceId, deps.priceSource?.file),
      ),
  );
}
