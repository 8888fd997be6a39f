import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { toolDayRollup } from '../schema/rollups.ts';
import { sessions } from '../schema/transcripts.ts';
import { sessionEvents } from '../schema/usage.ts';

/** The failures in a session. */
export interface SessionErrors {
  tool_error_count: number;
  api_error_count: number;
}

/** Counts failed tool calls and API errors of each session; leaves out sessions without any. */
export async function readSessionErrors(
  database: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<Map<string, SessionErrors>> {
  const ids = sql.param([...sessionIds]);
  const { rows } = await database.execute<{
    session_id: string;
    tool_error_count: number;
    api_error_count: number;
  }>(sql`
    SELECT session_id, sum(tool_errors)::int AS tool_error_count, sum(api_errors)::int AS api_error_count
    FROM (
      SELECT session_id, errors AS tool_errors, 0 AS api_errors FROM ${toolDayRollup}
      WHERE workspace_id = ${workspaceId} AND session_id = ANY(${ids}::text[]) AND errors > 0
      UNION ALL
      SELECT session_id, 0, count(DISTINCT event_key) FROM ${sessionEvents}
      WHERE workspace_id = ${workspaceId} AND kind = 'api_error' AND session_id = ANY(${ids}::text[])
      GROUP BY session_id
    ) AS failure
    GROUP BY session_id`);
  return new Map(rows.map(({ session_id, ...counts }) => [session_id, counts]));
}

/**
 * Condition for a query of `sessions` with a failure. Each session is looked up, so that a page looks no further than
 * it goes: `OFFSET 0` keeps the planner from gathering all that failed in the workspace.
 */
export const hasErrors = (workspaceId: string): SQL => sql`(
  EXISTS (
    SELECT FROM ${toolDayRollup} AS r
    WHERE r.workspace_id = ${workspaceId} AND r.session_id = ${sessions.session_id} AND r.errors > 0 OFFSET 0)
  OR EXISTS (
    SELECT FROM ${sessionEvents} AS e
    WHERE e.workspace_id = ${workspaceId} AND e.session_id = ${sessions.session_id} AND e.kind = 'api_error' OFFSET 0))`;
