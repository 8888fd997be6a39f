import type { Database } from '../database/database.ts';
import { isInWorkspace, opaqueWorkspaceId } from '../database/planner.ts';
import { isAfter, readPages } from '../database/read-pages.ts';
import { and, asc, count, desc, eq, gt, inArray, isNotNull, isNull, lt, or, type SQL, sql } from '../drizzle.cjs';
import { type TranscriptRow, type TranscriptStatus, transcripts } from '../schema/transcripts.ts';

export async function findTranscript(
  database: Database,
  workspaceId: string,
  transcriptId: string,
): Promise<TranscriptRow | undefined> {
  const [row] = await database
    .select()
    .from(transcripts)
    .where(and(eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)), eq(transcripts.id, transcriptId)));
  return row;
}

/** The transcript whose raw object has that key. Not indexed, because it is for maintenance. */
export async function findTranscriptByObject(
  database: Database,
  workspaceId: string,
  objectKey: string,
): Promise<TranscriptRow | undefined> {
  const [row] = await database
    .select()
    .from(transcripts)
    .where(and(eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)), eq(transcripts.object_key, objectKey)));
  return row;
}

export interface TranscriptFilter {
  ids?: readonly string[] | undefined;
  sessionId?: string | undefined;
  sha256?: string | undefined;
  uploaderKeyId?: string | undefined;
  statuses?: readonly TranscriptStatus[] | undefined;
  /** Only transcripts that have rows; rows remain while a transcript waits to be ingested again. */
  hasRows?: true | undefined;
  /** True if issues lost part of a line. */
  hasErrors?: boolean | undefined;
  /** Only transcripts with rows of a parser older than this version, whose raw object is still there. */
  parsedBefore?: number | undefined;
}

/**
 * A workspace's transcripts in the order of their upload, or latest first; at most `limit` after the one with id
 * `afterId`.
 */
export async function listTranscripts(
  database: Database,
  workspaceId: string,
  filter: TranscriptFilter,
  page: { afterId?: string | undefined; limit: number; order?: 'asc' | 'desc' },
): Promise<TranscriptRow[]> {
  const [isAfter, direction] = page.order === 'desc' ? [lt, desc] : [gt, asc];
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
        filter.hasErrors === undefined ? undefined : (filter.hasErrors ? gt : eq)(transcripts.error_count, 0),
        filter.parsedBefore === undefined ? undefined : isParsedBefore(filter.parsedBefore),
        page.afterId === undefined ? undefined : isAfter(transcripts.id, page.afterId),
      ),
    )
    .orderBy(direction(transcripts.id))
    .limit(page.limit);
}

/** A row's version names its parser's, perhaps followed by `+` and its redaction rules'. */
const isParsedBefore = (version: number): SQL | undefined =>
  and(isNull(transcripts.raw_deleted_at), lt(sql`split_part(${transcripts.parser_version}, '+', 1)::integer`, version));

/** Number of transcripts by status; in all workspaces by default. */
export async function countTranscriptsByStatus(
  database: Database,
  filter: { workspaceId?: string; ids?: readonly string[] } = {},
): Promise<Record<TranscriptStatus, number>> {
  const counts: Record<TranscriptStatus, number> = { queued: 0, processing: 0, ingested: 0, superseded: 0, failed: 0 };
  const rows = await database
    .select({ status: transcripts.status, count: count() })
    .from(transcripts)
    .where(
      and(
        filter.workspaceId === undefined ? undefined : eq(transcripts.workspace_id, filter.workspaceId),
        filter.ids === undefined ? undefined : inArray(transcripts.id, [...filter.ids]),
      ),
    )
    .groupBy(transcripts.status);
  for (const row of rows) counts[row.status] = row.count;
  return counts;
}

/** Bytes of the raw transcripts that a workspace still has, as uploaded. */
export async function sumRawBytes(database: Database, workspaceId: string): Promise<number> {
  const [row] = await database
    .select({ bytes: sql<number>`coalesce(sum(${transcripts.size_bytes}), 0)::float8` })
    .from(transcripts)
    .where(and(eq(transcripts.workspace_id, workspaceId), isNull(transcripts.raw_deleted_at)));
  return row?.bytes ?? 0;
}

/** Issues that lost part of a line, and how many of a workspace's transcripts have some. */
export async function countTranscriptErrors(
  database: Database,
  workspaceId: string,
): Promise<{ errors: number; transcripts: number }> {
  const [row] = await database
    .select({ errors: sql<number>`coalesce(sum(${transcripts.error_count}), 0)::float8`, transcripts: count() })
    .from(transcripts)
    .where(and(eq(transcripts.workspace_id, workspaceId), gt(transcripts.error_count, 0)));
  return row ?? { errors: 0, transcripts: 0 };
}

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

/** Every transcript of a workspace, or of all, page by page, for maintenance only. */
export function listAllTranscripts(
  database: Database,
  filter: { workspaceId?: string | undefined; statuses?: readonly TranscriptStatus[] } = {},
): AsyncGenerator<TranscriptReference[]> {
  const { workspace_id, id, status } = transcripts;
  return readPages<TranscriptReference>(PAGE_ROWS, (last) =>
    database
      .select({
        workspace_id,
        id,
        object_key: transcripts.object_key,
        size_bytes: transcripts.size_bytes,
        sha256: transcripts.sha256,
        stored_sha256: transcripts.stored_sha256,
        status,
        raw_deleted_at: transcripts.raw_deleted_at,
        raw_damaged_at: transcripts.raw_damaged_at,
        created_at: transcripts.created_at,
      })
      .from(transcripts)
      .where(
        and(
          filter.workspaceId === undefined ? undefined : eq(workspace_id, filter.workspaceId),
          filter.statuses === undefined ? undefined : inArray(status, [...filter.statuses]),
          isAfter(workspace_id, id, last && { workspaceId: last.workspace_id, key: last.id }),
        ),
      )
      .orderBy(asc(workspace_id), asc(id))
      .limit(PAGE_ROWS),
  );
}

export type TranscriptState = Pick<TranscriptRow, 'id' | 'session_id' | 'status' | 'failure_reason' | 'raw_damaged_at'>;

/** The states of a workspace's transcripts, in any order; missing ones are left out. */
export async function listTranscriptStates(
  database: Database,
  workspaceId: string,
  ids: readonly string[],
): Promise<TranscriptState[]> {
  const { id, session_id, status, failure_reason, raw_damaged_at } = transcripts;
  return await database
    .select({ id, session_id, status, failure_reason, raw_damaged_at })
    .from(transcripts)
    .where(and(eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)), inArray(transcripts.id, [...ids])));
}

/** Transcripts of sessions, the ones that are among `ids` and those that have rows, in the order of their upload. */
export async function listSessionTranscripts(
  database: Database,
  workspaceId: string,
  sessionIds: readonly string[],
  ids: readonly string[],
): Promise<TranscriptRow[]> {
  if (sessionIds.length === 0) return [];
  return await database
    .select()
    .from(transcripts)
    .where(
      and(
        isInWorkspace('transcripts', 'session_id', workspaceId, sessionIds),
        or(inArray(transcripts.id, [...ids]), isNotNull(transcripts.ingested_at)),
      ),
    )
    .orderBy(asc(transcripts.id));
}
