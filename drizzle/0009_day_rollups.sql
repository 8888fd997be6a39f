CREATE TABLE "recount"."message_day_rollup" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"first_bucket_start" timestamp (3) with time zone,
	"last_bucket_start" timestamp (3) with time zone,
	"is_subagent" boolean NOT NULL,
	"messages" integer NOT NULL,
	"user_messages" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recount"."tool_day_rollup" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"first_bucket_start" timestamp (3) with time zone,
	"last_bucket_start" timestamp (3) with time zone,
	"model" text,
	"is_subagent" boolean NOT NULL,
	"tool_name" text NOT NULL,
	"mcp_server" text,
	"calls" integer NOT NULL,
	"results" integer NOT NULL,
	"errors" integer NOT NULL,
	"denied" integer NOT NULL,
	"input_bytes" bigint DEFAULT 0 NOT NULL,
	"output_bytes" bigint DEFAULT 0 NOT NULL,
	"duration_ms" bigint DEFAULT 0 NOT NULL,
	"timed_calls" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recount"."usage_day_rollup" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"first_bucket_start" timestamp (3) with time zone,
	"last_bucket_start" timestamp (3) with time zone,
	"model" text,
	"is_subagent" boolean NOT NULL,
	"git_branch" text,
	"agent_version" text,
	"is_shared" boolean NOT NULL,
	"responses" integer NOT NULL,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"cache_write_1h" bigint DEFAULT 0 NOT NULL,
	"thinking_tokens" bigint DEFAULT 0 NOT NULL,
	"web_search_requests" integer NOT NULL,
	"cost_units" bigint DEFAULT 0 NOT NULL,
	"cost_input_units" bigint DEFAULT 0 NOT NULL,
	"cost_output_units" bigint DEFAULT 0 NOT NULL,
	"cost_cache_read_units" bigint DEFAULT 0 NOT NULL,
	"cost_cache_write_units" bigint DEFAULT 0 NOT NULL,
	"cost_web_search_units" bigint DEFAULT 0 NOT NULL,
	"unfinalised_responses" integer NOT NULL,
	"unfinalised_tokens_out" bigint DEFAULT 0 NOT NULL,
	"estimated_tokens_out" bigint DEFAULT 0 NOT NULL,
	"unpriced_responses" integer NOT NULL,
	"unpriced_tokens" bigint DEFAULT 0 NOT NULL,
	"default_priced_responses" integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX "message_day_rollup_session" ON "recount"."message_day_rollup" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "message_day_rollup_time" ON "recount"."message_day_rollup" USING btree ("workspace_id","first_bucket_start");--> statement-breakpoint
CREATE INDEX "tool_day_rollup_session" ON "recount"."tool_day_rollup" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "tool_day_rollup_time" ON "recount"."tool_day_rollup" USING btree ("workspace_id","first_bucket_start");--> statement-breakpoint
CREATE INDEX "usage_day_rollup_session" ON "recount"."usage_day_rollup" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "usage_day_rollup_time" ON "recount"."usage_day_rollup" USING btree ("workspace_id","first_bucket_start");--> statement-breakpoint
CREATE INDEX "tool_calls_task_time" ON "recount"."tool_calls" USING btree ("workspace_id","timestamp") WHERE is_own AND tool_name IN ('Task', 'Agent');--> statement-breakpoint
CREATE INDEX "tool_calls_skill_time" ON "recount"."tool_calls" USING btree ("workspace_id","timestamp") WHERE is_own AND skill_name IS NOT NULL;
--> statement-breakpoint
CREATE AGGREGATE recount.sum_bigint(bigint) (SFUNC = int8pl, STYPE = bigint, COMBINEFUNC = int8pl, PARALLEL = SAFE);
--> statement-breakpoint
COMMENT ON AGGREGATE recount.sum_bigint(bigint) IS 'Sum that stays a bigint, and fails beyond one: faster than sum(bigint), which makes a numeric.';
--> statement-breakpoint
DO $$
DECLARE
  rollup record;
  target record;
BEGIN
  FOR rollup IN
    SELECT name, string_agg(a.attname, ', ') FILTER (WHERE a.attname IN (
        'workspace_id', 'session_id', 'model', 'is_subagent', 'git_branch', 'agent_version', 'is_shared', 'tool_name', 'mcp_server')
        AND (name, a.attname) <> ('message', 'model')) AS keys,
      string_agg(a.attname, ', ') FILTER (WHERE is_sum) AS sum_names,
      string_agg(format('sum(%I)', a.attname), ', ') FILTER (WHERE is_sum) AS sums
    FROM unnest(ARRAY['usage', 'tool', 'message']) AS name
    JOIN pg_attribute AS a ON a.attrelid = format('recount.%I', name || '_rollup')::regclass AND a.attnum > 0 AND NOT a.attisdropped,
      LATERAL (SELECT a.atttypid IN ('integer'::regtype, 'bigint'::regtype) AS is_sum) AS kind
    GROUP BY name
  LOOP
    EXECUTE format(
      'INSERT INTO recount.%1$I (%2$s, first_bucket_start, last_bucket_start, %3$s)
       SELECT %2$s, min(bucket_start), max(bucket_start), %4$s FROM recount.%5$I
       GROUP BY %2$s, date_bin(''1 day'', bucket_start, ''2000-01-01Z'')',
      rollup.name || '_day_rollup', rollup.keys, rollup.sum_names, rollup.sums, rollup.name || '_rollup');
    EXECUTE format('COMMENT ON TABLE recount.%I IS %L', rollup.name || '_day_rollup',
      format('Sums of %s_rollup by session and UTC day: what reports read but for days that do not lie in one of their groups.', rollup.name));
    EXECUTE format('COMMENT ON COLUMN recount.%I.first_bucket_start IS %L', rollup.name || '_day_rollup',
      'Beginning of the first quarter of an hour that the row is the sum of; null for what has no timestamp.');
    EXECUTE format('COMMENT ON COLUMN recount.%I.last_bucket_start IS %L', rollup.name || '_day_rollup',
      'Beginning of the last quarter of an hour that the row is the sum of, on the same UTC day.');
    FOR target IN
      SELECT a.attname AS name, col_description(a.attrelid, a.attnum) AS description FROM pg_attribute AS a
      WHERE a.attrelid = format('recount.%I', rollup.name || '_rollup')::regclass AND a.attnum > 0 AND a.attname <> 'bucket_start'
        AND (rollup.name, a.attname) <> ('message', 'model')
    LOOP
      EXECUTE format('COMMENT ON COLUMN recount.%I.%I IS %L', rollup.name || '_day_rollup', target.name, target.description);
    END LOOP;
  END LOOP;
END
$$;
