import type { DatabasePool } from '@recount/db';
import type { RawStore } from '@recount/storage';

/** Everything that the composition root provides to all code that handles transcripts. */
export interface IngestDependencies {
  database: DatabasePool;
  rawStore: RawStore;
}
