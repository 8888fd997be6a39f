COMMENT ON COLUMN recount.session_total."counted" IS 'Which rows of the session count: usage (any of usage_rollup), credited (those that are not shared), calls (any of tool_day_rollup), programs, mcp_servers (those with one), files (any of file_day_rollup); and after a slash the key of which the row has one value.';
--> statement-breakpoint
-- Whoever writes roll-ups just now does not mark all of the days that this is about: they end first.
LOCK TABLE recount.file_day_rollup IN SHARE MODE;
--> statement-breakpoint
-- A worker makes the counts.
INSERT INTO recount.stale_days (workspace_id, day)
SELECT DISTINCT workspace_id, date_bin('1 day', first_bucket_start, '2000-01-01Z') FROM recount.file_day_rollup
WHERE first_bucket_start IS NOT NULL;
