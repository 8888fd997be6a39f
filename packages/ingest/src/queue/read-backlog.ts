import { type Database, sql } from '@recount/db';
import { DEAD_LETTER_QUEUE, INGEST_QUEUES } from './queue-options.ts';

export interface Backlog {
  /** Jobs that no worker has yet, those that pause between two attempts included. */
  waitingCount: number;
  /** Since the oldest of them was enqueued; 0 where none waits. */
  oldestAgeMs: number;
  /** Dead letters that are still to be noted on their transcripts. */
  deadLetterCount: number;
}

/** Reads the partial index of waiting jobs, whose size is the backlog's: a few milliseconds for ten thousand. */
export async function readBacklog(database: Database): Promise<Backlog> {
  const { rows } = await database.execute<{ waiting: number; dead: number; age: number }>(sql`
    SELECT count(*) FILTER (WHERE name <> ${DEAD_LETTER_QUEUE})::int AS waiting,
           count(*) FILTER (WHERE name = ${DEAD_LETTER_QUEUE})::int AS dead,
           coalesce(extract(epoch FROM now() - min(created_on) FILTER (WHERE name <> ${DEAD_LETTER_QUEUE})), 0)::float8 AS age
    FROM pgboss.job
    WHERE name = ANY(${sql.param([...INGEST_QUEUES, DEAD_LETTER_QUEUE])}::text[]) AND state < 'active' AND NOT blocked`);
  const { waiting = 0, dead = 0, age = 0 } = rows[0] ?? {};
  return { waitingCount: waiting, oldestAgeMs: Math.max(0, Math.round(age * 1000)), deadLetterCount: dead };
}
