import { isInWorkspace } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';

/** Which sessions' findings, some, or all of a workspace. */
export interface FindingScope {
  workspaceId: string;
  /** Undefined means all sessions of the workspace. */
  sessionIds?: readonly string[] | undefined;
}

/** Condition on the rows of a table that belong to the scope's sessions. */
export const isInScope = (alias: string, { workspaceId, sessionIds }: FindingScope): SQL =>
  sessionIds === undefined
    ? sql`${sql.raw(alias)}.workspace_id = ${workspaceId}`
    : isInWorkspace(alias, 'session_id', workspaceId, sessionIds);
