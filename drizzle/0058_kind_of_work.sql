ALTER TABLE "recount"."usage_day_rollup" ADD COLUMN "kind_of_work" text DEFAULT 'unknown' NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."usage_rollup" ADD COLUMN "kind_of_work" text DEFAULT 'unknown' NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."usage_entries" ADD COLUMN "turn_line" integer;--> statement-breakpoint
ALTER TABLE "recount"."usage_ledger" ADD COLUMN "turn_line" integer;--> statement-breakpoint
CREATE INDEX "session_events_turn" ON "recount"."session_events" USING btree ("workspace_id","row_set_id","line_number") WHERE kind = 'turn';--> statement-breakpoint
COMMENT ON COLUMN recount.usage_entries.turn_line IS 'Line of the prompt that its turn began with, 0 before the first prompt; null if an older parser read it.';
--> statement-breakpoint
COMMENT ON COLUMN recount.usage_ledger.turn_line IS 'Line of the prompt that its turn began with, 0 before the first prompt; null if an older parser read it.';
--> statement-breakpoint
COMMENT ON COLUMN recount.usage_rollup.kind_of_work IS 'What the turn was for, by its tool calls; unknown if no rule knows.';
--> statement-breakpoint
COMMENT ON COLUMN recount.usage_day_rollup.kind_of_work IS 'What the turn was for, by its tool calls; unknown if no rule knows.';
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
  s.repository, coalesce(e.name, 'unknown') AS kind_of_work
FROM recount.usage_ledger AS l
LEFT JOIN recount.transcripts AS t ON t.workspace_id = l.workspace_id AND t.row_set_id = l.row_set_id
LEFT JOIN recount.sessions AS s ON s.workspace_id = l.workspace_id AND s.session_id = l.session_id
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = l.workspace_id AND m.row_set_id = l.row_set_id AND m.id = l.message_id
LEFT JOIN recount.session_events AS e
  ON e.workspace_id = l.workspace_id AND e.row_set_id = l.row_set_id AND e.line_number = l.turn_line AND e.kind = 'turn';
--> statement-breakpoint
COMMENT ON COLUMN analytics.api_responses.kind_of_work IS 'What its turn was for, by the turn''s tool calls: coding, debugging, testing, review, planning, exploring, operations, conversation, or unknown if no rule knows.';
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
  s.repository, coalesce(n.person, s.person) AS person, s.machine, s.agent, m.team, m.cost_centre, r.kind_of_work
FROM recount.usage_rollup AS r
LEFT JOIN recount.sessions AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
LEFT JOIN analytics.person_names AS n ON n.workspace_id = r.workspace_id AND lower(n.name) = lower(s.person)
LEFT JOIN analytics.team_memberships AS m ON m.workspace_id = r.workspace_id AND m.person_id = n.person_id
  AND CASE
    WHEN r.bucket_start IS NULL THEN m.ends_before = 'infinity'
    ELSE (r.bucket_start AT TIME ZONE 'UTC')::date >= m.starts_on AND (r.bucket_start AT TIME ZONE 'UTC')::date < m.ends_before
  END
WHERE NOT r.is_shared
GROUP BY r.workspace_id, day, s.project, r.model, r.is_subagent, s.repository, coalesce(n.person, s.person), s.machine, s.agent,
  m.team, m.cost_centre, r.kind_of_work;
--> statement-breakpoint
COMMENT ON VIEW analytics.daily_usage IS 'Usage of each UTC day, repository, folder, person, team, cost centre, machine, agent and model, sub-agents apart, with every API response counted once. Read from roll-ups.';
--> statement-breakpoint
COMMENT ON VIEW analytics.daily_usage IS 'Usage of each UTC day, repository, folder, person, team, cost centre, machine, agent, model and kind of work, sub-agents apart, with every API response counted once. Read from roll-ups.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.daily_usage.kind_of_work IS 'What the turns were for, by their tool calls: coding, debugging, testing, review, planning, exploring, operations, conversation, or unknown if no rule knows.';
--> statement-breakpoint
COMMENT ON VIEW analytics.session_events IS 'Prompts, turns, compactions, API errors and retries, linked pull requests and slash commands, each once however many transcripts hold a copy of the line.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.session_events.kind IS 'prompt, turn, compaction, api_error, api_retry, pull_request or slash_command.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.session_events.name IS 'What it is counted by: a turn''s kind of work, a compaction''s trigger, an error''s type, a pull request''s URL, a command''s name.';
