import { type SQL, sql } from '../drizzle.cjs';
import type { RowSetKey } from '../rows/transcript-rows.ts';
import { transcriptMessages } from '../schema/messages.ts';

/** A longer pause between two messages is taken for idle and not counted at all. */
export const MAX_ACTIVE_GAP_MS = 5 * 60_000;

/** For how long a transcript's session was active: the gaps between its messages in time, long ones left out. */
export function toActiveTime(key: RowSetKey): SQL<number> {
  return sql<number>`(
    SELECT coalesce(sum(gap_ms) FILTER (WHERE gap_ms <= ${MAX_ACTIVE_GAP_MS}::int), 0) FROM (
      SELECT extract(epoch FROM "timestamp" - lag("timestamp") OVER (ORDER BY "timestamp")) * 1000 AS gap_ms
      FROM ${transcriptMessages}
      WHERE workspace_id = ${key.workspaceId} AND row_set_id = ${key.rowSetId} AND "timestamp" IS NOT NULL
    ) AS gap)`;
}
