import { MAX_ACTIVE_GAP_MS } from '@recount/core';
import { type SQL, sql } from '../drizzle.cjs';
import { transcriptMessages } from '../schema/messages.ts';

/**
 * The active time of the sessions of the transcripts with the messages `m` (the sum of the gaps between a transcript's
 * messages, without long ones). Rows have row_set_id and active_ms; none for a transcript without messages.
 */
export function selectActiveTimes(ofTranscripts: SQL): SQL {
  return sql`
    SELECT row_set_id, coalesce(sum(gap_ms) FILTER (WHERE gap_ms <= ${MAX_ACTIVE_GAP_MS}::int), 0) AS active_ms
    FROM (
      SELECT row_set_id, extract(epoch FROM "timestamp"
        - lag("timestamp") OVER (PARTITION BY row_set_id ORDER BY "timestamp")) * 1000 AS gap_ms
      FROM ${transcriptMessages} AS m
      WHERE ${ofTranscripts} AND "timestamp" IS NOT NULL
    ) AS gap
    GROUP BY row_set_id`;
}
