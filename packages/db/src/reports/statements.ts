import type { ReportBody, ReportName, ReportQuery } from '@recount/contract';
import type { Database } from '../database/database.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import { describeSessions } from './describe-sessions.ts';
import { readAddressedReport } from './read-addressed-report.ts';
import { readApiErrorsReport } from './read-api-errors-report.ts';
import { readBillsReport } from './read-bills-report.ts';
import { readBlocksReport } from './read-blocks-report.ts';
import { readChangesReport } from './read-changes-report.ts';
import { readCompactionsReport } from './read-compactions-report.ts';
import { readDisagreementsReport } from './read-disagreements-report.ts';
import { readFilesReport } from './read-files-report.ts';
import { readFindingsReport } from './read-findings-report.ts';
import { readForecastReport } from './read-forecast-report.ts';
import { readMcpServersReport } from './read-mcp-servers-report.ts';
import { type ModelComparison, readModelChoiceReport } from './read-model-choice-report.ts';
import { readModelsReport } from './read-models-report.ts';
import { readPermissionDenialsReport } from './read-permission-denials-report.ts';
import { readPlansReport } from './read-plans-report.ts';
import { readProgramsReport } from './read-programs-report.ts';
import { readPullRequestsReport } from './read-pull-requests-report.ts';
import { readReconciliationReport } from './read-reconciliation-report.ts';
import { compareSessionsWithUsage, listExpensiveSessions, readSessionsReport } from './read-sessions-report.ts';
import { readSkillsReport } from './read-skills-report.ts';
import { readSubagentsReport } from './read-subagents-report.ts';
import { readTelemetryReport } from './read-telemetry-report.ts';
import { readToolsReport } from './read-tools-report.ts';
import { readUsageReport } from './read-usage-report.ts';
import { readWasteReport } from './read-waste-report.ts';
import type { ReportPage } from './report-groups.ts';

type CamelCase<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Text;

/** The query of a report with names in camelCase. */
type Page<Query> = { [Key in keyof Query & string as CamelCase<Key>]: Query[Key] };

/** Data that some reports need besides the database. */
export interface ReportContext {
  nowMs: number;
  readModelComparison(): Promise<ModelComparison>;
}

type Statements = {
  [Name in ReportName]: (
    database: Database,
    filter: ReportFilter,
    page: Page<ReportQuery<Name>>,
    context: ReportContext,
  ) => Promise<ReportBody<Name>>;
};

/** The statement of each report in the registry of `@recount/contract`. */
const STATEMENTS: Statements = {
  usage: readUsageReport,
  models: readModelsReport,
  sessions: async (database, filter, page) => {
    const report = await readSessionsReport(database, filter, page);
    return {
      ...report,
      idle_threshold_ms: page.idleThresholdMs,
      usage: await compareSessionsWithUsage(database, filter, report.totals.own_cost_usd),
      most_expensive: await listExpensiveSessions(database, filter, page),
    };
  },
  blocks: async (database, filter, page, { nowMs }) => {
    const report = await readBlocksReport(database, filter, page);
    const isActive = ({ start, end }: { start: string; end: string }): boolean =>
      Date.parse(start) <= nowMs && nowMs < Date.parse(end);
    return { ...report, rows: report.rows.map((block) => ({ ...block, is_active: isActive(block) })) };
  },
  disagreements: readDisagreementsReport,
  reconciliation: readReconciliationReport,
  tools: readToolsReport,
  files: readFilesReport,
  programs: readProgramsReport,
  'mcp-servers': readMcpServersReport,
  skills: readSkillsReport,
  'permission-denials': readPermissionDenialsReport,
  subagents: readSubagentsReport,
  compactions: readCompactionsReport,
  'api-errors': readApiErrorsReport,
  'pull-requests': readPullRequestsReport,
  findings: (database, filter, page, { nowMs }) => readFindingsReport(database, filter, { ...page, nowMs }),
  addressed: (database, filter, page, { nowMs }) => readAddressedReport(database, filter, page, nowMs),
  'model-choice': async (database, filter, page, { readModelComparison }) =>
    readModelChoiceReport(database, filter, page, await readModelComparison()),
  forecast: (database, filter, _page, { nowMs }) => readForecastReport(database, filter, nowMs),
  plans: (database, filter, _page, { nowMs }) => readPlansReport(database, filter, nowMs),
  changes: (database, filter, page, { nowMs }) => readChangesReport(database, filter, { ...page, nowMs }),
  waste: readWasteReport,
  telemetry: readTelemetryReport,
  bills: readBillsReport,
};

/** Reads the rows of a report, its totals and what else belongs to it. Rows by session also say which one it is. */
export async function readReport<Name extends ReportName>(
  name: Name,
  database: Database,
  filter: ReportFilter,
  query: ReportQuery<Name>,
  context: ReportContext,
): Promise<ReportBody<Name>> {
  const page = toPage<Name>(query);
  const report = await STATEMENTS[name](database, filter, page, context);
  const { groupBy = [] } = page as Pick<ReportPage, 'groupBy'>;
  return groupBy.includes('session') ? await describeSessions(database, filter, report) : report;
}

const toPage = <Name extends ReportName>(query: ReportQuery<Name>): Page<ReportQuery<Name>> =>
  Object.fromEntries(
    Object.entries(query as object).map(([key, value]) => [
      key.replace(/_(\w)/g, (_, next: string) => next.toUpperCase()),
      value,
    ]),
  ) as Page<ReportQuery<Name>>;
