export { deleteJobs } from './delete-jobs.ts';
export type { GroupedOutcome, IngestJob, JobOutcome, JobQueue, JobQueueOptions, WorkOptions } from './job-queue.ts';
export { createJobQueue } from './job-queue.ts';
export { migrateQueue } from './migrate-queue.ts';
export { MAX_ATTEMPTS, MAX_GROUP_JOBS } from './queue-options.ts';
export { type Backlog, readBacklog } from './read-backlog.ts';
