ALTER TABLE "recount"."sessions" RENAME COLUMN "repository" TO "repository_url";
--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "repository" text;
--> statement-breakpoint
ALTER TABLE "recount"."transcripts" RENAME COLUMN "repository" TO "repository_url";
--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "repository" text;
--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "sent_repository" text;
--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "worktree" text;
--> statement-breakpoint
ALTER TABLE "recount"."usage_attribution_total" ADD COLUMN "repository" text;
--> statement-breakpoint
ALTER TABLE "recount"."message_attribution_total" ADD COLUMN "repository" text;
--> statement-breakpoint
CREATE INDEX "sessions_repository" ON "recount"."sessions" USING btree ("workspace_id","repository");
--> statement-breakpoint
COMMENT ON COLUMN "recount"."sessions"."repository" IS 'Name of the repository, the same in all of its worktrees and clones: host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."sessions"."repository_url" IS 'Address of the remote as the agent records it, without credentials; null if it does not.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."transcripts"."repository" IS 'Name of the repository, the same in all of its worktrees and clones: host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."transcripts"."repository_url" IS 'Address of the remote as the agent records it, without credentials; null if it does not.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."transcripts"."sent_repository" IS 'Address of the remote, or else the main folder, of the repository that git found at the working directory, as its uploader stated, without credentials; null if unknown.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."transcripts"."worktree" IS 'Folder of the worktree that git found at the working directory, as its uploader stated; null if unknown.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."usage_attribution_total"."repository" IS 'Repository of the sessions.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."message_attribution_total"."repository" IS 'Repository of the sessions.';
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.sessions AS
SELECT
  workspace_id, session_id, agent, is_subagent, parent_session_id, agent_id, primary_transcript_id, transcript_count,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, updated_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd, uploader_key_id, other_uploader_count, machine, person, output_only_count,
  repository, commit_hash, repository_url
FROM recount.sessions;
--> statement-breakpoint
COMMENT ON COLUMN analytics.sessions.repository IS 'Name of the repository, the same in all of its worktrees and clones: host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.sessions.repository_url IS 'Address of the remote as the agent records it, without credentials; null if it does not.';
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
  l.reported_cost_usd, l.price_basis, l.price_version, l.disagreements, l.lowest_cost_usd, l.highest_cost_usd, s.machine, s.person,
  s.repository
FROM recount.usage_ledger AS l
LEFT JOIN recount.transcripts AS t ON t.workspace_id = l.workspace_id AND t.row_set_id = l.row_set_id
LEFT JOIN recount.sessions AS s ON s.workspace_id = l.workspace_id AND s.session_id = l.session_id
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = l.workspace_id AND m.row_set_id = l.row_set_id AND m.id = l.message_id;
--> statement-breakpoint
COMMENT ON COLUMN analytics.api_responses.repository IS 'Name of the repository, the same in all of its worktrees and clones: host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it.';
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.daily_usage AS
SELECT
  r.workspace_id, (r.bucket_start AT TIME ZONE 'UTC')::date AS day, s.project, r.model,
  sum(r.responses)::bigint AS responses, sum(r.tokens_in)::bigint AS tokens_in, sum(r.tokens_out)::bigint AS tokens_out,
  sum(r.cache_read)::bigint AS cache_read, sum(r.cache_write)::bigint AS cache_write,
  CASE WHEN sum(r.responses - r.unpriced_responses) > 0 THEN sum(r.cost_units) / 1e10 END AS cost_usd,
  sum(r.unpriced_responses)::bigint AS unpriced_responses,
  sum(r.unfinalised_responses)::bigint AS unfinalised_responses,
  sum(r.unfinalised_tokens_out)::bigint AS unfinalised_tokens_out, r.is_subagent,
  s.repository, s.person, s.machine, s.agent
FROM recount.usage_rollup AS r
LEFT JOIN recount.sessions AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
WHERE NOT r.is_shared
GROUP BY r.workspace_id, day, s.project, r.model, r.is_subagent, s.repository, s.person, s.machine, s.agent;
--> statement-breakpoint
COMMENT ON VIEW analytics.daily_usage IS 'Usage of each UTC day, repository, folder, person, machine, agent and model, sub-agents apart, with every API response counted once. Read from roll-ups.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.daily_usage.repository IS 'Name of the repository, the same in all of its worktrees and clones: host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.daily_usage.person IS 'Whose work it is: the person of the API key that brought the session, else whom the upload named; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.daily_usage.machine IS 'Machine that the session came from, as its uploader named it; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.daily_usage.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.tool_usage AS
SELECT
  r.workspace_id, (r.first_bucket_start AT TIME ZONE 'UTC')::date AS day, s.project, r.tool_name, r.mcp_server, r.is_subagent,
  sum(r.calls)::bigint AS calls, sum(r.results)::bigint AS results, sum(r.errors)::bigint AS errors,
  sum(r.denied)::bigint AS denied, sum(r.input_bytes)::bigint AS input_bytes,
  sum(r.output_bytes)::bigint AS output_bytes, sum(r.duration_ms)::bigint AS duration_ms,
  sum(r.timed_calls)::bigint AS timed_calls, r.tool_kind, s.repository
FROM recount.tool_day_rollup AS r
LEFT JOIN recount.sessions AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
GROUP BY r.workspace_id, day, s.project, r.tool_name, r.tool_kind, r.mcp_server, r.is_subagent, s.repository;
--> statement-breakpoint
COMMENT ON COLUMN analytics.tool_usage.repository IS 'Name of the repository, the same in all of its worktrees and clones: host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it.';
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
  reported_cost_usd, uploader_key_id, format, is_stream, machine, person,
  repository, worktree
FROM recount.transcripts;
--> statement-breakpoint
COMMENT ON COLUMN analytics.transcripts.repository IS 'Name of the repository, the same in all of its worktrees and clones: host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.transcripts.worktree IS 'Folder of the worktree that git found at the working directory, as its uploader stated; null if unknown.';
