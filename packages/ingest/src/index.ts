export { addDestination, MissingSecretKeyError } from './alerts/add-destination.ts';
export { type AlertOptions, createAlertOptions } from './alerts/alert-options.ts';
export { AddressError } from './alerts/check-address.ts';
export { runDeliveries } from './alerts/deliver-messages.ts';
export { describeDigest } from './alerts/describe-digest.ts';
export { createSecretBox, type SecretBox, SecretBoxError } from './alerts/secret-box.ts';
export { createDirectTarget } from './backfill/direct-target.ts';
export { createDoctorCounts, type DoctorCounts } from './consistency/check-raw-objects.ts';
export { findStoreFault } from './consistency/check-store.ts';
export { isHarmless, needsAttention } from './consistency/doctor-report.ts';
export { createMaintenanceRunner } from './consistency/maintenance-runner.ts';
export { type RebuildFinding, type RebuildProgress, rebuildDatabase } from './consistency/rebuild-database.ts';
export { rebuildUsage } from './consistency/rebuild-usage.ts';
export { type Finding, runDoctor } from './consistency/run-doctor.ts';
export { type LeftOut, type RawVerification, verifyTranscripts } from './consistency/verify-transcripts.ts';
export { deleteDemo, openDemo } from './demo/open-demo.ts';
export { toFailureReason } from './failure-reason.ts';
export type { IngestDependencies } from './ingest-dependencies.ts';
export { toKeyShare } from './key-share.ts';
export { MAX_GROUPED_BYTES } from './limits.ts';
export { createLiveBudget } from './live/live-budget.ts';
export { LiveError, type LiveErrorCode } from './live/live-error.ts';
export type { LiveDependencies, LiveWriter } from './live/live-writer.ts';
export {
  createOverlap,
  type LiveRequest,
  newStreamId,
  openLiveWriter,
  readStoredStream,
} from './live/open-live-writer.ts';
export { settleLiveStream } from './live/settle-live-stream.ts';
export { tendLiveStreams } from './live/tend-live-streams.ts';
export { runRepositoryRenaming } from './maintenance/apply-repository-renames.ts';
export { deleteSession, deleteTranscript, deleteWorkspace } from './maintenance/deletions.ts';
export { runReaderCleanup } from './maintenance/drop-readers.ts';
export { runBudgets } from './maintenance/evaluate-budgets.ts';
export { runRepositoryNaming } from './maintenance/name-repositories.ts';
export { runTotals } from './maintenance/refresh-totals.ts';
export { runReparsing } from './maintenance/reparse-outdated.ts';
export { repriceWorkspace } from './maintenance/reprice-workspace.ts';
export { requeueOutdated } from './maintenance/requeue-outdated.ts';
export { retainWorkspace, runRetention } from './maintenance/retention.ts';
export { followReprice, runRepricing } from './maintenance/run-repricing.ts';
export { runDigests } from './maintenance/send-digests.ts';
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
export { handleBatch } from './process/handle-batch.ts';
export { handleJob } from './process/handle-job.ts';
export type { JobReport } from './process/job-report.ts';
export { createOutageGate } from './process/outage-gate.ts';
export { MAX_ATTEMPTS } from './queue/attempts.ts';
export { type RequeueAudit, requeueTranscript } from './queue/requeue-transcript.ts';
export { runJobs } from './queue/run-jobs.ts';
export { readAttachment } from './raw-objects/read-attachment.ts';
export { ReceiveError, type ReceiveErrorCode } from './receive/measure-body.ts';
export type { ReceiveRequest } from './receive/prepare-upload.ts';
export { DEFAULT_MAX_ATTACHMENT_BYTES, receiveAttachment } from './receive/receive-attachment.ts';
export {
  DEFAULT_MAX_TRANSCRIPT_BYTES,
  receiveTranscript,
} from './receive/receive-transcript.ts';
export { runSearchIndexer, type SearchIndexerDeps } from './search/run-search-indexer.ts';
