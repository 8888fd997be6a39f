CREATE TABLE "recount"."transcript_checkpoints" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"row_set_id" text COLLATE "C" NOT NULL,
	"byte_offset" bigint NOT NULL,
	"entry_number" integer NOT NULL,
	"call_number" integer NOT NULL,
	"event_number" integer NOT NULL,
	"issue_number" integer NOT NULL,
	"state" "bytea" NOT NULL,
	CONSTRAINT "transcript_checkpoints_pk" PRIMARY KEY("workspace_id","row_set_id")
);
--> statement-breakpoint
ALTER TABLE "recount"."content_blocks" RENAME COLUMN "transcript_id" TO "row_set_id";
--> statement-breakpoint
ALTER TABLE "recount"."ingest_issues" RENAME COLUMN "transcript_id" TO "row_set_id";
--> statement-breakpoint
ALTER TABLE "recount"."transcript_messages" RENAME COLUMN "transcript_id" TO "row_set_id";
--> statement-breakpoint
ALTER TABLE "recount"."search_index_state" RENAME COLUMN "transcript_id" TO "row_set_id";
--> statement-breakpoint
ALTER TABLE "recount"."session_events" RENAME COLUMN "transcript_id" TO "row_set_id";
--> statement-breakpoint
ALTER TABLE "recount"."tool_calls" RENAME COLUMN "transcript_id" TO "row_set_id";
--> statement-breakpoint
ALTER TABLE "recount"."usage_entries" RENAME COLUMN "transcript_id" TO "row_set_id";
--> statement-breakpoint
ALTER TABLE "recount"."usage_ledger" RENAME COLUMN "transcript_id" TO "row_set_id";
--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "row_set_id" text COLLATE "C";
--> statement-breakpoint
UPDATE recount.transcripts SET row_set_id = id WHERE ingested_at IS NOT NULL;
--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD CONSTRAINT "transcripts_row_set_unique" UNIQUE("workspace_id","row_set_id");
--> statement-breakpoint
DO $$
BEGIN
  ALTER TABLE recount.transcript_checkpoints ALTER COLUMN state SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'This server is built without lz4: large columns keep its default compression';
END
$$;
--> statement-breakpoint
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.messages AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, m.id AS message_id, m.ordinal, NOT t.is_diverged AS is_primary,
  m.message_type, m.role, m.model, m.tokens_in, m.tokens_out, m.cache_read, m.cache_write, m.cost_usd, m."timestamp",
  m.has_text, m.has_thinking, m.has_tool_use, m.has_tool_result, m.metadata,
  m.provider_message_id, m.request_id, m.uuid, m.parent_uuid, m.is_sidechain, m.agent_id, m.stop_reason,
  m.line_number, m.byte_offset, m.byte_length, t.project, t.is_subagent
FROM recount.transcripts AS t
JOIN recount.transcript_messages AS m ON m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id
WHERE t.ingested_at IS NOT NULL;
--> statement-breakpoint
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.content_blocks AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, b.message_id, b.block_order, b.id AS block_id,
  NOT t.is_diverged AS is_primary, b.block_type, b.content_text, b.thinking_text,
  b.tool_name, b.tool_use_id, b.tool_input, b.tool_result_id, b.is_error, b.result_text,
  b.metadata @> '{"truncated": true}' AS is_truncated, b.metadata,
  b.line_number, b.byte_offset, b.byte_length
FROM recount.transcripts AS t
JOIN recount.content_blocks AS b ON b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id
WHERE t.ingested_at IS NOT NULL;
--> statement-breakpoint
-- By a window and not by a join: planners take the join of two parts of content_blocks for tiny, and loop over them.
CREATE OR REPLACE VIEW analytics.tool_calls AS
SELECT
  c.workspace_id, c.session_id, c.transcript_id, c.message_id, c.block_order, c.is_primary,
  c.tool_use_id, c.tool_name, c.tool_input, c.is_error, c.result_text, c.result_bytes,
  c.result_message_id, c.result_block_order, m."timestamp" AS started_at, rm."timestamp" AS ended_at,
  round(extract(epoch FROM rm."timestamp" - m."timestamp") * 1000)::bigint AS duration_ms,
  c.project, c.is_subagent, m.is_sidechain
FROM (
  SELECT
    t.workspace_id, t.session_id, t.id AS transcript_id, t.row_set_id, NOT t.is_diverged AS is_primary, t.project, t.is_subagent,
    b.message_id, b.block_order, b.block_type, b.tool_use_id, b.tool_name, b.tool_input,
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
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.ingest_issues AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, i.issue_number, NOT t.is_diverged AS is_primary,
  i.code, i.severity, i.message, i.line_number, i.byte_offset, i.occurrence_count, t.project, t.path
FROM recount.transcripts AS t
JOIN recount.ingest_issues AS i ON i.workspace_id = t.workspace_id AND i.row_set_id = t.row_set_id
WHERE t.ingested_at IS NOT NULL;
--> statement-breakpoint
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.api_responses AS
SELECT
  l.workspace_id, l.response_key AS response_id, l.request_id, l.session_id, t.id AS transcript_id, l.message_id,
  l.provider_message_id, l.model, l."timestamp", l.tokens_in, l.tokens_out, l.cache_read, l.cache_write, l.cost_usd,
  l.is_unfinalised, l.copy_count::bigint AS copy_count, m.stop_reason, l.agent, t.project, t.is_subagent,
  l.is_subagent AND NOT t.is_subagent AS is_sidechain,
  l.source, l.agent_id, l.git_branch, l.agent_version, l.cache_write_5m, l.cache_write_1h, l.thinking_tokens,
  l.web_search_requests, l.web_fetch_requests, l.service_tier, l.speed, l.inference_geo, l.estimated_tokens_out,
  l.cost_input_usd, l.cost_output_usd, l.cost_cache_read_usd, l.cost_cache_write_usd, l.cost_web_search_usd,
  l.reported_cost_usd, l.price_basis, l.price_version
FROM recount.usage_ledger AS l
LEFT JOIN recount.transcripts AS t ON t.workspace_id = l.workspace_id AND t.row_set_id = l.row_set_id
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = l.workspace_id AND m.row_set_id = l.row_set_id AND m.id = l.message_id;
--> statement-breakpoint
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.session_events AS
SELECT DISTINCT ON (e.workspace_id, e.kind, e.event_key)
  e.workspace_id, e.kind, e.event_key, e.session_id, t.id AS transcript_id, e."timestamp", e.is_subagent, e.name, e.details,
  e.line_number, t.project
FROM recount.session_events AS e
JOIN recount.transcripts AS t ON t.workspace_id = e.workspace_id AND t.row_set_id = e.row_set_id
ORDER BY e.workspace_id, e.kind, e.event_key, e."timestamp" NULLS LAST, t.first_timestamp NULLS LAST, e.session_id,
  t.size_bytes DESC, t.sha256, e.event_number;
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.row_set_id IS 'Names the transcript''s rows in the bulk tables; null where it has none. At first the transcript''s own id; a longer version of the session takes its beginning''s rows over.';
COMMENT ON TABLE recount.transcript_checkpoints IS 'Where the parse of a large transcript ended: a longer version of the session is parsed on from there.';
COMMENT ON COLUMN recount.transcript_checkpoints.workspace_id IS 'Workspace that the transcript belongs to.';
COMMENT ON COLUMN recount.transcript_checkpoints.row_set_id IS 'transcripts.row_set_id of the transcript.';
COMMENT ON COLUMN recount.transcript_checkpoints.byte_offset IS 'Bytes of the raw object that are parsed.';
COMMENT ON COLUMN recount.transcript_checkpoints.entry_number IS 'usage_entries from this number on are replaced when the parse goes on: further lines may change them.';
COMMENT ON COLUMN recount.transcript_checkpoints.call_number IS 'The same of tool_calls.';
COMMENT ON COLUMN recount.transcript_checkpoints.event_number IS 'Number of the next of session_events.';
COMMENT ON COLUMN recount.transcript_checkpoints.issue_number IS 'Number of the next of ingest_issues.';
COMMENT ON COLUMN recount.transcript_checkpoints.state IS 'State of the parser, as this version of recount can read it.';
COMMENT ON COLUMN recount.transcript_messages.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.content_blocks.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.ingest_issues.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.usage_entries.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.tool_calls.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.session_events.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.usage_ledger.row_set_id IS 'transcripts.row_set_id of the transcript that is credited with the response.';
COMMENT ON COLUMN recount.search_index_state.row_set_id IS 'Rows of the primary transcript that are indexed.';
