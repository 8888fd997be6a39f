import type { Database } from '../database.ts';
import { and, asc, eq, gt, inArray, isNotNull, isNull } from '../drizzle.cjs';
import { type TranscriptStatus, transcripts } from '../schema/transcripts.ts';
import type { TranscriptRow } from '../writes/insert-transcript.ts';

export interface TranscriptFilter {
  ids?: readonly string[] | undefined;
  sessionId?: string | undefined;
  sha256?: string | undefined;
  statuses?: readonly TranscriptStatus[] | undefined;
  /** Whether rows were made from it, which stay while it waits to be ingested again. */
  hasRows?: boolean | undefined;
}

/** A workspace's transcripts in the order of their upload, at most `limit` after the one with id `afterId`. */
export async function listTranscripts(
  database: Database,
  workspaceId: string,
  filter: TranscriptFilter,
  page: { afterId?: string | undefined; limit: number },
): Promise<TranscriptRow[]> {
  return await database
    .select()
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, workspaceId),
        filter.ids === undefined ? undefined : inArray(transcripts.id, [...filter.ids]),
        filter.sessionId === undefined ? undefined : eq(transcripts.session_id, filter.sessionId),
        filter.sha256 === undefined ? undefined : eq(transcripts.sha256, filter.sha256),
        filter.statuses === undefined ? undefined : inArray(transcripts.status, [...filter.statuses]),
        filter.hasRows === undefined
          ? undefined
          : filter.hasRows
            ? isNotNull(transcripts.ingested_at)
            : isNull(transcripts.ingested_at),
        page.afterId === undefined ? undefined : gt(transcripts.id, page.afterId),
      ),
    )
    .orderBy(asc(transcripts.id))
    .limit(page.limit);
}
