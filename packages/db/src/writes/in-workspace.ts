import { type SQL, sql } from '../drizzle.cjs';

/**
 * Condition that `workspace_id` and `column`, both of `alias`, are the workspace and one of the ids. The workspace is joined and
 * not compared with a constant: the planner would look it up in its statistics, take one that is newer than they are
 * for empty, and read all of its rows by whatever index names it.
 */
export function isInWorkspace(alias: string, column: string, workspaceId: string, ids: readonly string[]): SQL {
  const [workspace, id] = [sql.raw(`${alias}.workspace_id`), sql.raw(`${alias}.${column}`)];
  return sql`(${workspace}, ${id}) IN (
    SELECT * FROM unnest(${sql.param(ids.map(() => workspaceId))}::text[], ${sql.param([...ids])}::text[]))`;
}

/**
 * The workspace's id for comparisons, hidden from the planner, which would look it up in its statistics and take a workspace that
 * is newer than they are for empty: it would read all of it where it should look rows up by their whole key.
 */
export const toHiddenWorkspace = (workspaceId: string): SQL => sql`(SELECT ${workspaceId}::text)`;
