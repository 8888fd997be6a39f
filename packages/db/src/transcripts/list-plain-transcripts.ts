import type { Database } from '../database/database.ts';
import { and, asc, eq, isNull, lte, sql } from '../drizzle.cjs';
import { isInWorkspace } from '../planner.ts';
import type { TranscriptRow } from './schema.ts';
import { transcripts } from './schema.ts';

export type PlainTranscript = Pick<
  TranscriptRow,
  'id' | 'session_id' | 'agent' | 'format' | 'object_key' | 'sha256' | 'size_bytes'
>;

/**
 * Those of some transcripts that wait for their first ingestion, have at most `maxBytes`, and are alone in their session:
 * nothing of it is ingested, and no other of `ids` is of it. In the order of their upload.
 */
export async function listPlainTranscripts(
  database: Database,
  workspaceId: string,
  ids: readonly string[],
  maxBytes: number,
): Promise<PlainTranscript[]> {
  if (ids.length === 0) return [];
  const isWithout = sql`NOT EXISTS (
    SELECT FROM ${transcripts} AS o
    WHERE o.workspace_id = ${transcripts.workspace_id} AND o.session_id = ${transcripts.session_id}
      AND o.id <> ${transcripts.id} AND (o.ingested_at IS NOT NULL OR o.id = ANY(${sql.param([...ids])}::text[])))`;
  const { id, session_id, agent, format, object_key, sha256, size_bytes } = transcripts;
  return await database
    .select({ id, session_id, agent, format, object_key, sha256, size_bytes })
    .from(transcripts)
    .where(
      and(
        isInWorkspace('transcripts', 'id', workspaceId, ids),
        eq(transcripts.status, 'queued'),
        eq(transcripts.attempt_count, 0),
        eq(transcripts.is_stream, false),
        isNull(transcripts.ingested_at),
        isNull(transcripts.stored_sha256),
        lte(transcripts.size_bytes, maxBytes),
        isWithout,
      ),
    )
    .orderBy(asc(transcripts.id));
}
