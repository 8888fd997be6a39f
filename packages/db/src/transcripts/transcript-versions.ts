import type { Database } from '../database/database.ts';
import { and, desc, eq, gte, inArray, lt, ne, sql } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import { deleteTranscriptRows } from './delete-transcript.ts';
import { type TranscriptRow, transcripts } from './schema.ts';
import { transcriptFigures } from './transcript-figures.ts';

/** What a longer transcript of the session is compared with. */
export interface StoredVersion {
  id: string;
  sizeBytes: number;
  sha256: string;
}

/** Of a session that is uploaded again and again, all but the latest are superseded. */
const MAX_VERSIONS = 20;

/** The largest transcripts of a session that have rows or will have some, and at least `minBytes`. */
export async function listSessionVersions(
  database: Database,
  workspaceId: string,
  sessionId: string,
  minBytes: number,
): Promise<StoredVersion[]> {
  return await database
    .select({ id: transcripts.id, sizeBytes: transcripts.size_bytes, sha256: transcripts.sha256 })
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)),
        eq(transcripts.session_id, sessionId),
        gte(transcripts.size_bytes, minBytes),
        inArray(transcripts.status, ['queued', 'processing', 'ingested']),
      ),
    )
    .orderBy(desc(transcripts.size_bytes))
    .limit(MAX_VERSIONS);
}

/** Whether a session has transcripts shorter than this one that are not superseded, or not yet. */
export async function hasShorterVersions(
  database: Database,
  { workspace_id, session_id, size_bytes }: Pick<TranscriptRow, 'workspace_id' | 'session_id' | 'size_bytes'>,
): Promise<boolean> {
  const found = await database
    .select({ id: transcripts.id })
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspace_id)),
        eq(transcripts.session_id, session_id),
        lt(transcripts.size_bytes, size_bytes),
        ne(transcripts.status, 'superseded'),
      ),
    )
    .limit(1);
  return found.length > 0;
}

/** Columns that tell of rows which a superseded transcript does not have. */
const CLEARED_COLUMNS = [
  ...Object.keys(transcriptFigures()),
  'line_count',
  'content_block_count',
  'error_count',
  'warning_count',
  'issue_counts',
  'secret_counts',
  'rows_deleted_at',
  'parser_version',
  'price_version',
  'row_set_id',
];

/**
 * Takes the rows of transcripts away whose bytes are the beginning of `supersededBy`, and their figures with them, so
 * that nothing is counted twice and the order of arrival leaves no trace. The raw objects stay.
 */
export async function supersedeTranscripts(
  transaction: Database,
  workspaceId: string,
  superseded: readonly Pick<TranscriptRow, 'id' | 'row_set_id'>[],
  supersededBy: string,
): Promise<void> {
  if (superseded.length === 0) return;
  const rowSetIds = superseded.flatMap(({ row_set_id }) => row_set_id ?? []);
  await deleteTranscriptRows(transaction, workspaceId, rowSetIds);
  await markSuperseded(transaction, workspaceId, superseded, supersededBy);
}

/** Takes their rows from transcripts without deleting them: `supersededBy`, which goes on with them, takes them over. */
export async function markSuperseded(
  transaction: Database,
  workspaceId: string,
  superseded: readonly Pick<TranscriptRow, 'id'>[],
  supersededBy: string,
): Promise<void> {
  await transaction
    .update(transcripts)
    .set({
      ...Object.fromEntries(CLEARED_COLUMNS.map((column) => [column, sql`DEFAULT`])),
      status: 'superseded',
      superseded_by: supersededBy,
      is_diverged: false,
      failure_reason: null,
      ingested_at: null,
    })
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)),
        inArray(
          transcripts.id,
          superseded.map(({ id }) => id),
        ),
      ),
    );
}
