DROP INDEX "recount"."sessions_cost";
--> statement-breakpoint
-- Views of others may read these two, so they are not dropped: while the columns below change their type, they read none of them.
CREATE OR REPLACE VIEW analytics.daily_usage AS
SELECT
  ''::text COLLATE "C" AS workspace_id, NULL::date AS day, NULL::text AS project, NULL::text AS model,
  NULL::bigint AS responses, NULL::bigint AS tokens_in, NULL::bigint AS tokens_out, NULL::bigint AS cache_read,
  NULL::bigint AS cache_write, NULL::numeric AS cost_usd, NULL::bigint AS unpriced_responses,
  NULL::bigint AS unfinalised_responses, NULL::bigint AS unfinalised_tokens_out, NULL::boolean AS is_subagent;
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.session_usage AS
SELECT
  ''::text COLLATE "C" AS workspace_id, ''::text COLLATE "C" AS session_id, NULL::boolean AS is_shared,
  NULL::bigint AS responses, NULL::bigint AS tokens_in, NULL::bigint AS tokens_out, NULL::bigint AS cache_read,
  NULL::bigint AS cache_write, NULL::numeric AS cost_usd, NULL::bigint AS unpriced_responses,
  NULL::bigint AS unfinalised_responses, NULL::bigint AS unfinalised_tokens_out, NULL::bigint AS web_search_requests;
--> statement-breakpoint
ALTER TABLE "recount"."usage_day_rollup"
  ALTER COLUMN "web_search_requests" SET DATA TYPE bigint, ALTER COLUMN "web_search_requests" SET DEFAULT 0,
  ALTER COLUMN "cost_units" SET DATA TYPE numeric, ALTER COLUMN "cost_input_units" SET DATA TYPE numeric,
  ALTER COLUMN "cost_output_units" SET DATA TYPE numeric, ALTER COLUMN "cost_cache_read_units" SET DATA TYPE numeric,
  ALTER COLUMN "cost_cache_write_units" SET DATA TYPE numeric, ALTER COLUMN "cost_web_search_units" SET DATA TYPE numeric;
--> statement-breakpoint
ALTER TABLE "recount"."usage_rollup"
  ALTER COLUMN "web_search_requests" SET DATA TYPE bigint, ALTER COLUMN "web_search_requests" SET DEFAULT 0,
  ALTER COLUMN "cost_units" SET DATA TYPE numeric, ALTER COLUMN "cost_input_units" SET DATA TYPE numeric,
  ALTER COLUMN "cost_output_units" SET DATA TYPE numeric, ALTER COLUMN "cost_cache_read_units" SET DATA TYPE numeric,
  ALTER COLUMN "cost_cache_write_units" SET DATA TYPE numeric, ALTER COLUMN "cost_web_search_units" SET DATA TYPE numeric;
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.daily_usage AS
SELECT
  r.workspace_id, (r.bucket_start AT TIME ZONE 'UTC')::date AS day, s.project, r.model,
  sum(r.responses)::bigint AS responses, sum(r.tokens_in)::bigint AS tokens_in, sum(r.tokens_out)::bigint AS tokens_out,
  sum(r.cache_read)::bigint AS cache_read, sum(r.cache_write)::bigint AS cache_write,
  CASE WHEN sum(r.responses - r.unpriced_responses) > 0 THEN sum(r.cost_units) / 1e10 END AS cost_usd,
  sum(r.unpriced_responses)::bigint AS unpriced_responses,
  sum(r.unfinalised_responses)::bigint AS unfinalised_responses,
  sum(r.unfinalised_tokens_out)::bigint AS unfinalised_tokens_out, r.is_subagent
FROM recount.usage_rollup AS r
LEFT JOIN recount.sessions AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
WHERE NOT r.is_shared
GROUP BY r.workspace_id, day, s.project, r.model, r.is_subagent;
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.session_usage AS
SELECT
  workspace_id, session_id, is_shared,
  sum(responses)::bigint AS responses, sum(tokens_in)::bigint AS tokens_in, sum(tokens_out)::bigint AS tokens_out,
  sum(cache_read)::bigint AS cache_read, sum(cache_write)::bigint AS cache_write,
  CASE WHEN sum(responses - unpriced_responses) > 0 THEN sum(cost_units) / 1e10 END AS cost_usd,
  sum(unpriced_responses)::bigint AS unpriced_responses, sum(unfinalised_responses)::bigint AS unfinalised_responses,
  sum(unfinalised_tokens_out)::bigint AS unfinalised_tokens_out, sum(web_search_requests)::bigint AS web_search_requests
FROM recount.usage_rollup
GROUP BY workspace_id, session_id, is_shared;
--> statement-breakpoint
COMMENT ON COLUMN analytics.session_usage.cost_usd IS 'US dollars of the responses that have a price; null where none has.';
--> statement-breakpoint
ALTER TABLE "recount"."live_sessions" ALTER COLUMN "cost_usd" SET DATA TYPE numeric(30, 10);
--> statement-breakpoint
ALTER TABLE "recount"."sessions" ALTER COLUMN "cost_estimate_usd" DROP DEFAULT, ALTER COLUMN "cost_estimate_usd" DROP NOT NULL;
--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ALTER COLUMN "cost_estimate_usd" DROP DEFAULT, ALTER COLUMN "cost_estimate_usd" DROP NOT NULL;
--> statement-breakpoint
UPDATE recount.sessions SET cost_estimate_usd = NULL WHERE api_response_count > 0 AND unpriced_count = api_response_count;
--> statement-breakpoint
UPDATE recount.transcripts SET cost_estimate_usd = NULL
WHERE ingested_at IS NULL OR (api_response_count > 0 AND unpriced_count = api_response_count);
--> statement-breakpoint
CREATE INDEX "sessions_cost" ON "recount"."sessions" USING btree ("workspace_id",coalesce("cost_estimate_usd", -1),"session_id");
--> statement-breakpoint
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['recount.sessions', 'recount.transcripts', 'analytics.sessions', 'analytics.transcripts'] LOOP
    EXECUTE format('COMMENT ON COLUMN %s.cost_estimate_usd IS %L', name,
      'US dollars of the API responses that have a price: 0 without any response, null where none of them has one, and until a transcript is ingested. unpriced_count says how many it lacks.');
    EXECUTE format('COMMENT ON COLUMN %s.unpriced_count IS %L', name, 'API responses without a price, which cost_estimate_usd lacks.');
  END LOOP;
END
$$;
