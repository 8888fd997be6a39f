import { type Database, sql } from '@recount/db';
import { DEAD_LETTER_QUEUE, INGEST_QUEUES } from './queue-options.ts';

/**
 * Deletes all jobs and dead letters of a workspace, or those of some transcripts, the finished ones that the queue keeps
 * for a while included. A worker that has one finishes it, and finds nothing to do.
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
