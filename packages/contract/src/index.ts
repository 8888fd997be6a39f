export * from './attachments.ts';
export * from './choices.ts';
export * from './conversation.ts';
export * from './device.ts';
export { countChangedLines, type Edit, toPatchEdits } from './edits.ts';
export * from './exports.ts';
export {
  MAX_PATH_LENGTH,
  MAX_SESSION_ID_LENGTH,
} from './fields.ts';
export * from './finding-reports.ts';
export * from './health.ts';
export * from './live.ts';
export * from './maintenance.ts';
export * from './messages.ts';
export * from './price-effect.ts';
export * from './price-words.ts';
export * from './problem.ts';
export type { DataRange, ReportCaveats, ReportFilters } from './report-shape.ts';
export * from './search.ts';
export * from './session-changes.ts';
export * from './session-costs.ts';
export * from './session-reports.ts';
export * from './sessions.ts';
export * from './shares.ts';
export * from './sign-in.ts';
export * from './tool-reports.ts';
export * from './transcripts.ts';
export * from './uploads.ts';
export type { UsageFigures } from './usage-figures.ts';
export * from './usage-reports.ts';
export * from './workspace.ts';
