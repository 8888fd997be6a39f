ALTER TABLE "recount"."live_streams" ADD COLUMN "machine" text;--> statement-breakpoint
ALTER TABLE "recount"."live_streams" ADD COLUMN "person" text;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "machine" text;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "person" text;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "machine" text;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "person" text;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "person" text;--> statement-breakpoint
CREATE INDEX "sessions_person" ON "recount"."sessions" USING btree ("workspace_id","person","machine");
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.sessions AS
SELECT
  workspace_id, session_id, agent, is_subagent, parent_session_id, agent_id, primary_transcript_id, transcript_count,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, updated_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd, uploader_key_id, other_uploader_count, machine, person
FROM recount.sessions;
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
  reported_cost_usd, uploader_key_id, format, is_stream, machine, person
FROM recount.transcripts;
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
  l.reported_cost_usd, l.price_basis, l.price_version, l.disagreements, l.lowest_cost_usd, l.highest_cost_usd, s.machine, s.person
FROM recount.usage_ledger AS l
LEFT JOIN recount.transcripts AS t ON t.workspace_id = l.workspace_id AND t.row_set_id = l.row_set_id
LEFT JOIN recount.sessions AS s ON s.workspace_id = l.workspace_id AND s.session_id = l.session_id
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = l.workspace_id AND m.row_set_id = l.row_set_id AND m.id = l.message_id;
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.machine IS 'Machine that the transcript came from, as its uploader named it; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.person IS 'Whose work it is: the person of the API key that brought the transcript, else whom the upload named; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN recount.sessions.machine IS 'Machine that the primary transcript came from, as its uploader named it; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN recount.sessions.person IS 'Whose work it is: the person of the API key that brought the primary transcript, else whom the upload named; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.transcripts.machine IS 'Machine that the transcript came from, as its uploader named it; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.transcripts.person IS 'Whose work it is: the person of the API key that brought the transcript, else whom the upload named; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.sessions.machine IS 'Machine that the primary transcript came from, as its uploader named it; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.sessions.person IS 'Whose work it is: the person of the API key that brought the primary transcript, else whom the upload named; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.api_responses.machine IS 'Machine that the session came from, as its uploader named it; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.api_responses.person IS 'Whose work it is: the person of the API key that brought the session, else whom the upload named; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN recount.live_streams.machine IS 'Machine that the stream came from, as its uploader named it; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN recount.live_streams.person IS 'Whose work it is: the person of the API key that brought the stream, else whom the upload named; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN recount.api_keys.person IS 'Whose key it is: what it brings is theirs, whatever the upload says; null: the upload says it.';
