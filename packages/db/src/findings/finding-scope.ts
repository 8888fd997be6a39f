import { type SQL, sql } from '../drizzle.cjs';
import { isInWorkspace } from '../planner.ts';

/** Whose findings: of some sessions, or of all. */
export interface FindingScope {
  workspaceId: string;
  /** Undefined: all sessions of the workspace. */
  sessionIds?: readonly string[] | undefined;
}

/** Condition on the rows of a table: of the scope's sessions. */
export const isInScope = (alias: string, { workspaceId, sessionIds }: FindingScope): SQL =>
  sessionIds === undefined
    ? sql`${sql.raw(alias)}.workspace_id = ${workspaceId}`
    : isInWorkspace(alias, 'session_id', workspaceId, sessionIds);
