export { type ReportFilter, type ReportRequest, resolveReportFilter } from '../filters/report-filter.ts';
export * from './read-api-errors-report.ts';
export * from './read-blocks-report.ts';
export * from './read-caveats.ts';
export { type CompactionFigures, readCompactionsReport } from './read-compactions-report.ts';
export * from './read-data-range.ts';
export {
  type DisagreeingCopy,
  type DisagreementFigures,
  readDisagreementsReport,
} from './read-disagreements-report.ts';
export type { DurationFigures } from './read-durations.ts';
export * from './read-files-report.ts';
export * from './read-findings-report.ts';
export * from './read-mcp-servers-report.ts';
export * from './read-model-choice-report.ts';
export * from './read-models-report.ts';
export * from './read-permission-denials-report.ts';
export * from './read-programs-report.ts';
export * from './read-pull-requests-report.ts';
export * from './read-reconciliation-report.ts';
export * from './read-session-usage.ts';
export {
  compareSessionsWithUsage,
  type ExpensiveSession,
  listExpensiveSessions,
  readSessionsReport,
  type SessionFigures,
} from './read-sessions-report.ts';
export * from './read-skills-report.ts';
export * from './read-subagents-report.ts';
export * from './read-tools-report.ts';
export * from './read-unpriced-terms.ts';
export { readUsageReport, type UsageReportFigures } from './read-usage-report.ts';
export type { GroupValues, ReportPage, ReportRows } from './report-groups.ts';
export type { ReportKey } from './report-keys.ts';
export { type ReportContext, readReport } from './statements.ts';
export type { CallFigures } from './tool-call-figures.ts';
export { DEFAULT_REPORT_TIMEOUT_MS, ReportTimeoutError, withReportSnapshot } from './with-report-snapshot.ts';
