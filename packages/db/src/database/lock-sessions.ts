import { type SQL, sql } from '../drizzle.cjs';
import { transcripts } from '../schema/transcripts.ts';
import type { Database } from './database.ts';
import { isInWorkspace } from './planner.ts';

/**
 * Waits for the session's lock and holds it until the transaction ends. Everyone who writes or deletes a session's rows
 * holds it, so that its versions are compared and replaced one at a time.
 */
export async function lockSession(transaction: Database, workspaceId: string, sessionId: string): Promise<void> {
  await transaction.execute(sql`SELECT pg_advisory_xact_lock(${toLockKey(sql`${`${workspaceId}/${sessionId}`}`)})`);
}

/**
 * Like `lockSession` for those sessions of transcripts that are not locked, without waiting; returns them. Two
 * statements, because Citus would take locks on the node of a table that the statement reads.
 */
export async function lockFreeSessions(
  transaction: Database,
  workspaceId: string,
  transcriptIds: readonly string[],
): Promise<string[]> {
  const { rows } = await transaction.execute<{ session_id: string }>(sql`
    SELECT DISTINCT session_id FROM ${transcripts} AS t WHERE ${isInWorkspace('t', 'id', workspaceId, transcriptIds)}`);
  const sessionIds = rows.map(({ session_id }) => session_id);
  return [...(await tryLockSessions(transaction, workspaceId, sessionIds))];
}

/** Like `lockSession` for sessions that are not locked, without waiting; returns them. */
export async function tryLockSessions(
  transaction: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<Set<string>> {
  const { rows } = await transaction.execute<{ session_id: string }>(sql`
    SELECT session_id FROM unnest(${sql.param([...new Set(sessionIds)])}::text[]) AS s (session_id)
    WHERE pg_try_advisory_xact_lock(${toLockKey(sql`${workspaceId}::text || '/' || session_id`)})`);
  return new Set(rows.map(({ session_id }) => session_id));
}

const toLockKey = (name: SQL): SQL => sql`hashtextextended(${name}, 0)`;
