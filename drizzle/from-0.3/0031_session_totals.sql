CREATE TABLE "recount"."session_total" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"counted" text COLLATE "C" NOT NULL,
	"key" text,
	"period_start" timestamp (3) with time zone NOT NULL,
	"previous_bucket_start" timestamp (3) with time zone,
	"sessions" integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX "session_total_time" ON "recount"."session_total" USING btree ("workspace_id","counted","period_start");
--> statement-breakpoint
COMMENT ON TABLE recount.session_total IS 'How many sessions of the workspace have rows of a roll-up in an hour or day (UTC), by when they had such rows last before it: a session is new in a period where that lies before it. Right but for the days in stale_days.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_total."workspace_id" IS 'Whose sessions they are.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_total."counted" IS 'Which rows of the session count: usage (any of usage_rollup), credited (those that are not shared), calls (any of tool_day_rollup), programs, mcp_servers (those with one); and after a slash the key of which the row has one value.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_total."key" IS 'Value of the key: model, tool, program or MCP server.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_total."period_start" IS 'Beginning of the hour of usage, or of the UTC day of calls.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_total."previous_bucket_start" IS 'Last quarter of an hour before it of which the same sessions have rows that count, with the same key; null if there is none.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_total."sessions" IS 'Number of these sessions.';
--> statement-breakpoint
-- Whoever writes roll-ups just now does not mark all of the days that this is about: they end first.
LOCK TABLE recount.usage_day_rollup, recount.tool_day_rollup IN SHARE MODE;
--> statement-breakpoint
-- A worker makes the totals.
INSERT INTO recount.stale_days (workspace_id, day)
SELECT DISTINCT workspace_id, date_bin('1 day', first_bucket_start, '2000-01-01Z') FROM (
  SELECT workspace_id, first_bucket_start FROM recount.usage_day_rollup
  UNION ALL SELECT workspace_id, first_bucket_start FROM recount.tool_day_rollup
) AS rollup
WHERE first_bucket_start IS NOT NULL;
