import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { contentBlocks } from '../schema/messages.ts';
import { toolCalls } from '../schema/usage.ts';
import type { RowSetKey } from '../transcripts/transcript-rows.ts';

/** A call that edits a file and did not fail. */
export interface EditCall {
  call_number: number;
  /** If it names several, the first one. */
  file_path: string | null;
  /** Null if the row has only its beginning, or none. */
  tool_input: unknown;
}

/**
 * Edits of a transcript in the order of their calls, at most `limit`, after the one with number `afterNumber`; fewer if
 * their lines are longer than `maxBytes`, but at least one if there are any.
 */
export async function readEdits(
  database: Database,
  { workspaceId, rowSetId }: RowSetKey,
  { afterNumber = -1, limit, maxBytes }: { afterNumber?: number | undefined; limit: number; maxBytes: number },
): Promise<EditCall[]> {
  const { rows } = await database.execute<Record<string, unknown> & EditCall>(sql`
    SELECT call_number, file_path, tool_input
    FROM (
      SELECT c.call_number, c.file_path, b.tool_input, coalesce(sum(b.byte_length) OVER (
        ORDER BY c.call_number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
      FROM (
        SELECT * FROM ${toolCalls}
        WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId} AND call_number > ${afterNumber}
          AND tool_kind = 'edit' AND is_error IS NOT TRUE AND NOT is_denied
        ORDER BY call_number LIMIT ${limit}
      ) AS c
      LEFT JOIN LATERAL (
        SELECT b.tool_input, b.byte_length FROM ${contentBlocks} AS b
        WHERE b.workspace_id = ${workspaceId} AND b.row_set_id = c.row_set_id AND b.message_id = c.message_id
          AND b.tool_kind = 'edit' AND b.tool_use_id = split_part(c.call_key, '/', -1) AND b.metadata -> 'truncated' IS NULL
        LIMIT 1
      ) AS b ON true
    ) AS edits
    WHERE bytes_before < ${maxBytes}
    ORDER BY call_number`);
  return rows;
}
