import type { Database } from '../database/database.ts';
import { and, asc, gt, inArray, or, sql } from '../drizzle.cjs';
import { type TranscriptStatus, transcripts } from './schema.ts';

export type TranscriptReference = Pick<
  typeof transcripts.$inferSelect,
  | 'workspace_id'
  | 'id'
  | 'object_key'
  | 'size_bytes'
  | 'sha256'
  | 'stored_sha256'
  | 'status'
  | 'raw_deleted_at'
  | 'raw_damaged_at'
  | 'created_at'
>;

const PAGE_ROWS = 1000;

/** Every transcript of every workspace, a page at a time: for maintenance only. */
export async function* listAllTranscripts(
  database: Database,
  filter: { statuses?: readonly TranscriptStatus[] } = {},
): AsyncGenerator<TranscriptReference[]> {
  let last: TranscriptReference | undefined;
  for (;;) {
    const page: TranscriptReference[] = await database
      .select({
        workspace_id: transcripts.workspace_id,
        id: transcripts.id,
        object_key: transcripts.object_key,
        size_bytes: transcripts.size_bytes,
        sha256: transcripts.sha256,
        stored_sha256: transcripts.stored_sha256,
        status: transcripts.status,
        raw_deleted_at: transcripts.raw_deleted_at,
        raw_damaged_at: transcripts.raw_damaged_at,
        created_at: transcripts.created_at,
      })
      .from(transcripts)
      .where(
        and(
          filter.statuses === undefined ? undefined : inArray(transcripts.status, [...filter.statuses]),
          last === undefined
            ? undefined
            : or(
                gt(transcripts.workspace_id, last.workspace_id),
                and(sql`${transcripts.workspace_id} = ${last.workspace_id}`, gt(transcripts.id, last.id)),
              ),
        ),
      )
      .orderBy(asc(transcripts.workspace_id), asc(transcripts.id))
      .limit(PAGE_ROWS);
    if (page.length > 0) yield page;
    last = page.at(-1);
    if (page.length < PAGE_ROWS) return;
  }
}
