import type { JobWithMetadata, PgBoss } from 'pg-boss';
import type { StoredJob } from './ingest-job.ts';
import { persist } from './persist.ts';
import { INGEST_QUEUE } from './queues.ts';

const FIRST_PAUSE_SECONDS = 2;
const MAX_PAUSE_SECONDS = 300;

/**
 * Puts a job off after an outage, so that its attempt does not count; returns how the attempt is to end. Works even if
 * the queue has declared the worker dead since then, but not if another worker has started the next attempt. Waits
 * for a database that is unavailable or read-only, until `isStopping`; then throws.
 *
 * pg-boss changes no job that a worker has, so the job fails first and is then permitted one more attempt. After its
 * last attempt it would become a dead letter, so a new job with a single attempt replaces it.
 */
export async function putOff(
  boss: Pick<PgBoss, 'fail' | 'findJobs' | 'send' | 'update'>,
  { id, data, priority, retryCount, retryLimit }: JobWithMetadata<StoredJob>,
  { reason, isShared }: { reason: string; isShared: boolean },
  isStopping: () => boolean,
): Promise<'completed' | 'failed'> {
  const write = <Result>(operation: () => Promise<Result>): Promise<Result> => persist(operation, isStopping);
  const outageCount = (data.outageCount ?? 0) + (isShared ? 0 : 1);
  const job: StoredJob = { ...data, outageCount };
  if (retryCount >= retryLimit) {
    const startAfter = Math.min(FIRST_PAUSE_SECONDS * 2 ** Math.min(outageCount, 16), MAX_PAUSE_SECONDS);
    await write(() => boss.send(INGEST_QUEUE, job, { priority, startAfter, retryLimit: 0 }));
    return 'completed';
  }
  const [stored] = await write(() => boss.findJobs(INGEST_QUEUE, { id }));
  const isOwn = stored?.retryCount === retryCount && (stored.state === 'active' || stored.state === 'retry');
  if (!isOwn) return 'failed';
  await write(() => boss.fail(INGEST_QUEUE, id, { reason }));
  await write(() => boss.update(INGEST_QUEUE, job, { id, retryLimit: retryLimit + 1 }));
  // Not completed, because another worker has the job if the update was late. Failing a waiting job changes nothing.
  return 'failed';
}
