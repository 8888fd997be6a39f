import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';
import type { TranscriptKey } from '../rows/transcript-rows.ts';
import { transcriptMessages } from '../schema/messages.ts';
import { transcripts } from '../schema/transcripts.ts';

/** A longer pause between two messages is taken for idle and not counted at all. */
export const MAX_ACTIVE_GAP_MS = 5 * 60_000;

/** Stores for how long a transcript's session was active: the gaps between its messages in time, long ones left out. */
export async function measureActiveTime(transaction: Database, key: TranscriptKey): Promise<void> {
  await transaction.execute(sql`
    UPDATE ${transcripts} SET active_ms = (
      SELECT coalesce(sum(gap_ms) FILTER (WHERE gap_ms <= ${MAX_ACTIVE_GAP_MS}::int), 0) FROM (
        SELECT extract(epoch FROM "timestamp" - lag("timestamp") OVER (ORDER BY "timestamp")) * 1000 AS gap_ms
        FROM ${transcriptMessages}
        WHERE workspace_id = ${key.workspaceId} AND transcript_id = ${key.transcriptId} AND "timestamp" IS NOT NULL
      ) AS gap)
    WHERE workspace_id = ${key.workspaceId} AND id = ${key.transcriptId}`);
}
