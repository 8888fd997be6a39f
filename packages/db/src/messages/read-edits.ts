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
 * their inputs are longer than `maxBytes`, but at least one if there are any.
 */
export async function readEdits(
  database: Database,
  { workspaceId, rowSetId }: RowSetKey,
  { afterNumber = -1, limit, maxBytes }: { afterNumber?: number | undefined; limit: number; maxBytes: number },
): Promise<EditCall[]> {
  const { rows: calls } = await database.execute<
    Record<string, unknown> & Omit<EditCall, 'tool_input'> & { message_id: string; tool_use_id: string }
  >(sql`
    SELECT call_number, file_path, message_id, split_part(call_key, '/', -1) AS tool_use_id
    FROM (
      SELECT *, coalesce(sum(input_bytes) OVER (
        ORDER BY call_number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
      FROM (
        SELECT * FROM ${toolCalls}
        WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId} AND call_number > ${afterNumber}
          AND tool_kind = 'edit' AND is_error IS NOT TRUE AND NOT is_denied
        ORDER BY call_number LIMIT ${limit}
      ) AS page
    ) AS measured
    WHERE bytes_before < ${maxBytes}
    ORDER BY call_number`);
  if (calls.length === 0) return [];
  const idsOf = (key: 'message_id' | 'tool_use_id') => sql.param(calls.map((call) => call[key]));
  // Inputs of all calls together, because a message may have thousands; but not of their copies in other messages.
  const { rows: inputs } = await database.execute<
    Record<string, unknown> & { message_id: string; tool_use_id: string; tool_input: unknown }
  >(sql`
    SELECT DISTINCT ON (message_id, tool_use_id) message_id, tool_use_id,
      CASE WHEN metadata -> 'truncated' IS NULL THEN tool_input END AS tool_input
    FROM ${contentBlocks}
    WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId} AND message_id = ANY(${idsOf('message_id')}::text[])
      AND (message_id, tool_use_id) IN (
        SELECT * FROM unnest(${idsOf('message_id')}::text[], ${idsOf('tool_use_id')}::text[]))
      AND tool_kind = 'edit'
    ORDER BY message_id, tool_use_id, block_order`);
  const toKey = (call: { message_id: string; tool_use_id: string }): string => `${call.message_id}/${call.tool_use_id}`;
  const inputByCall = new Map(inputs.map((input) => [toKey(input), input.tool_input]));
  return calls.map((call) => ({
    call_number: call.call_number,
    file_path: call.file_path,
    tool_input: inputByCall.get(toKey(call)) ?? null,
  }));
}
