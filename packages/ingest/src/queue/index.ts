export { deleteJobs } from './delete-jobs.ts';
export type {
  GroupedOutcome,
  IngestJob,
  JobHandler,
  JobOutcome,
  JobQueue,
  JobQueueOptions,
  WorkOptions,
} from './job-queue.ts';
export { createJobQueue } from './job-queue.ts';
export { migrateQueue } from './migrate-queue.ts';
export { INGEST_QUEUE, MAX_ATTEMPTS, SMALL_INGEST_QUEUE } from './queue-options.ts';
export { type Backlog, readBacklog } from './read-backlog.ts';
