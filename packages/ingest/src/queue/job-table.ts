/**
 * Statements on pg-boss's table of jobs, for what its API cannot do within bounds: it finds jobs by one id or one value
 * at a time and returns them whole, deletes them by id alone, counts a queue by reading all its jobs, and knows no ages.
 * Everything else goes through its API. Check these after an upgrade; their tests run on the real tables.
 */
import { type Database, sql } from '@recount/db';
import type { Db } from 'pg-boss';
import { DEAD_LETTER_QUEUE, INGEST_QUEUES } from './queues.ts';

/** Finds which of the transcripts have a job waiting or in progress in one of the queues. */
export async function findPendingIn(
  database: Db,
  queues: readonly string[],
  transcriptIds: readonly string[],
): Promise<Set<string>> {
  const { rows } = await database.executeSql(
    `SELECT DISTINCT data->>'transcriptId' AS id FROM pgboss.job
     WHERE name = ANY($1) AND state IN ('created', 'retry', 'active') AND data->>'transcriptId' = ANY($2)`,
    [[...queues], [...transcriptIds]],
  );
  return new Set(rows.map(({ id }: { id: string }) => id));
}

/**
 * Deletes all jobs and dead letters of a workspace, or of some transcripts, including finished ones that the queue
 * keeps for a while. A worker that has one finishes it and finds nothing to do.
 */
export async function deleteJobs(
  transaction: Database,
  { workspaceId, transcriptIds }: { workspaceId: string; transcriptIds?: readonly string[] },
): Promise<void> {
  const ofTranscripts =
    transcriptIds === undefined
      ? sql`true`
      : sql`data->>'transcriptId' = ANY(${sql.param([...transcriptIds])}::text[])`;
  await transaction.execute(sql`
    DELETE FROM pgboss.job
    WHERE name = ANY(${sql.param([...INGEST_QUEUES, DEAD_LETTER_QUEUE])}::text[])
      AND data->>'workspaceId' = ${workspaceId} AND ${ofTranscripts}`);
}

export interface Backlog {
  /** Jobs that no worker has yet, including those pausing between attempts. */
  waitingCount: number;
  /** Time since the oldest of them was enqueued; 0 if none is waiting. */
  oldestAgeMs: number;
  /** Dead letters not yet recorded on their transcripts. */
  deadLetterCount: number;
}

/**
 * Reads the partial index of waiting jobs, whose size is the backlog's. It takes a few milliseconds for ten thousand.
 */
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
