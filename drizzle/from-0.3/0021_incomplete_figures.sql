ALTER TABLE "recount"."sessions" ALTER COLUMN "tokens_in" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ALTER COLUMN "tokens_out" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ALTER COLUMN "cache_read" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ALTER COLUMN "cache_write" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ALTER COLUMN "tokens_in" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ALTER COLUMN "tokens_out" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ALTER COLUMN "cache_read" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ALTER COLUMN "cache_write" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "output_only_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "is_rewritten" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "output_only_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "sessions_incomplete" ON "recount"."sessions" USING btree ("workspace_id") WHERE tokens_in IS NULL OR output_only_count > 0;
--> statement-breakpoint
UPDATE "recount"."transcripts" SET "is_rewritten" = true WHERE "format" IN (
  'amp-thread', 'cline-task', 'roo-task', 'kilo-code-task', 'droid-settings', 'gemini-document', 'opencode-export',
  'omp-session', 'opencode-session', 'kilo-session', 'copilot-session', 'goose-session', 'crush-session'
);
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.sessions AS
SELECT
  workspace_id, session_id, agent, is_subagent, parent_session_id, agent_id, primary_transcript_id, transcript_count,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, updated_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd, uploader_key_id, other_uploader_count, machine, person, output_only_count
FROM recount.sessions;
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.output_only_count IS 'API responses whose input no figure has, as a run of the agent was cut off before it said: tokens and cost are lower bounds.';
--> statement-breakpoint
COMMENT ON COLUMN recount.sessions.output_only_count IS 'API responses whose input no figure has, as a run of the agent was cut off before it said: tokens and cost are lower bounds.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.sessions.output_only_count IS 'API responses whose input no figure has, as a run of the agent was cut off before it said: tokens and cost are lower bounds.';
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.is_rewritten IS 'The agent rewrites what it wrote: of two versions neither need be the beginning of the other.';
