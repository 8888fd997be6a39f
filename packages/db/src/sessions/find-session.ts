import type { Database } from '../database/database.ts';
import { and, eq } from '../drizzle.cjs';
import { sessions } from '../transcripts/schema.ts';

export type SessionRow = typeof sessions.$inferSelect;

export async function findSession(
  database: Database,
  workspaceId: string,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const [row] = await database
    .select()
    .from(sessions)
    .where(and(eq(sessions.workspace_id, workspaceId), eq(sessions.session_id, sessionId)));
  return row;
}
