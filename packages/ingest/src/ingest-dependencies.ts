import type { DatabasePool } from '@recount/db';
import type { JobQueue } from '@recount/queue';
import type { RawStore } from '@recount/storage';

/** What the composition root hands to everything that moves transcripts. */
export interface IngestDependencies {
  database: DatabasePool;
  rawStore: RawStore;
  queue: Pick<JobQueue, 'enqueue' | 'enqueueSmall' | 'findPending'>;
}
