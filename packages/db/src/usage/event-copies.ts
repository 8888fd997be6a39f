import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { transcripts } from '../schema/transcripts.ts';

/**
 * The earliest of each event's copies, as in the view `analytics.session_events`, from a query of all copies of some
 * events. Looks their transcripts up one by one; the view joins all transcripts.
 */
export const selectFirstCopies = (copies: SQL, workspaceId: string): SQL => sql`
  SELECT DISTINCT ON (e.event_key) e.* FROM (${copies}) AS e CROSS JOIN LATERAL (
    SELECT first_timestamp, size_bytes, sha256 FROM ${transcripts}
    WHERE workspace_id = ${opaqueWorkspaceId(workspaceId)} AND row_set_id = e.row_set_id OFFSET 0
  ) AS t
  ORDER BY e.event_key, e."timestamp" NULLS LAST, t.first_timestamp NULLS LAST, e.session_id, t.size_bytes DESC, t.sha256,
    e.event_number`;
