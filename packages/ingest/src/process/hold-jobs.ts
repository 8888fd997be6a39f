import { type Database, type DatabasePool, finishJobs, holdJobs, releaseJobs } from '@recount/db';

/** Another worker has the job, or it is done. */
export class JobNotHeldError extends Error {
  override name = 'JobNotHeldError';
}

interface Jobs {
  workspaceId: string;
  transcriptIds: readonly string[];
  /** Called when a transaction holds them. */
  onHeld?: () => Promise<void>;
}

/**
 * The same database for ingesting the transcripts of jobs. Each transaction holds the jobs from its beginning, so that
 * no other worker takes them and they are free immediately if this process dies; and deletes those whose transcripts have
 * stopped waiting. It fails with JobNotHeldError if it can hold none.
 */
export function holdingJobs(database: DatabasePool, { workspaceId, transcriptIds, onHeld }: Jobs): DatabasePool {
  const finish = async (transaction: Database, held: readonly string[]): Promise<void> => {
    const waiting = await finishJobs(transaction, workspaceId, held);
    await releaseJobs(transaction, workspaceId, waiting, { isAlone: true });
  };
  return {
    ...database,
    withTransaction: (work, options) =>
      database.withTransaction(async (transaction, client) => {
        const held = [...(await holdJobs(transaction, workspaceId, transcriptIds))];
        if (held.length === 0) throw new JobNotHeldError('Another worker has the job, or it is done');
        await onHeld?.();
        const result = await work(transaction, client);
        await finish(transaction, held);
        return result;
      }, options),
  };
}
