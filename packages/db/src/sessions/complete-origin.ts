import type { Database } from '../database/database.ts';
import { lockSession } from '../database/lock-sessions.ts';
import { and, eq, or, sql } from '../drizzle.cjs';
import { type TranscriptRow, transcripts } from '../schema/transcripts.ts';
import { markReattributed } from '../usage/attribution.ts';
import { lockSessionRows } from './lock-session-rows.ts';
import { refreshSessions } from './refresh-sessions.ts';

type TranscriptOrigin = Pick<TranscriptRow, 'machine' | 'person'>;

/**
 * Fills in what a transcript lacks of machine and person, and derives its session again; known values never change.
 * Returns the transcript's updated row; undefined if nothing was missing.
 */
export async function completeOrigin(
  transaction: Database,
  { workspace_id, id, session_id }: Pick<TranscriptRow, 'workspace_id' | 'id' | 'session_id'>,
  { machine, person }: TranscriptOrigin,
): Promise<TranscriptRow | undefined> {
  await lockSession(transaction, workspace_id, session_id);
  const lacks = or(
    and(sql`${transcripts.machine} IS NULL`, sql`${machine}::text IS NOT NULL`),
    and(sql`${transcripts.person} IS NULL`, sql`${person}::text IS NOT NULL`),
  );
  const completed = {
    machine: sql`coalesce(${transcripts.machine}, ${machine}::text)`,
    person: sql`coalesce(${transcripts.person}, ${person}::text)`,
  };
  const [row] = await transaction
    .update(transcripts)
    .set(completed)
    .where(and(eq(transcripts.workspace_id, workspace_id), eq(transcripts.id, id), lacks))
    .returning();
  if (row === undefined) return undefined;
  const before = await lockSessionRows(transaction, workspace_id, [session_id]);
  const after = await refreshSessions(transaction, workspace_id, [session_id]);
  await markReattributed(transaction, workspace_id, before, after);
  return row;
}
