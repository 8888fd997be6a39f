import type { Database } from '../database/database.ts';
import { and, eq, or, sql } from '../drizzle.cjs';
import { lockSession, lockSessionRows } from '../sessions/lock-sessions.ts';
import { markReattributed, toAttributions } from '../usage/attribution.ts';
import { sessions, type TranscriptRow, transcripts } from './schema.ts';

type TranscriptOrigin = Pick<TranscriptRow, 'machine' | 'person'>;

/**
 * Fills in what a transcript, and the session whose figures are its own, lack of `origin`; known values never change.
 * Returns the transcript's updated row; undefined if nothing was missing.
 */
export async function completeOrigin(
  transaction: Database,
  { workspace_id, id, session_id }: Pick<TranscriptRow, 'workspace_id' | 'id' | 'session_id'>,
  { machine, person }: TranscriptOrigin,
): Promise<TranscriptRow | undefined> {
  await lockSession(transaction, workspace_id, session_id);
  const lacks = (table: typeof transcripts | typeof sessions) =>
    or(
      and(sql`${table.machine} IS NULL`, sql`${machine}::text IS NOT NULL`),
      and(sql`${table.person} IS NULL`, sql`${person}::text IS NOT NULL`),
    );
  const completed = (table: typeof transcripts | typeof sessions) => ({
    machine: sql`coalesce(${table.machine}, ${machine}::text)`,
    person: sql`coalesce(${table.person}, ${person}::text)`,
  });
  const [row] = await transaction
    .update(transcripts)
    .set(completed(transcripts))
    .where(and(eq(transcripts.workspace_id, workspace_id), eq(transcripts.id, id), lacks(transcripts)))
    .returning();
  if (row === undefined) return undefined;
  const before = await lockSessionRows(transaction, workspace_id, [session_id]);
  const isItsSession = and(eq(sessions.workspace_id, workspace_id), eq(sessions.session_id, session_id));
  const after = await transaction
    .update(sessions)
    .set(completed(sessions))
    .where(and(isItsSession, eq(sessions.primary_transcript_id, id)))
    .returning({
      session_id: sessions.session_id,
      agent: sessions.agent,
      project: sessions.project,
      person: sessions.person,
      machine: sessions.machine,
    });
  await markReattributed(transaction, workspace_id, before, toAttributions(after));
  return row;
}
