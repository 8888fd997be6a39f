export * from './attachments/delete-attachments.ts';
export * from './attachments/insert-attachment.ts';
export * from './attachments/read-attachments.ts';
export * from './consistency/compare-rows.ts';
export { deleteOrphanedUsage } from './consistency/delete-orphaned-usage.ts';
export { type DerivedTableCheck, VERIFIED_TABLE_COUNT, verifyUsage } from './consistency/verify-usage.ts';
export {
  checkDatabaseWrite,
  checkRelations,
  describeUnreadShards,
  RelationCheckError,
  type RelationFault,
} from './database/check-database.ts';
export { findDifferingTimeZones } from './database/compare-time-zones.ts';
export {
  createDatabasePool,
  type Database,
  type DatabaseClient,
  type DatabaseOptions,
  type DatabasePool,
} from './database/database.ts';
export {
  isConnectionLost,
  isDatabaseExhausted,
  isDatabaseFull,
  isDatabaseUnavailable,
} from './database/database-unavailable.ts';
export * from './database/disk-use.ts';
export { lockFreeSessions, lockSession } from './database/lock-sessions.ts';
export * from './database/locks.ts';
export { preferIndexes } from './database/planner.ts';
export * from './database/refresh-statistics.ts';
export type { DerivedOrigin, DerivedRows } from './derive/derived-rows.ts';
export { TranscriptDeriver } from './derive/transcript-deriver.ts';
export { sql } from './drizzle.cjs';
export * from './export/export-queries.ts';
export * from './filters/resolve-names.ts';
export * from './live/live-bytes.ts';
export * from './live/live-events.ts';
export * from './live/live-sessions.ts';
export * from './live/live-streams.ts';
export * from './live/name-live-stream.ts';
export * from './live/stored-streams.ts';
export * from './messages/list-messages.ts';
export * from './messages/read-edits.ts';
export * from './messages/read-outline.ts';
export { DistributionError, distributeDatabase, listPlacements } from './migrations/distribute-tables.ts';
export {
  checkSchemaVersion,
  DatabaseEncodingError,
  migrateDatabase,
  SchemaVersionError,
} from './migrations/migrate-database.ts';
export * from './reports/index.ts';
export type { AttachmentRow } from './schema/attachments.ts';
export { type LiveStreamState, SEVERAL_UPLOADERS } from './schema/live.ts';
export type { SearchKind } from './schema/search.ts';
export { OPERATOR, TRANSCRIPT_STATUSES, type TranscriptRow, type TranscriptStatus } from './schema/transcripts.ts';
export type { Disagreement } from './schema/usage.ts';
export {
  API_KEY_SCOPES,
  type ApiKeyScope,
  type MaintenanceCheckKind,
  type RedactionMode,
} from './schema/workspaces.ts';
export { indexSearchBatch, type SearchBatch } from './search/index-waiting.ts';
export { listLostRowSets } from './search/lost-row-sets.ts';
export { listMergeableWorkspaces, mergeSegments, removeFromSegments } from './search/merge-segments.ts';
export * from './search/parse-search-query.ts';
export * from './search/read-search-backlog.ts';
export type { SnippetPart } from './search/search-snippet.ts';
export * from './search/search-transcripts.ts';
export { createSearchWriter, queueRowSets, type SearchWriter } from './search/segment-writer.ts';
export { countStraySegments, createExpectedTexts, SegmentVerifier } from './search/verify-segments.ts';
export * from './sessions/complete-origin.ts';
export * from './sessions/delete-session.ts';
export * from './sessions/delete-transcript.ts';
export { createGrowthCollector } from './sessions/growth-collector.ts';
export * from './sessions/read-session-costs.ts';
export * from './sessions/read-sessions.ts';
export * from './sessions/reprice-transcript.ts';
export { readSessionErrors, type SessionErrors } from './sessions/session-errors.ts';
export * from './sessions/settle-sessions.ts';
export * from './sessions/settle-transcripts.ts';
export * from './shares/shares.ts';
export * from './transcripts/checkpoints.ts';
export { deleteTranscriptRows } from './transcripts/delete-rows.ts';
export * from './transcripts/ingest-jobs.ts';
export * from './transcripts/insert-transcripts.ts';
export { type ExpiredTranscript, listExpiredRawObjects, listExpiredSessions } from './transcripts/list-expired.ts';
export { type IssueRow, listIssues } from './transcripts/list-issues.ts';
export { listNotices, type Notice } from './transcripts/list-notices.ts';
export * from './transcripts/list-transcripts-by-content.ts';
export * from './transcripts/raw-objects.ts';
export {
  countTranscriptErrors,
  countTranscriptsByStatus,
  findTranscript,
  findTranscriptByObject,
  listAllTranscripts,
  listGroupableTranscripts,
  listTranscriptStates,
  listTranscripts,
  sumRawBytes,
  type TranscriptFilter,
  type TranscriptReference,
  type TranscriptState,
} from './transcripts/read-transcripts.ts';
export { findNextUsageNumbers } from './transcripts/replaced-usage.ts';
export {
  type PrefixRows,
  type RowNumbers,
  type RowSet,
  type RowSetKey,
  toNewRowSet,
  type UsageNumbers,
} from './transcripts/transcript-rows.ts';
export * from './transcripts/transcript-status.ts';
export * from './transcripts/transcript-versions.ts';
export * from './transcripts/transcript-writer.ts';
export { refreshTotals } from './usage/refresh-totals.ts';
export * from './workspaces/api-keys.ts';
export * from './workspaces/audit-log.ts';
export * from './workspaces/create-reader.ts';
export * from './workspaces/device-requests.ts';
export * from './workspaces/maintenance-checks.ts';
export * from './workspaces/price-overrides.ts';
export * from './workspaces/sign-ins.ts';
export * from './workspaces/workspace-records.ts';
export * from './workspaces/workspace-settings.ts';
export * from './workspaces/workspaces.ts';
