import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { usageDayRollup } from '../schema/rollups.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { sessionEvents, toolCalls, usageEntries } from '../schema/usage.ts';
import { type FindingScope, isInScope } from './finding-scope.ts';

/**
 * Queries for a WITH. The last one, `unfinished_session`, has calls and prompts that are followed by neither a result,
 * nor a response, nor a prompt; tokens and costs belong to the session. Looks rows up one by one, because few sessions
 * are written at a time, while verification has many of one workspace.
 */
export const unfinishedSessionQueries = (scope: FindingScope): SQL => {
  const workspace = opaqueWorkspaceId(scope.workspaceId);
  return sql`
  main_session AS (
    SELECT s.session_id, t.row_set_id, s.last_timestamp, s.prompt_count > s.turn_count AS has_open_prompt
    FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = ${workspace} AND t.id = s.primary_transcript_id
    WHERE ${isInScope('s', scope)} AND NOT s.is_subagent
  ), last_sign AS MATERIALIZED (
    SELECT s.session_id, s.row_set_id, s.last_timestamp, open.is_call, open.line_number
    FROM main_session AS s JOIN LATERAL (
      SELECT true AS is_call, max(c.line_number) AS line_number FROM ${toolCalls} AS c
      WHERE c.workspace_id = ${workspace} AND c.row_set_id = s.row_set_id
        AND c.is_error IS NULL AND c.output_bytes IS NULL AND NOT c.is_denied AND NOT c.is_subagent
      UNION ALL
      SELECT false, max(e.line_number) FROM ${sessionEvents} AS e
      WHERE e.workspace_id = ${workspace} AND e.row_set_id = s.row_set_id AND s.has_open_prompt
        AND e.kind = 'prompt' AND NOT e.is_subagent
      OFFSET 0
    ) AS open ON open.line_number IS NOT NULL
  ), unfinished_session AS (
    SELECT l.session_id, l.row_set_id, coalesce(c."timestamp", l.last_timestamp) AS "timestamp", c.message_id, l.line_number,
      c.tool_name, coalesce(c.file_path, c.program) AS subject, coalesce(own.tokens, 0)::bigint AS tokens, own.cost_usd
    FROM last_sign AS l
    LEFT JOIN LATERAL (
      SELECT c.message_id, c."timestamp", c.tool_name, c.file_path, c.program FROM ${toolCalls} AS c
      WHERE c.workspace_id = ${workspace} AND c.row_set_id = l.row_set_id AND c.line_number = l.line_number AND l.is_call
      ORDER BY c.call_number LIMIT 1
    ) AS c ON true
    LEFT JOIN LATERAL (
      SELECT sum(u.tokens_in + u.tokens_out + u.cache_read + u.cache_write) AS tokens,
        CASE WHEN sum(u.responses) > sum(u.unpriced_responses) THEN sum(u.cost_units) / 1e10 END AS cost_usd
      FROM ${usageDayRollup} AS u
      WHERE u.workspace_id = ${workspace} AND u.session_id = l.session_id AND NOT u.is_shared
      OFFSET 0
    ) AS own ON true
    WHERE NOT EXISTS (
      SELECT 1 FROM ${usageEntries} AS e
      WHERE e.workspace_id = ${workspace} AND e.row_set_id = l.row_set_id AND e.line_number > l.line_number AND NOT e.is_subagent
    ) AND NOT EXISTS (
      SELECT 1 FROM ${sessionEvents} AS e
      WHERE e.workspace_id = ${workspace} AND e.row_set_id = l.row_set_id AND e.line_number > l.line_number AND e.kind = 'prompt'
    )
  )`;
};
