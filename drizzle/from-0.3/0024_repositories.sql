ALTER TABLE "recount"."sessions" ADD COLUMN "repository" text;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "commit_hash" text;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "repository" text;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "commit_hash" text;--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.sessions AS
SELECT
  workspace_id, session_id, agent, is_subagent, parent_session_id, agent_id, primary_transcript_id, transcript_count,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, updated_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd, uploader_key_id, other_uploader_count, machine, person, output_only_count,
  repository, commit_hash
FROM recount.sessions;
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.repository IS 'Remote repository as the agent has it, mostly a URL, without credentials; null: the transcript does not say.';
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.commit_hash IS 'Commit that was checked out as the session began; null: the transcript does not say.';
--> statement-breakpoint
COMMENT ON COLUMN recount.sessions.repository IS 'Remote repository as the agent has it, mostly a URL, without credentials; null: the transcript does not say.';
--> statement-breakpoint
COMMENT ON COLUMN recount.sessions.commit_hash IS 'Commit that was checked out as the session began; null: the transcript does not say.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.sessions.repository IS 'Remote repository as the agent has it, mostly a URL, without credentials; null: the transcript does not say.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.sessions.commit_hash IS 'Commit that was checked out as the session began; null: the transcript does not say.';
