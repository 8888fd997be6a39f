import type { DatabasePool } from '../database/database.ts';
import type { TranscriptRow } from '../schema/transcripts.ts';
import { transcripts } from '../schema/transcripts.ts';
import { TEST_WORKSPACE } from './create-test-pool.ts';

type Fields = Partial<typeof transcripts.$inferInsert> & { id: string };

/** Inserts only a transcript's row, as if it had been ingested; `fields` override everything. */
export async function insertTestTranscript(pool: DatabasePool, fields: Fields): Promise<TranscriptRow> {
  const [row] = await pool.database
    .insert(transcripts)
    .values({
      workspace_id: TEST_WORKSPACE,
      session_id: 'session',
      agent: 'claude-code',
      format: 'claude-code',
      is_stream: false,
      sha256: `sha-${fields.id}`,
      size_bytes: 1000,
      object_key: `key-${fields.id}`,
      status: 'ingested',
      ingested_at: '2026-01-02T00:00:00.000Z',
      ...fields,
    })
    .returning();
  if (row === undefined) throw new Error('Not inserted');
  return row;
}
