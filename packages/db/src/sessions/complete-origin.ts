import type { Database } from '../database/database.ts';
import { lockSession } from '../database/lock-sessions.ts';
import { and, eq, isNull, or, sql } from '../drizzle.cjs';
import { type TranscriptRow, transcripts } from '../schema/transcripts.ts';
import { nameRepository } from '../transcripts/transcript-rows.ts';
import { markReattributed } from '../usage/attribution.ts';
import { lockSessionRows } from './lock-session-rows.ts';
import { refreshSessions } from './refresh-sessions.ts';

const COLUMNS = ['machine', 'person', 'sent_repository', 'worktree'] as const;

type TranscriptOrigin = Pick<TranscriptRow, (typeof COLUMNS)[number]>;

/**
 * Fills in what a transcript lacks of machine, person and repository, and derives its session again; known values never change.
 * Returns the transcript's updated row; undefined if nothing was missing.
 */
export async function completeOrigin(
  transaction: Database,
  { workspace_id, id, session_id }: Pick<TranscriptRow, 'workspace_id' | 'id' | 'session_id'>,
  origin: TranscriptOrigin,
): Promise<TranscriptRow | undefined> {
  await lockSession(transaction, workspace_id, session_id);
  const known = COLUMNS.filter((name) => origin[name] !== null);
  const lacks = or(...known.map((name) => isNull(transcripts[name])));
  if (lacks === undefined) return undefined;
  const isThis = and(eq(transcripts.workspace_id, workspace_id), eq(transcripts.id, id));
  const [completed] = await transaction
    .update(transcripts)
    .set(Object.fromEntries(known.map((name) => [name, sql`coalesce(${transcripts[name]}, ${origin[name]}::text)`])))
    .where(and(isThis, lacks))
    .returning();
  if (completed === undefined) return undefined;
  const row = { ...completed, repository: nameRepository(completed) };
  if (row.repository !== completed.repository) {
    await transaction.update(transcripts).set({ repository: row.repository }).where(isThis);
  }
  const before = await lockSessionRows(transaction, workspace_id, [session_id]);
  const after = await refreshSessions(transaction, workspace_id, [session_id]);
  await markReattributed(transaction, workspace_id, before, after);
  return row;
}
