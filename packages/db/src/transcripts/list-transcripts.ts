import type { Database } from '../database/database.ts';
import { and, asc, eq, gt, inArray, isNotNull } from '../drizzle.cjs';
import type { TranscriptRow } from './schema.ts';
import { type TranscriptStatus, transcripts } from './schema.ts';

export interface TranscriptFilter {
  ids?: readonly string[] | undefined;
  sessionId?: string | undefined;
  sha256?: string | undefined;
  uploaderKeyId?: string | undefined;
  statuses?: readonly TranscriptStatus[] | undefined;
  /** Only those from which rows were made; the rows stay while such a one waits to be ingested again. */
  hasRows?: true | undefined;
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
        filter.uploaderKeyId === undefined ? undefined : eq(transcripts.uploader_key_id, filter.uploaderKeyId),
        filter.statuses === undefined ? undefined : inArray(transcripts.status, [...filter.statuses]),
        filter.hasRows ? isNotNull(transcripts.ingested_at) : undefined,
        page.afterId === undefined ? undefined : gt(transcripts.id, page.afterId),
      ),
    )
    .orderBy(asc(transcripts.id))
    .limit(page.limit);
}
