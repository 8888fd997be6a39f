import { isRewrittenFormat, isStreamFormat } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { toJsonText } from '../schema/column-types.ts';
import { listColumns } from '../schema/list-columns.ts';
import { type TranscriptRow, transcripts } from '../schema/transcripts.ts';
import { listTranscriptsByContent } from './list-transcripts-by-content.ts';

const COLUMNS = [
  'id',
  'session_id',
  'agent',
  'format',
  'path',
  'is_subagent',
  'parent_session_id',
  'agent_id',
  'sha256',
  'size_bytes',
  'object_key',
  'uploader_key_id',
  'machine',
  'person',
  'sent_repository',
  'worktree',
  'grown_from',
  'tail_sha256',
  'stored_sha256',
] as const satisfies readonly (keyof TranscriptRow)[];

type OptionalColumn =
  | 'uploader_key_id'
  | 'machine'
  | 'person'
  | 'sent_repository'
  | 'worktree'
  | 'grown_from'
  | 'tail_sha256'
  | 'stored_sha256';

export type NewTranscript = Omit<Pick<TranscriptRow, (typeof COLUMNS)[number]>, OptionalColumn> &
  Partial<Pick<TranscriptRow, OptionalColumn>> & {
    /** The time of receipt, ISO 8601. Default now. */
    created_at?: string | undefined;
  };

export interface InsertedTranscript {
  row: TranscriptRow;
  isDuplicate: boolean;
}

/**
 * Inserts a workspace's transcripts, except those whose session already has the same bytes; returns the rows that exist
 * now, in order. Safe against concurrent uploads, because the unique constraint decides. Call it only once in a
 * transaction, so that concurrent inserts of the same transcripts wait in the same order.
 */
export async function insertTranscripts(
  transaction: Database,
  workspaceId: string,
  newTranscripts: readonly NewTranscript[],
): Promise<InsertedTranscript[]> {
  const columns = listColumns(COLUMNS, (name) => name);
  const records = newTranscripts.map((transcript) => ({
    ...transcript,
    is_stream: isStreamFormat(transcript.format),
    is_rewritten: isRewrittenFormat(transcript.format),
  }));
  const { rows: inserted } = await transaction.execute<{ id: string }>(sql`
    INSERT INTO ${transcripts} (workspace_id, created_at, is_stream, is_rewritten, ${columns})
    SELECT ${workspaceId}, coalesce(created_at, now()), is_stream, is_rewritten, ${columns}
    FROM jsonb_populate_recordset(NULL::${transcripts}, ${toJsonText(records)}::jsonb)
    ORDER BY session_id, sha256, id
    ON CONFLICT DO NOTHING RETURNING id`);
  const insertedIds = new Set(inserted.map(({ id }) => id));
  const contents = newTranscripts.map(({ session_id, sha256 }) => ({ sessionId: session_id, sha256 }));
  const rows = await listTranscriptsByContent(transaction, workspaceId, contents);
  return newTranscripts.map(({ id }, index) => {
    const row = rows[index];
    // Deleted between the two statements. The caller's retry will insert it.
    if (row === undefined) throw new Error('The transcript was deleted while it was uploaded again');
    return { row, isDuplicate: row.id !== id || !insertedIds.delete(id) };
  });
}
