-- Made anew below, of the tool calls.
TRUNCATE recount.tool_rollup, recount.tool_day_rollup;
--> statement-breakpoint
CREATE TABLE "recount"."file_day_rollup" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"first_bucket_start" timestamp (3) with time zone,
	"last_bucket_start" timestamp (3) with time zone,
	"model" text,
	"is_subagent" boolean NOT NULL,
	"file_path" text NOT NULL,
	"calls" integer NOT NULL,
	"reads" integer NOT NULL,
	"edits" integer NOT NULL,
	"errors" integer NOT NULL,
	"output_bytes" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "recount"."tool_day_rollup" ADD COLUMN "program" text;--> statement-breakpoint
ALTER TABLE "recount"."tool_day_rollup" ADD COLUMN "subagent_type" text;--> statement-breakpoint
ALTER TABLE "recount"."tool_day_rollup" ADD COLUMN "skill_name" text;--> statement-breakpoint
ALTER TABLE "recount"."tool_day_rollup" ADD COLUMN "durations" "bytea" NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."tool_rollup" ADD COLUMN "program" text;--> statement-breakpoint
ALTER TABLE "recount"."tool_rollup" ADD COLUMN "subagent_type" text;--> statement-breakpoint
ALTER TABLE "recount"."tool_rollup" ADD COLUMN "skill_name" text;--> statement-breakpoint
ALTER TABLE "recount"."tool_rollup" ADD COLUMN "durations" "bytea" NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."usage_day_rollup" ADD COLUMN "agent_id" text;--> statement-breakpoint
ALTER TABLE "recount"."usage_rollup" ADD COLUMN "agent_id" text;--> statement-breakpoint
CREATE INDEX "file_day_rollup_session" ON "recount"."file_day_rollup" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "file_day_rollup_time" ON "recount"."file_day_rollup" USING btree ("workspace_id","first_bucket_start");
--> statement-breakpoint
COMMENT ON TABLE recount.file_day_rollup IS 'Calls of tools for files that count, by session, UTC day and file.';
--> statement-breakpoint
COMMENT ON TABLE recount.tool_rollup IS 'Tool calls that count, by session, quarter of an hour, tool, and what the call was about where that is one of a few.';
--> statement-breakpoint
COMMENT ON COLUMN recount.file_day_rollup.reads IS 'Calls of the tool Read.';
--> statement-breakpoint
COMMENT ON COLUMN recount.file_day_rollup.edits IS 'Calls of other tools that did not fail.';
--> statement-breakpoint
DO $$
DECLARE
  target record;
  rollup text;
BEGIN
  FOREACH rollup IN ARRAY ARRAY['tool_rollup', 'tool_day_rollup'] LOOP
    EXECUTE format('COMMENT ON COLUMN recount.%I.durations IS %L', rollup,
      'Milliseconds of each timed call, as integers of 6 bytes with the most significant first: what percentiles are made of.');
  END LOOP;
  FOR target IN
    SELECT rollup.name AS "table", a.attname AS "column",
      (SELECT col_description(s.attrelid, s.attnum) FROM unnest(rollup.sources) AS source
        JOIN pg_attribute AS s ON s.attrelid = format('recount.%I', source)::regclass AND s.attname = a.attname
        WHERE col_description(s.attrelid, s.attnum) IS NOT NULL LIMIT 1) AS description
    FROM (VALUES
      ('usage_rollup', ARRAY['usage_ledger']), ('usage_day_rollup', ARRAY['usage_ledger']), ('tool_rollup', ARRAY['tool_calls']),
      ('tool_day_rollup', ARRAY['tool_calls']), ('file_day_rollup', ARRAY['tool_day_rollup', 'tool_calls'])
    ) AS rollup (name, sources)
    JOIN pg_attribute AS a ON a.attrelid = format('recount.%I', rollup.name)::regclass AND a.attnum > 0
    WHERE col_description(a.attrelid, a.attnum) IS NULL
  LOOP
    EXECUTE format('COMMENT ON COLUMN recount.%I.%I IS %L', target."table", target."column", target.description);
  END LOOP;
END
$$;
--> statement-breakpoint
-- What follows makes the roll-ups anew by the definitions that the program has: of all tool calls, and of the usage of the
-- sessions in which responses name an agent.
INSERT INTO recount.tool_rollup (
  workspace_id, session_id, bucket_start, model, is_subagent, tool_name, mcp_server, program, subagent_type, skill_name, calls,
  results, errors, denied, input_bytes, output_bytes, duration_ms, timed_calls, durations)
SELECT
  workspace_id, session_id, date_bin('15 minutes', "timestamp", '2000-01-01Z'), model, is_subagent, tool_name, mcp_server, program,
  subagent_type, skill_name, count(*), count(is_error), count(*) FILTER (WHERE is_error), count(*) FILTER (WHERE is_denied),
  coalesce(sum(input_bytes), 0), coalesce(sum(output_bytes), 0), coalesce(sum(duration_ms), 0), count(duration_ms),
  coalesce(string_agg(substring(int8send(duration_ms) FROM 3), ''::bytea ORDER BY duration_ms), ''::bytea)
FROM recount.tool_calls WHERE is_own
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
--> statement-breakpoint
INSERT INTO recount.tool_day_rollup (
  workspace_id, session_id, first_bucket_start, last_bucket_start, model, is_subagent, tool_name, mcp_server, program,
  subagent_type, skill_name, calls, results, errors, denied, input_bytes, output_bytes, duration_ms, timed_calls, durations)
SELECT
  workspace_id, session_id, min(bucket_start), max(bucket_start), model, is_subagent, tool_name, mcp_server, program,
  subagent_type, skill_name, sum(calls), sum(results), sum(errors), sum(denied), sum(input_bytes), sum(output_bytes),
  sum(duration_ms), sum(timed_calls), string_agg(durations, ''::bytea ORDER BY bucket_start)
FROM recount.tool_rollup
GROUP BY workspace_id, session_id, date_bin('1 day', bucket_start, '2000-01-01Z'), model, is_subagent, tool_name, mcp_server,
  program, subagent_type, skill_name;
--> statement-breakpoint
INSERT INTO recount.file_day_rollup (
  workspace_id, session_id, first_bucket_start, last_bucket_start, model, is_subagent, file_path, calls, reads, edits, errors,
  output_bytes)
SELECT
  workspace_id, session_id, min(bucket_start), max(bucket_start), model, is_subagent, file_path, count(*),
  count(*) FILTER (WHERE tool_name = 'Read'), count(*) FILTER (WHERE tool_name <> 'Read' AND is_error IS NOT TRUE),
  count(*) FILTER (WHERE is_error), coalesce(sum(output_bytes), 0)
FROM recount.tool_calls, LATERAL (SELECT date_bin('15 minutes', "timestamp", '2000-01-01Z') AS bucket_start) AS bucket
WHERE is_own AND file_path IS NOT NULL
GROUP BY workspace_id, session_id, date_bin('1 day', bucket_start, '2000-01-01Z'), model, is_subagent, file_path;
--> statement-breakpoint
CREATE TEMPORARY TABLE with_agents ON COMMIT DROP AS
SELECT DISTINCT workspace_id, session_id FROM recount.usage_entries WHERE agent_id IS NOT NULL;
--> statement-breakpoint
DELETE FROM recount.usage_rollup AS r USING with_agents AS w WHERE w.workspace_id = r.workspace_id AND w.session_id = r.session_id;
--> statement-breakpoint
DELETE FROM recount.usage_day_rollup AS r USING with_agents AS w WHERE w.workspace_id = r.workspace_id AND w.session_id = r.session_id;
--> statement-breakpoint
INSERT INTO recount.usage_rollup (
  workspace_id, session_id, bucket_start, model, is_subagent, agent_id, git_branch, agent_version, is_shared, responses, tokens_in,
  tokens_out, cache_read, cache_write, cache_write_1h, thinking_tokens, web_search_requests, cost_units, cost_input_units,
  cost_output_units, cost_cache_read_units, cost_cache_write_units, cost_web_search_units, unfinalised_responses,
  unfinalised_tokens_out, estimated_tokens_out, unpriced_responses, unpriced_tokens, default_priced_responses)
SELECT
  workspace_id, session_id, date_bin('15 minutes', "timestamp", '2000-01-01Z'), model, is_subagent, agent_id, git_branch,
  agent_version, is_shared, count(*), sum(tokens_in), sum(tokens_out), sum(cache_read), sum(cache_write), sum(cache_write_1h),
  sum(thinking_tokens), sum(web_search_requests), coalesce(sum(cost_usd), 0) * 1e10, coalesce(sum(cost_input_usd), 0) * 1e10,
  coalesce(sum(cost_output_usd), 0) * 1e10, coalesce(sum(cost_cache_read_usd), 0) * 1e10,
  coalesce(sum(cost_cache_write_usd), 0) * 1e10, coalesce(sum(cost_web_search_usd), 0) * 1e10,
  count(*) FILTER (WHERE is_unfinalised), coalesce(sum(tokens_out) FILTER (WHERE is_unfinalised), 0),
  coalesce(sum(estimated_tokens_out) FILTER (WHERE is_unfinalised), 0), count(*) FILTER (WHERE price_basis = 'unpriced'),
  coalesce(sum(tokens_in + tokens_out + cache_read + cache_write) FILTER (WHERE price_basis = 'unpriced'), 0),
  count(*) FILTER (WHERE price_basis = 'default')
FROM (
  SELECT false AS is_shared, l.workspace_id, l.session_id, l."timestamp", l.model, l.is_subagent, l.agent_id, l.git_branch,
    l.agent_version, l.tokens_in, l.tokens_out, l.cache_read, l.cache_write, l.cache_write_1h, l.thinking_tokens,
    l.web_search_requests, l.cost_usd, l.cost_input_usd, l.cost_output_usd, l.cost_cache_read_usd, l.cost_cache_write_usd,
    l.cost_web_search_usd, l.is_unfinalised, l.estimated_tokens_out, l.price_basis
  FROM recount.usage_ledger AS l JOIN with_agents AS w ON w.workspace_id = l.workspace_id AND w.session_id = l.session_id
  UNION ALL
  SELECT true, * FROM (
    SELECT DISTINCT ON (e.workspace_id, e.session_id, e.agent, e.response_key)
      e.workspace_id, e.session_id, e."timestamp", e.model, e.is_subagent, e.agent_id, e.git_branch, e.agent_version, e.tokens_in,
      e.tokens_out, e.cache_read, e.cache_write, e.cache_write_1h, e.thinking_tokens, e.web_search_requests, e.cost_usd,
      e.cost_input_usd, e.cost_output_usd, e.cost_cache_read_usd, e.cost_cache_write_usd, e.cost_web_search_usd,
      e.is_unfinalised, e.estimated_tokens_out, e.price_basis
    FROM with_agents AS w
    JOIN recount.transcripts AS t ON t.workspace_id = w.workspace_id AND t.session_id = w.session_id
    JOIN recount.usage_entries AS e ON e.workspace_id = t.workspace_id AND e.row_set_id = t.row_set_id
    JOIN recount.usage_ledger AS l
      ON l.workspace_id = e.workspace_id AND l.agent = e.agent AND l.response_key = e.response_key AND l.session_id <> e.session_id
    ORDER BY e.workspace_id, e.session_id, e.agent, e.response_key, e.is_unfinalised, e.tokens_out DESC,
      e.tokens_in + e.cache_read + e.cache_write DESC, e.web_search_requests DESC, e.cost_usd NULLS LAST, t.sha256, e.entry_number
  ) AS shared
) AS response
GROUP BY workspace_id, session_id, 3, model, is_subagent, agent_id, git_branch, agent_version, is_shared;
--> statement-breakpoint
INSERT INTO recount.usage_day_rollup (
  workspace_id, session_id, first_bucket_start, last_bucket_start, model, is_subagent, agent_id, git_branch, agent_version,
  is_shared, responses, tokens_in, tokens_out, cache_read, cache_write, cache_write_1h, thinking_tokens, web_search_requests,
  cost_units, cost_input_units, cost_output_units, cost_cache_read_units, cost_cache_write_units, cost_web_search_units,
  unfinalised_responses, unfinalised_tokens_out, estimated_tokens_out, unpriced_responses, unpriced_tokens,
  default_priced_responses)
SELECT
  r.workspace_id, r.session_id, min(bucket_start), max(bucket_start), model, is_subagent, agent_id, git_branch, agent_version,
  is_shared, sum(responses), sum(tokens_in), sum(tokens_out), sum(cache_read), sum(cache_write), sum(cache_write_1h),
  sum(thinking_tokens), sum(web_search_requests), sum(cost_units), sum(cost_input_units), sum(cost_output_units),
  sum(cost_cache_read_units), sum(cost_cache_write_units), sum(cost_web_search_units), sum(unfinalised_responses),
  sum(unfinalised_tokens_out), sum(estimated_tokens_out), sum(unpriced_responses), sum(unpriced_tokens),
  sum(default_priced_responses)
FROM recount.usage_rollup AS r JOIN with_agents AS w ON w.workspace_id = r.workspace_id AND w.session_id = r.session_id
GROUP BY r.workspace_id, r.session_id, date_bin('1 day', bucket_start, '2000-01-01Z'), model, is_subagent, agent_id, git_branch,
  agent_version, is_shared;
