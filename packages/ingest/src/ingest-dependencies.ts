import type { DatabasePool } from '@recount/db';
import type { RawStore } from '@recount/storage';
import type { JobQueue } from './queue/index.ts';

/** What the composition root provides to everything that handles transcripts. */
export interface IngestDependencies {
  database: DatabasePool;
  rawStore: RawStore;
  queue: Pick<JobQueue, 'enqueue' | 'enqueueSmall' | 'findPending'>;
}
