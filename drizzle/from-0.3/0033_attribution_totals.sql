CREATE TABLE "recount"."message_attribution_total" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"first_bucket_start" timestamp (3) with time zone,
	"last_bucket_start" timestamp (3) with time zone,
	"agent" text,
	"project" text,
	"person" text,
	"machine" text,
	"is_subagent" boolean NOT NULL,
	"messages" integer NOT NULL,
	"user_messages" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recount"."usage_attribution_total" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"first_bucket_start" timestamp (3) with time zone,
	"last_bucket_start" timestamp (3) with time zone,
	"agent" text,
	"project" text,
	"person" text,
	"machine" text,
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
CREATE INDEX "message_attribution_total_time" ON "recount"."message_attribution_total" USING btree ("workspace_id","first_bucket_start");--> statement-breakpoint
CREATE INDEX "usage_attribution_total_time" ON "recount"."usage_attribution_total" USING btree ("workspace_id","first_bucket_start");
--> statement-breakpoint
COMMENT ON TABLE recount.usage_attribution_total IS 'Sums of usage_day_rollup over the sessions of the same agent, project, person and machine, by UTC day; right but for the days in stale_days. Costs in units of 1e-10 US dollars.';
--> statement-breakpoint
COMMENT ON TABLE recount.message_attribution_total IS 'Sums of message_day_rollup over the sessions of the same agent, project, person and machine, by UTC day; right but for the days in stale_days.';
--> statement-breakpoint
-- Columns are called what they are in the sessions and in the roll-ups that they are sums of, and mean the same.
DO $$
DECLARE
  described record;
BEGIN
  FOR described IN
    SELECT total.name, a.attname, col_description(s.attrelid, s.attnum) AS comment
    FROM (VALUES
      ('usage_attribution_total', 'usage_day_rollup'), ('message_attribution_total', 'message_day_rollup'),
      ('usage_attribution_total', 'sessions'), ('message_attribution_total', 'sessions')
    ) AS total (name, source)
    JOIN pg_attribute AS a ON a.attrelid = format('recount.%I', total.name)::regclass AND a.attnum > 0
    JOIN pg_attribute AS s ON s.attrelid = format('recount.%I', total.source)::regclass AND s.attname = a.attname AND s.attnum > 0
    WHERE total.source <> 'sessions' OR a.attname IN ('agent', 'project', 'person', 'machine')
  LOOP
    EXECUTE format('COMMENT ON COLUMN recount.%I.%I IS %L', described.name, described.attname, described.comment);
  END LOOP;
  FOR described IN SELECT unnest(ARRAY['usage_attribution_total', 'message_attribution_total']) AS name LOOP
    EXECUTE format('COMMENT ON COLUMN recount.%I.workspace_id IS %L', described.name, 'Whose sessions they are.');
    EXECUTE format('COMMENT ON COLUMN recount.%I.first_bucket_start IS %L', described.name, 'First quarter of an hour that the row is the sum of.');
    EXECUTE format('COMMENT ON COLUMN recount.%I.last_bucket_start IS %L', described.name, 'Last of them, within the same day.');
  END LOOP;
END
$$;
--> statement-breakpoint
COMMENT ON TABLE recount.stale_days IS 'UTC days of which the totals may not be the sums of the roll-ups: added to by whoever changes these, or what a session is attributed to, until a worker makes the totals again. A day may stand here many times.';
--> statement-breakpoint
-- Whoever changes sessions or roll-ups just now does not mark all of the days that this is about: they end first.
LOCK TABLE recount.sessions, recount.usage_day_rollup, recount.message_day_rollup IN SHARE MODE;
--> statement-breakpoint
-- A worker makes the totals.
INSERT INTO recount.stale_days (workspace_id, day)
SELECT DISTINCT workspace_id, date_bin('1 day', first_bucket_start, '2000-01-01Z') FROM (
  SELECT workspace_id, first_bucket_start FROM recount.usage_day_rollup
  UNION ALL SELECT workspace_id, first_bucket_start FROM recount.message_day_rollup
) AS rollup
WHERE first_bucket_start IS NOT NULL;
