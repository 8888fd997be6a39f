CREATE TABLE "recount"."message_hour_total" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"first_bucket_start" timestamp (3) with time zone,
	"last_bucket_start" timestamp (3) with time zone,
	"is_subagent" boolean NOT NULL,
	"messages" integer NOT NULL,
	"user_messages" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recount"."stale_days" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"day" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recount"."tool_day_total" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"first_bucket_start" timestamp (3) with time zone,
	"last_bucket_start" timestamp (3) with time zone,
	"model" text,
	"is_subagent" boolean NOT NULL,
	"tool_name" text NOT NULL,
	"tool_kind" text NOT NULL,
	"mcp_server" text,
	"program" text,
	"subagent_type" text,
	"skill_name" text,
	"calls" integer NOT NULL,
	"results" integer NOT NULL,
	"errors" integer NOT NULL,
	"denied" integer NOT NULL,
	"input_bytes" bigint DEFAULT 0 NOT NULL,
	"output_bytes" bigint DEFAULT 0 NOT NULL,
	"duration_ms" bigint DEFAULT 0 NOT NULL,
	"timed_calls" integer NOT NULL,
	"durations" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recount"."usage_hour_total" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"first_bucket_start" timestamp (3) with time zone,
	"last_bucket_start" timestamp (3) with time zone,
	"model" text,
	"is_subagent" boolean NOT NULL,
	"is_shared" boolean NOT NULL,
	"responses" integer NOT NULL,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"cache_write_1h" bigint DEFAULT 0 NOT NULL,
	"thinking_tokens" bigint DEFAULT 0 NOT NULL,
	"web_search_requests" bigint DEFAULT 0 NOT NULL,
	"cost_units" numeric DEFAULT '0' NOT NULL,
	"cost_input_units" numeric DEFAULT '0' NOT NULL,
	"cost_output_units" numeric DEFAULT '0' NOT NULL,
	"cost_cache_read_units" numeric DEFAULT '0' NOT NULL,
	"cost_cache_write_units" numeric DEFAULT '0' NOT NULL,
	"cost_web_search_units" numeric DEFAULT '0' NOT NULL,
	"unfinalised_responses" integer NOT NULL,
	"unfinalised_tokens_out" bigint DEFAULT 0 NOT NULL,
	"estimated_tokens_out" bigint DEFAULT 0 NOT NULL,
	"unpriced_responses" integer NOT NULL,
	"unpriced_tokens" bigint DEFAULT 0 NOT NULL,
	"default_priced_responses" integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX "message_hour_total_time" ON "recount"."message_hour_total" USING btree ("workspace_id","first_bucket_start");--> statement-breakpoint
CREATE INDEX "stale_days_workspace" ON "recount"."stale_days" USING btree ("workspace_id","day");--> statement-breakpoint
CREATE INDEX "tool_day_total_time" ON "recount"."tool_day_total" USING btree ("workspace_id","first_bucket_start");--> statement-breakpoint
CREATE INDEX "usage_hour_total_time" ON "recount"."usage_hour_total" USING btree ("workspace_id","first_bucket_start");
--> statement-breakpoint
COMMENT ON TABLE recount.usage_hour_total IS 'Sums of usage_rollup over all sessions of the workspace, by hour (UTC); right but for the days in stale_days. Costs in units of 1e-10 US dollars.';
--> statement-breakpoint
COMMENT ON TABLE recount.message_hour_total IS 'Sums of message_rollup over all sessions of the workspace, by hour (UTC); right but for the days in stale_days.';
--> statement-breakpoint
COMMENT ON TABLE recount.tool_day_total IS 'Sums of tool_day_rollup over all sessions of the workspace, by UTC day; right but for the days in stale_days.';
--> statement-breakpoint
COMMENT ON TABLE recount.stale_days IS 'UTC days of which the totals may not be the sums of the roll-ups: added to by whoever changes these, until a worker makes the totals again. A day may stand here many times.';
--> statement-breakpoint
COMMENT ON COLUMN recount.stale_days."workspace_id" IS 'Whose day it is.';
--> statement-breakpoint
COMMENT ON COLUMN recount.stale_days."day" IS 'Its beginning.';
--> statement-breakpoint
-- Columns are called what they are in the roll-ups that they are sums of, and mean the same.
DO $$
DECLARE
  described record;
BEGIN
  FOR described IN
    SELECT total.name, a.attname, col_description(s.attrelid, s.attnum) AS comment
    FROM (VALUES ('usage_hour_total', 'usage_rollup'), ('message_hour_total', 'message_rollup'), ('tool_day_total', 'tool_day_rollup'))
      AS total (name, source)
    JOIN pg_attribute AS a ON a.attrelid = format('recount.%I', total.name)::regclass AND a.attnum > 0
    JOIN pg_attribute AS s ON s.attrelid = format('recount.%I', total.source)::regclass AND s.attname = a.attname AND s.attnum > 0
  LOOP
    EXECUTE format('COMMENT ON COLUMN recount.%I.%I IS %L', described.name, described.attname, described.comment);
  END LOOP;
  FOR described IN SELECT unnest(ARRAY['usage_hour_total', 'message_hour_total', 'tool_day_total']) AS name LOOP
    EXECUTE format('COMMENT ON COLUMN recount.%I.workspace_id IS %L', described.name, 'Whose sessions they are.');
    EXECUTE format('COMMENT ON COLUMN recount.%I.first_bucket_start IS %L', described.name, 'First quarter of an hour that the row is the sum of.');
    EXECUTE format('COMMENT ON COLUMN recount.%I.last_bucket_start IS %L', described.name, 'Last of them, within the same hour or day.');
  END LOOP;
END
$$;
--> statement-breakpoint
-- Whoever writes roll-ups just now does not mark their days: they end first.
LOCK TABLE recount.usage_day_rollup, recount.message_day_rollup, recount.tool_day_rollup IN SHARE MODE;
--> statement-breakpoint
-- A worker makes the totals.
INSERT INTO recount.stale_days (workspace_id, day)
SELECT DISTINCT workspace_id, date_bin('1 day', first_bucket_start, '2000-01-01Z') FROM (
  SELECT workspace_id, first_bucket_start FROM recount.usage_day_rollup
  UNION ALL SELECT workspace_id, first_bucket_start FROM recount.message_day_rollup
  UNION ALL SELECT workspace_id, first_bucket_start FROM recount.tool_day_rollup
) AS rollup
WHERE first_bucket_start IS NOT NULL;
