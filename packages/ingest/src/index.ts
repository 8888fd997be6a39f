export type {
  BackfillFailure,
  BackfillOutcome,
  BackfillReport,
  BackfillSkipReason,
} from './backfill/backfill-report.ts';
export type { BackfillEvent } from './backfill/backfill-tally.ts';
export {
  type BackfillTarget,
  BackfillTargetError,
  type BackfillTargetErrorCode,
  type Delivery,
  type StoredTranscript,
} from './backfill/backfill-target.ts';
export { createDirectTarget } from './backfill/direct-target.ts';
export { type BackfillDeps, type BackfillOptions, runBackfill } from './backfill/run-backfill.ts';
export type { IngestDependencies } from './ingest-dependencies.ts';
export { LiveError, type LiveErrorCode } from './live/live-error.ts';
export type { LiveDependencies, LiveEnding, LiveWriter } from './live/live-writer.ts';
export { type LiveLimits, type LiveRequest, newStreamId, openLiveWriter } from './live/open-live-writer.ts';
export { createOverlap, type Overlap, readStoredStream } from './live/overlap.ts';
export { type TendOptions, tendLiveStreams } from './live/tend-live-streams.ts';
export { deleteSession } from './maintain/delete-session.ts';
export { deleteTranscript } from './maintain/delete-transcript.ts';
export { deleteWorkspace } from './maintain/delete-workspace.ts';
export { createDoctorCounts, type DoctorCounts } from './maintain/doctor-counts.ts';
export type { Finding } from './maintain/finding.ts';
export { type RebuildFinding, type RebuildProgress, rebuildDatabase } from './maintain/rebuild-database.ts';
export { rebuildUsage } from './maintain/rebuild-usage.ts';
export { type RepriceProgress, repriceWorkspace } from './maintain/reprice-workspace.ts';
export { requeueOutdated } from './maintain/requeue-outdated.ts';
export { type RequeueAudit, requeueTranscript } from './maintain/requeue-transcript.ts';
export { type DoctorOptions, runDoctor } from './maintain/run-doctor.ts';
export { runWorkspaceRecorder } from './maintain/workspace-records.ts';
export {
  changePriceSettings,
  type PriceSettings,
  type PriceSettingsChange,
  readPriceSettings,
} from './prices/change-workspace-prices.ts';
export { readWorkspacePrices } from './prices/read-workspace-prices.ts';
export { toFailureReason } from './process/failure-reason.ts';
export { handleGroup } from './process/handle-group.ts';
export { handleDeadLetter, handleJob, type JobReport } from './process/handle-job.ts';
export { createOutageGate, type OutageGate, type OutageGateDeps } from './process/outage-gate.ts';
export { MAX_GROUPED_BYTES } from './process/process-group.ts';
export type { ProcessOptions } from './process/process-transcript.ts';
export type { DuplicateOutcome } from './raw-objects/settle-duplicate.ts';
export { ReceiveError, type ReceiveErrorCode } from './receive/receive-error.ts';
export {
  DEFAULT_MAX_TRANSCRIPT_BYTES,
  type ReceiveRequest,
  type ReceiveResult,
  receiveTranscript,
} from './receive/receive-transcript.ts';
export type { RecordUpload } from './receive/record-uploads.ts';
export { type RetentionOptions, type RetentionResult, retainWorkspace } from './retain/retain-workspace.ts';
export { type RetentionDeps, type RetentionReport, runRetention } from './retain/run-retention.ts';
export {
  indexWaitingSessions,
  runSearchIndexer,
  type SearchIndexerDeps,
  type SearchIndexerOptions,
} from './search/run-search-indexer.ts';
