export type { IngestJob } from './ingest-job.ts';
export {
  createJobQueue,
  type GroupedOutcome,
  type JobHandler,
  type JobOutcome,
  type JobQueue,
  type JobQueueOptions,
  type WorkOptions,
} from './job-queue.ts';
export { type Backlog, deleteJobs, readBacklog } from './job-table.ts';
export {
  INGEST_QUEUE,
  MAX_ATTEMPTS,
  migrateQueue,
  SMALL_INGEST_QUEUE,
} from './queues.ts';
