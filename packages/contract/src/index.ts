export {
  DEFAULT_REPORT_ROWS,
  GROUP_KEYS,
  type GroupKey,
  MAX_REPORT_ROWS,
  SUBAGENT_FILTERS,
  TIME_KEYS,
} from './analytics-query.ts';
export * from './exports.ts';
export { MAX_PATH_LENGTH, MAX_SESSION_ID_LENGTH } from './fields.ts';
export * from './health.ts';
export * from './live.ts';
export * from './messages.ts';
export * from './paging.ts';
export * from './prices.ts';
export * from './problem.ts';
export type { ReportCaveats, ReportFilters } from './report-shape.ts';
export * from './search.ts';
export * from './session-reports.ts';
export * from './sessions.ts';
export * from './settings.ts';
export * from './tool-reports.ts';
export * from './transcripts.ts';
export * from './uploads.ts';
export * from './usage-figures.ts';
export * from './usage-reports.ts';
