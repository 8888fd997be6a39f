ALTER TABLE "recount"."live_streams" ADD COLUMN "uploader_key_id" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "uploader_key_id" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "other_uploader_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "uploader_key_id" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "recount"."usage_ledger" ADD COLUMN "disagreements" text[];--> statement-breakpoint
ALTER TABLE "recount"."usage_ledger" ADD COLUMN "lowest_cost_usd" numeric(20, 10);--> statement-breakpoint
ALTER TABLE "recount"."usage_ledger" ADD COLUMN "highest_cost_usd" numeric(20, 10);--> statement-breakpoint
CREATE INDEX "usage_ledger_disputed" ON "recount"."usage_ledger" USING btree ("workspace_id","timestamp") WHERE disagreements IS NOT NULL;
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.uploader_key_id IS 'API key that brought these bytes first. operator: by direct access to the database. several: a stream that several keys brought. Null: unknown, as it came before 0.4 or lost its row.';
COMMENT ON COLUMN recount.live_streams.uploader_key_id IS 'API key that brings the stream. several: more than one have. Null: unknown, as it began before 0.4.';
COMMENT ON COLUMN recount.sessions.uploader_key_id IS 'API key that brought the primary transcript first.';
COMMENT ON COLUMN recount.sessions.other_uploader_count IS 'Ingested transcripts that diverge from the primary one and that another uploader than the owner of the session brought.';
COMMENT ON COLUMN recount.usage_ledger.disagreements IS 'What the copies disagree about: model, time, figures. Null: they agree.';
COMMENT ON COLUMN recount.usage_ledger.lowest_cost_usd IS 'Cost by the cheapest of the copies that disagree, in US dollars.';
COMMENT ON COLUMN recount.usage_ledger.highest_cost_usd IS 'Cost by the dearest of the copies that disagree, in US dollars.';
--> statement-breakpoint
-- What the ledger's definition (copy-disagreement.ts) says of the responses that are there.
UPDATE recount.usage_ledger AS l
SET disagreements = array_remove(ARRAY[CASE WHEN model_differs THEN 'model' END, CASE WHEN time_differs THEN 'time' END, CASE WHEN figures_differ THEN 'figures' END], NULL),
  lowest_cost_usd = lowest, highest_cost_usd = highest
FROM (
  SELECT workspace_id, agent, response_key,
    min(ARRAY[e.model]) <> max(ARRAY[e.model]) AS model_differs,
    max(e."timestamp") FILTER (WHERE NOT in_stream) - min(e."timestamp") FILTER (WHERE NOT in_stream) > interval '15 minutes' AS time_differs,
    min(input) <> max(input)
      OR min(terms) FILTER (WHERE is_placeholder) <> max(terms) FILTER (WHERE is_placeholder)
      OR min(terms) FILTER (WHERE NOT is_placeholder) <> max(terms) FILTER (WHERE NOT is_placeholder)
      OR max(web_search_requests) - min(web_search_requests) > 20
      OR min(tokens_out) FILTER (WHERE NOT is_placeholder) <> max(tokens_out) FILTER (WHERE NOT is_placeholder)
      OR max(tokens_out) FILTER (WHERE is_placeholder) > min(tokens_out) FILTER (WHERE NOT is_placeholder)
      OR max(tokens_out) FILTER (WHERE is_placeholder) - min(tokens_out) FILTER (WHERE is_placeholder) > 128
      OR bool_or(is_placeholder) AND max(tokens_out) FILTER (WHERE NOT is_placeholder) > 200000 AS figures_differ,
    coalesce(min(cost_usd) FILTER (WHERE NOT is_placeholder), min(cost_usd)) AS lowest,
    max(cost_usd) AS highest
  FROM (
    SELECT e.*, t.format = 'claude-stream-json' AS in_stream,
      e.is_unfinalised OR t.format = 'claude-stream-json' AND e.tokens_out <= 128 AS is_placeholder,
      ARRAY[e.tokens_in, e.cache_read, e.cache_write, e.cache_write_1h] AS input,
      ARRAY[e.service_tier, e.speed, e.inference_geo] AS terms
    FROM recount.usage_ledger AS copied
    JOIN recount.usage_entries AS e
      ON e.workspace_id = copied.workspace_id AND e.agent = copied.agent AND e.response_key = copied.response_key
    JOIN recount.transcripts AS t ON t.workspace_id = e.workspace_id AND t.row_set_id = e.row_set_id
    WHERE copied.copy_count > 1
  ) AS e
  GROUP BY workspace_id, agent, response_key
) AS compared
WHERE l.workspace_id = compared.workspace_id AND l.agent = compared.agent AND l.response_key = compared.response_key
  AND (model_differs OR time_differs OR figures_differ);
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.sessions AS
SELECT
  workspace_id, session_id, agent, is_subagent, parent_session_id, agent_id, primary_transcript_id, transcript_count,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, updated_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd, uploader_key_id, other_uploader_count
FROM recount.sessions;
COMMENT ON COLUMN analytics.sessions.uploader_key_id IS 'API key that brought the primary transcript first; operator: by direct access to the database; null: unknown.';
COMMENT ON COLUMN analytics.sessions.other_uploader_count IS 'Transcripts that diverge from the primary one and that another uploader than the owner of the session brought.';
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
  reported_cost_usd, uploader_key_id
FROM recount.transcripts;
COMMENT ON COLUMN analytics.transcripts.uploader_key_id IS 'API key that brought these bytes first; operator: by direct access to the database; null: unknown.';
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
  l.reported_cost_usd, l.price_basis, l.price_version, l.disagreements, l.lowest_cost_usd, l.highest_cost_usd
FROM recount.usage_ledger AS l
LEFT JOIN recount.transcripts AS t ON t.workspace_id = l.workspace_id AND t.row_set_id = l.row_set_id
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = l.workspace_id AND m.row_set_id = l.row_set_id AND m.id = l.message_id;
COMMENT ON COLUMN analytics.api_responses.disagreements IS 'What the copies of the response disagree about: model, time, figures. Null: they agree.';
COMMENT ON COLUMN analytics.api_responses.lowest_cost_usd IS 'Cost by the cheapest of the copies that disagree, in US dollars.';
COMMENT ON COLUMN analytics.api_responses.highest_cost_usd IS 'Cost by the dearest of the copies that disagree, in US dollars.';
