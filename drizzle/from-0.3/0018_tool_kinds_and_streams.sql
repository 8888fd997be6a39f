DROP INDEX "recount"."tool_calls_task_time";--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ALTER COLUMN "format" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "is_stream" boolean DEFAULT false NOT NULL;--> statement-breakpoint
UPDATE "recount"."transcripts" SET "is_stream" = true WHERE "format" = 'claude-stream-json';--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ALTER COLUMN "is_stream" DROP DEFAULT;--> statement-breakpoint
-- What the vocabulary of Claude Code, the one agent whose transcripts were read before, says about its tools by name.
CREATE FUNCTION recount.old_tool_kind(tool_name text, is_mcp boolean) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN tool_name IN ('Read', 'NotebookRead') THEN 'read'
    WHEN tool_name IN ('Write', 'Edit', 'MultiEdit', 'NotebookEdit') THEN 'edit'
    WHEN tool_name IN ('Bash', 'bash', 'BashOutput', 'KillBash', 'KillShell') THEN 'shell'
    WHEN tool_name IN ('Glob', 'Grep', 'LS', 'LSP', 'ToolSearch') THEN 'search'
    WHEN tool_name IN ('WebFetch', 'WebSearch', 'web_search', 'web_fetch') THEN 'web'
    WHEN tool_name IN ('Task', 'Agent') THEN 'agent'
    WHEN tool_name = 'Skill' THEN 'skill'
    WHEN tool_name IN (
      'TodoWrite', 'TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet', 'EnterPlanMode', 'ExitPlanMode', 'exit_plan_mode'
    ) THEN 'plan'
    WHEN tool_name = 'AskUserQuestion' THEN 'question'
    WHEN tool_name IN ('ListMcpResourcesTool', 'ReadMcpResourceTool') OR is_mcp THEN 'mcp'
    ELSE 'other'
  END
$$;--> statement-breakpoint
-- A change of type writes a table once; an UPDATE of every row would leave it twice as large.
ALTER TABLE "recount"."tool_calls" ADD COLUMN "tool_kind" text;--> statement-breakpoint
ALTER TABLE "recount"."tool_calls"
  ALTER COLUMN "tool_kind" TYPE text USING recount.old_tool_kind(tool_name, mcp_server IS NOT NULL),
  ALTER COLUMN "tool_kind" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."tool_day_rollup" ADD COLUMN "tool_kind" text;--> statement-breakpoint
ALTER TABLE "recount"."tool_day_rollup"
  ALTER COLUMN "tool_kind" TYPE text USING recount.old_tool_kind(tool_name, mcp_server IS NOT NULL),
  ALTER COLUMN "tool_kind" SET NOT NULL;--> statement-breakpoint
-- Most blocks call no tool, and long ones are expensive to copy.
ALTER TABLE "recount"."content_blocks" ADD COLUMN "tool_kind" text;--> statement-breakpoint
UPDATE "recount"."content_blocks"
SET "tool_kind" = recount.old_tool_kind(
  tool_name, metadata -> 'content' ->> 'server_name' <> '' OR (tool_name LIKE 'mcp\_\_%' AND strpos(substr(tool_name, 6), '__') > 1)
)
WHERE block_type IN ('tool_use', 'server_tool_use', 'mcp_tool_use');--> statement-breakpoint
DROP FUNCTION recount.old_tool_kind;--> statement-breakpoint
CREATE INDEX "tool_calls_agent_time" ON "recount"."tool_calls" USING btree ("workspace_id","timestamp") WHERE is_own AND tool_kind = 'agent';
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.transcripts AS
SELECT
  workspace_id, id AS transcript_id, session_id, agent, path, is_subagent, parent_session_id, agent_id,
  sha256, size_bytes, status, ingested_at IS NOT NULL AND NOT is_diverged AS is_primary, is_diverged, superseded_by,
  attempt_count, failure_reason, parser_version, price_version,
  line_count, content_block_count, error_count, warning_count, issue_counts,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, ingested_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd, uploader_key_id, format, is_stream
FROM recount.transcripts;
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.content_blocks AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, b.message_id, b.block_order, b.id AS block_id,
  NOT t.is_diverged AS is_primary, b.block_type, b.content_text, b.thinking_text,
  b.tool_name, b.tool_use_id, b.tool_input, b.tool_result_id, b.is_error, b.result_text,
  b.metadata @> '{"truncated": true}' AS is_truncated, b.metadata,
  b.line_number, b.byte_offset, b.byte_length, b.tool_kind
FROM recount.transcripts AS t
JOIN recount.content_blocks AS b ON b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id
WHERE t.ingested_at IS NOT NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.tool_calls AS
SELECT
  c.workspace_id, c.session_id, c.transcript_id, c.message_id, c.block_order, c.is_primary,
  c.tool_use_id, c.tool_name, c.tool_input, c.is_error, c.result_text, c.result_bytes,
  c.result_message_id, c.result_block_order, m."timestamp" AS started_at, rm."timestamp" AS ended_at,
  round(extract(epoch FROM rm."timestamp" - m."timestamp") * 1000)::bigint AS duration_ms,
  c.project, c.is_subagent, m.is_sidechain, c.tool_kind
FROM (
  SELECT
    t.workspace_id, t.session_id, t.id AS transcript_id, t.row_set_id, NOT t.is_diverged AS is_primary, t.project, t.is_subagent,
    b.message_id, b.block_order, b.block_type, b.tool_use_id, b.tool_name, b.tool_kind, b.tool_input,
    first_value(b.is_error) OVER call AS is_error,
    first_value(b.result_text) OVER call AS result_text,
    first_value(
      CASE
        WHEN b.block_type = 'tool_result'
        THEN coalesce((b.metadata ->> 'original_byte_length')::bigint, octet_length(b.result_text))
      END
    ) OVER call AS result_bytes,
    first_value(CASE WHEN b.block_type = 'tool_result' THEN b.message_id END) OVER call AS result_message_id,
    first_value(CASE WHEN b.block_type = 'tool_result' THEN b.block_order END) OVER call AS result_block_order
  FROM recount.transcripts AS t
  JOIN recount.content_blocks AS b ON b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id
  WHERE t.ingested_at IS NOT NULL AND b.block_type IN ('tool_use', 'tool_result')
  -- The first result, where there is one; without any it is the tool use, which has no result's columns.
  WINDOW call AS (
    PARTITION BY t.workspace_id, t.session_id, t.id, coalesce(b.tool_use_id, b.tool_result_id, b.id)
    ORDER BY b.block_type, b.message_id, b.block_order
  )
) AS c
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = c.workspace_id AND m.row_set_id = c.row_set_id AND m.id = c.message_id
LEFT JOIN recount.transcript_messages AS rm
  ON rm.workspace_id = c.workspace_id AND rm.row_set_id = c.row_set_id AND rm.id = c.result_message_id
WHERE c.block_type = 'tool_use';
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.tool_usage AS
SELECT
  r.workspace_id, (r.first_bucket_start AT TIME ZONE 'UTC')::date AS day, s.project, r.tool_name, r.mcp_server, r.is_subagent,
  sum(r.calls)::bigint AS calls, sum(r.results)::bigint AS results, sum(r.errors)::bigint AS errors,
  sum(r.denied)::bigint AS denied, sum(r.input_bytes)::bigint AS input_bytes,
  sum(r.output_bytes)::bigint AS output_bytes, sum(r.duration_ms)::bigint AS duration_ms,
  sum(r.timed_calls)::bigint AS timed_calls, r.tool_kind
FROM recount.tool_day_rollup AS r
LEFT JOIN recount.sessions AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
GROUP BY r.workspace_id, day, s.project, r.tool_name, r.tool_kind, r.mcp_server, r.is_subagent;
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.format IS 'Format of the agent''s transcripts that this one is of.';
COMMENT ON COLUMN analytics.transcripts.format IS 'Format of the agent''s transcripts that this one is of.';
COMMENT ON COLUMN recount.live_streams.agent IS 'Agent whose output it is.';
DO $$
DECLARE
  target record;
BEGIN
  FOR target IN
    SELECT c.oid::regclass AS name, a.attname, d.description
    FROM (
      VALUES
        ('is_stream', 'Whether it is the output of a run. A session takes its figures from the agent''s own file where it has one.'),
        ('tool_kind', 'What the tool does, whatever its agent calls it: read, edit, shell, search, web, agent, skill, mcp, plan, question, other. Null for blocks that call no tool.'),
        ('subagent_count', 'Tool uses that start a sub-agent.')
    ) AS d (attname, description)
    JOIN pg_attribute AS a ON a.attname = d.attname AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind IN ('r', 'v')
    JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname IN ('recount', 'analytics')
  LOOP
    EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', target.name, target.attname, target.description);
  END LOOP;
END
$$;
