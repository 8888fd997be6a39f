export { API_KEY_SCOPES, type ApiKeyScope, type DeviceScope } from '@recount/contract/access';
export { TRANSCRIPT_STATUSES } from '@recount/contract/choices';
export * from './alerts/deliveries.ts';
export * from './alerts/destinations.ts';
export * from './attachments/delete-attachments.ts';
export * from './attachments/insert-attachment.ts';
export * from './attachments/read-attachments.ts';
export * from './bills/bill-rows.ts';
export * from './budgets/budgets.ts';
export { evaluateBudget } from './budgets/evaluate-budget.ts';
export { readBudgetStatus } from './budgets/read-spending.ts';
export { isolateWorkspace, moveShard, planRebalance, startRebalance, waitForRebalance } from './cluster/move-shards.ts';
export {
  assertAnswering,
  assertMovable,
  findNode,
  findPlacedWorkspace,
  type Isolation,
  planIsolation,
  planPlacement,
  type ShardMove,
  type TransferMode,
} from './cluster/plan-moves.ts';
export {
  type Cluster,
  listSilentNodes,
  type PlacedWorkspace,
  readCluster,
  type SilentNode,
} from './cluster/read-cluster.ts';
export * from './consistency/compare-rows.ts';
export { deleteOrphanedUsage } from './consistency/delete-orphaned-usage.ts';
export { type DerivedTableCheck, VERIFIED_TABLE_COUNT, verifyUsage } from './consistency/verify-usage.ts';
export { checkDatabaseWrite, checkRelations } from './database/check-database.ts';
export { type ClusterNode, toNodeName } from './database/cluster.ts';
export { findDifferingTimeZones } from './database/compare-time-zones.ts';
export {
  createDatabasePool,
  type Database,
  type DatabaseClient,
  type DatabaseOptions,
  type DatabasePool,
} from './database/database.ts';
export {
  findLostNode,
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
export { RelationCheckError, type RelationFault } from './database/relations.ts';
export type { DerivedOrigin, DerivedRows } from './derive/derived-rows.ts';
export { TranscriptDeriver } from './derive/transcript-deriver.ts';
export * from './digests/digests.ts';
export { type DigestContent, findLastPeriod, readDigest } from './digests/read-digest.ts';
export { sql } from './drizzle.cjs';
export * from './export/create-reader.ts';
export * from './export/export-queries.ts';
export * from './filters/resolve-names.ts';
export { resolveRepositories } from './filters/resolve-repositories.ts';
export * from './filters/visible-names.ts';
export {
  addressFindings,
  dismissFindings,
  listAddressed,
  listDismissals,
  reopenFindings,
  restoreFindings,
} from './findings/finding-decisions.ts';
export * from './live/live-bytes.ts';
export * from './live/live-events.ts';
export * from './live/live-sessions.ts';
export * from './live/live-streams.ts';
export * from './live/name-live-stream.ts';
export * from './live/stored-streams.ts';
export * from './messages/list-messages.ts';
export * from './messages/read-edits.ts';
export * from './messages/read-outline.ts';
export { distributeDatabase, listPlacements } from './migrations/distribute-tables.ts';
export {
  checkSchemaVersion,
  DatabaseEncodingError,
  migrateDatabase,
  SchemaVersionError,
} from './migrations/migrate-database.ts';
export * from './people/own-names.ts';
export * from './people/people.ts';
export { PeopleError, type PeopleErrorCode } from './people/people-errors.ts';
export * from './people/people-record.ts';
export type { PeopleScope } from './people/people-scope.ts';
export { type AccountKey, type AdmittedAccount, admitAccount } from './people/provider-accounts.ts';
export * from './people/read-people.ts';
export * from './people/show-people.ts';
export * from './people/teams.ts';
export * from './reports/index.ts';
export type { AttachmentRow } from './schema/attachments.ts';
export { type LiveStreamState, SEVERAL_UPLOADERS } from './schema/live.ts';
export type { SearchKind } from './schema/search.ts';
export { OPERATOR, type TranscriptRow, type TranscriptStatus } from './schema/transcripts.ts';
export type { Disagreement } from './schema/usage.ts';
export type { MaintenanceCheckKind, RedactionMode } from './schema/workspaces.ts';
export { indexSearchBatch, type SearchBatch } from './search/index-waiting.ts';
export { listLostRowSets, listLostSegments, removeLostSegments } from './search/lost-segments.ts';
export { listMergeableWorkspaces, mergeSegments, removeFromSegments } from './search/merge-segments.ts';
export * from './search/parse-search-query.ts';
export * from './search/read-search-backlog.ts';
export type { SnippetPart } from './search/search-snippet.ts';
export * from './search/search-transcripts.ts';
export { createSearchWriter, queueRowSets, type SearchWriter } from './search/segment-writer.ts';
export { countStraySegments, createExpectedTexts, SegmentVerifier } from './search/verify-segments.ts';
export { applyRepositoryRenames } from './sessions/apply-repository-renames.ts';
export * from './sessions/complete-origin.ts';
export * from './sessions/delete-session.ts';
export * from './sessions/delete-transcript.ts';
export { nameRepositories } from './sessions/name-repositories.ts';
export * from './sessions/outdated-prices.ts';
export { presentSessions, titleTranscripts } from './sessions/present-sessions.ts';
export * from './sessions/read-session-costs.ts';
export * from './sessions/read-sessions.ts';
export * from './sessions/reprice-transcript.ts';
export {
  type AnnotationRow,
  annotateSession,
  listAnnotations,
  listSessionTags,
  readAnnotationState,
  readAnnotations,
  restoreAnnotations,
  type SessionAnnotation,
} from './sessions/session-annotations.ts';
export * from './sessions/session-people.ts';
export * from './sessions/settle-sessions.ts';
export * from './shares/shares.ts';
export * from './telemetry/telemetry-records.ts';
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
  listSessionTranscripts,
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
export * from './workspaces/demo-workspaces.ts';
export * from './workspaces/device-requests.ts';
export * from './workspaces/enrolments.ts';
export * from './workspaces/maintenance-checks.ts';
export { readPlans, replacePlans } from './workspaces/plans.ts';
export * from './workspaces/price-overrides.ts';
export {
  listRepositoryRenames,
  listUnappliedWorkspaces,
  MAX_REPOSITORY_RENAMES,
  type RepositoryRename,
  renameRepositories,
  TooManyRenamesError,
  undoRepositoryRename,
} from './workspaces/repository-renames.ts';
export * from './workspaces/reprice-runs.ts';
export { RenameConflictError } from './workspaces/resolve-renames.ts';
export * from './workspaces/sign-in-links.ts';
export * from './workspaces/sign-ins.ts';
export * from './workspaces/workspace-records.ts';
export * from './workspaces/workspace-settings.ts';
export * from './workspaces/workspaces.ts';
