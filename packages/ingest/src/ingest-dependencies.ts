import type { DatabasePool } from '@recount/db';
import type { RawStore } from '@recount/storage';
import type { JobQueue } from './queue/index.ts';

/** Everything that the composition root provides to all code that handles transcripts. */
export interface IngestDependencies {
  database: DatabasePool;
  rawStore: RawStore;
  queue: Pick<JobQueue, 'enqueue' | 'enqueueSmall' | 'findPending'>;
}
