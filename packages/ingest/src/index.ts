export { createDirectTarget } from './backfill/direct-target.ts';
export { createDoctorCounts, type DoctorCounts } from './consistency/check-raw-objects.ts';
export { isHarmless, needsAttention } from './consistency/doctor-report.ts';
export { createMaintenanceRunner, type MaintenanceRunner } from './consistency/maintenance-runner.ts';
export { type RebuildFinding, type RebuildProgress, rebuildDatabase } from './consistency/rebuild-database.ts';
export { rebuildUsage } from './consistency/rebuild-usage.ts';
export { type DoctorOptions, type Finding, runDoctor } from './consistency/run-doctor.ts';
export { type LeftOut, type RawVerification, verifyTranscripts } from './consistency/verify-transcripts.ts';
export type { IngestDependencies } from './ingest-dependencies.ts';
export { toKeyShare } from './key-share.ts';
export { MAX_GROUPED_BYTES } from './limits.ts';
export { createLiveBudget, type LiveBudget, type LiveShare } from './live/live-budget.ts';
export { LiveError, type LiveErrorCode } from './live/live-error.ts';
export type { LiveDependencies, LiveEnding, LiveWriter } from './live/live-writer.ts';
export {
  createOverlap,
  type LiveLimits,
  type LiveRequest,
  newStreamId,
  type Overlap,
  openLiveWriter,
  readStoredStream,
} from './live/open-live-writer.ts';
export { settleLiveStream } from './live/settle-live-stream.ts';
export { type TendOptions, tendLiveStreams } from './live/tend-live-streams.ts';
export { deleteSession, deleteTranscript, deleteWorkspace } from './maintenance/deletions.ts';
export { runReaderCleanup } from './maintenance/drop-readers.ts';
export { runTotals } from './maintenance/refresh-totals.ts';
export { runReparsing } from './maintenance/reparse-outdated.ts';
export { type RepriceProgress, repriceWorkspace } from './maintenance/reprice-workspace.ts';
export { requeueOutdated } from './maintenance/requeue-outdated.ts';
export {
  type RetentionDeps,
  type RetentionOptions,
  type RetentionReport,
  type RetentionResult,
  retainWorkspace,
  runRetention,
} from './maintenance/retention.ts';
export { runWorkspaceRecorder } from './maintenance/workspace-records.ts';
export { openPriceFile } from './prices/open-price-file.ts';
export {
  changePriceSettings,
  type PriceSettings,
  type PriceSettingsChange,
  readModelComparison,
  readPriceCaveats,
  readPriceSettings,
  readWorkspacePrices,
} from './prices/workspace-prices.ts';
export { toFailureReason } from './process/failure-reason.ts';
export { type BatchOutcome, handleBatch } from './process/handle-batch.ts';
export { handleJob } from './process/handle-job.ts';
export type { JobReport } from './process/job-report.ts';
export { createOutageGate, type OutageGate, type OutageGateDeps } from './process/outage-gate.ts';
export type { ProcessOptions } from './process/process-transcript.ts';
export { MAX_ATTEMPTS } from './queue/attempts.ts';
export { type RequeueAudit, requeueTranscript } from './queue/requeue-transcript.ts';
export { runJobs } from './queue/run-jobs.ts';
export { readAttachment } from './raw-objects/read-attachment.ts';
export type { DuplicateOutcome } from './raw-objects/settle-duplicate.ts';
export { ReceiveError, type ReceiveErrorCode } from './receive/measure-body.ts';
export {
  type AttachmentRequest,
  DEFAULT_MAX_ATTACHMENT_BYTES,
  type ReceivedAttachment,
  type ReceivedAttachmentOutcome,
  receiveAttachment,
} from './receive/receive-attachment.ts';
export {
  DEFAULT_MAX_TRANSCRIPT_BYTES,
  type ReceiveRequest,
  type ReceiveResult,
  receiveTranscript,
} from './receive/receive-transcript.ts';
export type { RecordUpload } from './receive/record-uploads.ts';
export {
  runSearchIndexer,
  type SearchIndexerDeps,
  type SearchIndexerOptions,
} from './search/run-search-indexer.ts';
