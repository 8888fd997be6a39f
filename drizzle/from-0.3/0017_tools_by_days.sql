CREATE OR REPLACE VIEW analytics.tool_usage AS
SELECT
  r.workspace_id, (r.first_bucket_start AT TIME ZONE 'UTC')::date AS day, s.project, r.tool_name, r.mcp_server, r.is_subagent,
  sum(r.calls)::bigint AS calls, sum(r.results)::bigint AS results, sum(r.errors)::bigint AS errors,
  sum(r.denied)::bigint AS denied, sum(r.input_bytes)::bigint AS input_bytes,
  sum(r.output_bytes)::bigint AS output_bytes, sum(r.duration_ms)::bigint AS duration_ms,
  sum(r.timed_calls)::bigint AS timed_calls
FROM recount.tool_day_rollup AS r
LEFT JOIN recount.sessions AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
GROUP BY r.workspace_id, day, s.project, r.tool_name, r.mcp_server, r.is_subagent;--> statement-breakpoint
COMMENT ON TABLE recount.tool_day_rollup IS 'Tool calls that count, by session, UTC day, tool, and what the call was about where that is one of a few.';--> statement-breakpoint
DROP TABLE "recount"."tool_rollup";
