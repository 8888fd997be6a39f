import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';
import { listTranscriptsByContent } from '../queries/list-transcripts-by-content.ts';
import { toJsonText } from '../rows/to-json-text.ts';
import { transcripts } from '../schema/transcripts.ts';
import { list } from './ledger-definition.ts';

export type TranscriptRow = typeof transcripts.$inferSelect;

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
  'grown_from',
  'tail_sha256',
] as const satisfies readonly (keyof TranscriptRow)[];

export type NewTranscript = Omit<Pick<TranscriptRow, (typeof COLUMNS)[number]>, 'grown_from' | 'tail_sha256'> &
  Partial<Pick<TranscriptRow, 'grown_from' | 'tail_sha256'>>;

export interface InsertedTranscript {
  row: TranscriptRow;
  isDuplicate: boolean;
}

/**
 * Inserts a workspace's transcripts, each unless its session has the same bytes already; returns the rows that are there
 * now, in order. Safe against concurrent uploads: the unique constraint decides. To be called once in a transaction: two
 * that insert the same ones wait for each other in one order.
 */
export async function insertTranscripts(
  transaction: Database,
  workspaceId: string,
  newTranscripts: readonly NewTranscript[],
): Promise<InsertedTranscript[]> {
  const columns = list(COLUMNS, (name) => name);
  const { rows: inserted } = await transaction.execute<{ id: string }>(sql`
    INSERT INTO ${transcripts} (workspace_id, ${columns})
    SELECT ${workspaceId}, ${columns}
    FROM jsonb_populate_recordset(NULL::${transcripts}, ${toJsonText(newTranscripts)}::jsonb)
    ORDER BY session_id, sha256, id
    ON CONFLICT DO NOTHING RETURNING id`);
  const insertedIds = new Set(inserted.map(({ id }) => id));
  const contents = newTranscripts.map(({ session_id, sha256 }) => ({ sessionId: session_id, sha256 }));
  const rows = await listTranscriptsByContent(transaction, workspaceId, contents);
  return newTranscripts.map(({ id }, index) => {
    const row = rows[index];
    // Deleted between the two statements: the caller's retry will insert it.
    if (row === undefined) throw new Error('The transcript was deleted while it was uploaded again');
    return { row, isDuplicate: row.id !== id || !insertedIds.delete(id) };
  });
}
