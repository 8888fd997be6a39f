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
export {
  type Backlog,
  deleteJobs,
  INGEST_QUEUE,
  MAX_ATTEMPTS,
  migrateQueue,
  readBacklog,
  SMALL_INGEST_QUEUE,
} from './queues.ts';
