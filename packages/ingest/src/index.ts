export type { IngestDependencies } from './ingest-dependencies.ts';
export { deleteSession } from './maintain/delete-session.ts';
export { requeueTranscript } from './maintain/requeue-transcript.ts';
export { type DoctorOptions, type Finding, runDoctor } from './maintain/run-doctor.ts';
export { toFailureReason } from './process/failure-reason.ts';
export { handleDeadLetter, handleJob, type JobReport } from './process/handle-job.ts';
export { PARSER_VERSION, type ProcessOptions, processTranscript } from './process/process-transcript.ts';
export { ReceiveError, type ReceiveErrorCode } from './receive/receive-error.ts';
export {
  DEFAULT_MAX_TRANSCRIPT_BYTES,
  type ReceiveRequest,
  type ReceiveResult,
  receiveTranscript,
} from './receive/receive-transcript.ts';
