CREATE TABLE "recount"."findings" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"row_set_id" text COLLATE "C" NOT NULL,
	"kind" text NOT NULL,
	"is_subagent" boolean NOT NULL,
	"model" text,
	"git_branch" text,
	"timestamp" timestamp (3) with time zone,
	"message_id" text COLLATE "C",
	"line_number" integer,
	"tool_name" text,
	"subject" text,
	"times" integer NOT NULL,
	"output_bytes" bigint DEFAULT 0 NOT NULL,
	"tokens" bigint DEFAULT 0 NOT NULL,
	"pause_ms" bigint,
	"response_keys" text[],
	"cost_usd" numeric(20, 10)
);
--> statement-breakpoint
CREATE INDEX "findings_session" ON "recount"."findings" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "findings_kind_time" ON "recount"."findings" USING btree ("workspace_id","kind","timestamp");--> statement-breakpoint
CREATE INDEX "tool_calls_large_result" ON "recount"."tool_calls" USING btree ("workspace_id","timestamp") WHERE is_own AND output_bytes >= 40000;
--> statement-breakpoint
COMMENT ON TABLE recount.findings IS 'What sessions spent without effect, a row for each finding.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."workspace_id" IS 'Whose session it is.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."session_id" IS 'Session that the finding is about.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."row_set_id" IS 'Row set of the transcript in which it was found.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."kind" IS 'repeated-call, repeated-error, repeated-read, cold-cache or unfinished-session.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."is_subagent" IS 'Whether a sub-agent did it.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."model" IS 'Model of the first call, or of the response.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."git_branch" IS 'Branch of the response, of cold-cache; else null.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."timestamp" IS 'When the first call or the response was made, or the last sign of life.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."message_id" IS 'Message of the first call, or of the response.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."line_number" IS 'Line of the transcript where it begins.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."tool_name" IS 'Tool that was called.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."subject" IS 'File or program of the call, or the model whose cache it is.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."times" IS 'Calls that are alike; else 1.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."output_bytes" IS 'Bytes of the results of the repeats.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."tokens" IS 'Tokens written to the cache again, or own tokens of the session.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."pause_ms" IS 'Milliseconds of the pause before the response, of cold-cache; else null.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."response_keys" IS 'Responses that made the repeats, which say what they cost; null in findings of other kinds.';
--> statement-breakpoint
COMMENT ON COLUMN recount.findings."cost_usd" IS 'US dollars that it cost; null where no price is known, and in repeated calls.';
--> statement-breakpoint
-- What there is to find in the rows that are there, by the definition that the program has: a workspace at a time.
DO $$
DECLARE
  workspace record;
BEGIN
  FOR workspace IN SELECT id FROM recount.workspaces LOOP
    EXECUTE $statement$
INSERT INTO recount.findings (
  workspace_id, session_id, row_set_id, kind, is_subagent, model, git_branch, "timestamp", message_id, line_number, tool_name,
  subject, times, output_bytes, tokens, pause_ms, response_keys, cost_usd)
    SELECT "workspace_id", "session_id", "row_set_id", "kind", "is_subagent", "model", "git_branch", "timestamp", "message_id", "line_number", "tool_name", "subject", "times", "output_bytes", "tokens", "pause_ms", "response_keys", "cost_usd" FROM (
    WITH
  response AS (
    SELECT u.session_id, u.row_set_id, u.is_subagent, u.git_branch, u.message_id, u.agent, u.response_key, u.model, u."timestamp",
      u."timestamp" - lag(u."timestamp") OVER conversation AS pause,
      lag(u.model) OVER conversation AS model_before,
      greatest(u.cache_write_1h, lag(u.cache_write_1h) OVER conversation) > 0 AS is_long,
      least(u.cache_write, lag(u.cache_read + u.cache_write) OVER conversation - u.cache_read) AS tokens,
      u.cost_cache_write_usd / nullif(u.cache_write, 0) AS write_rate,
      coalesce(u.cost_cache_read_usd / nullif(u.cache_read, 0),
        lag(u.cost_cache_read_usd / nullif(u.cache_read, 0)) OVER conversation) AS read_rate
    FROM recount.usage_ledger AS u
    WHERE u.workspace_id = $1 AND u."timestamp" IS NOT NULL
    WINDOW conversation AS (
      PARTITION BY u.session_id, u.is_subagent, coalesce(u.agent_id, '') ORDER BY u."timestamp", u.response_key)
  ), cold_cache AS (
    SELECT session_id, row_set_id, is_subagent, model, git_branch, "timestamp", message_id, (
        SELECT min(e.line_number) FROM recount.usage_entries AS e
        WHERE e.workspace_id = $1 AND e.agent = response.agent
          AND e.response_key = response.response_key AND e.row_set_id = response.row_set_id
      ) AS line_number, tokens, (extract(epoch FROM pause) * 1000)::bigint AS pause_ms,
      round(tokens * (write_rate - read_rate), 10) AS cost_usd
    FROM response
    WHERE tokens > 0 AND model = model_before AND pause > CASE WHEN is_long THEN interval '1 hour' ELSE interval '5 minutes' END
  ),
  main_session AS (
    SELECT s.session_id, t.row_set_id, s.last_timestamp, s.prompt_count > s.turn_count AS has_open_prompt
    FROM recount.sessions AS s
    JOIN recount.transcripts AS t ON t.workspace_id = $1 AND t.id = s.primary_transcript_id
    WHERE s.workspace_id = $1 AND NOT s.is_subagent
  ), last_sign AS MATERIALIZED (
    SELECT s.session_id, s.row_set_id, s.last_timestamp, open.is_call, open.line_number
    FROM main_session AS s JOIN LATERAL (
      SELECT true AS is_call, max(c.line_number) AS line_number FROM recount.tool_calls AS c
      WHERE c.workspace_id = $1 AND c.row_set_id = s.row_set_id
        AND c.is_error IS NULL AND c.output_bytes IS NULL AND NOT c.is_denied AND NOT c.is_subagent
      UNION ALL
      SELECT false, max(e.line_number) FROM recount.session_events AS e
      WHERE e.workspace_id = $1 AND e.row_set_id = s.row_set_id AND s.has_open_prompt
        AND e.kind = 'prompt' AND NOT e.is_subagent
      OFFSET 0
    ) AS open ON open.line_number IS NOT NULL
  ), unfinished_session AS (
    SELECT l.session_id, l.row_set_id, coalesce(c."timestamp", l.last_timestamp) AS "timestamp", c.message_id, l.line_number,
      c.tool_name, coalesce(c.file_path, c.program) AS subject, coalesce(own.tokens, 0)::bigint AS tokens, own.cost_usd
    FROM last_sign AS l
    LEFT JOIN LATERAL (
      SELECT c.message_id, c."timestamp", c.tool_name, c.file_path, c.program FROM recount.tool_calls AS c
      WHERE c.workspace_id = $1 AND c.row_set_id = l.row_set_id AND c.line_number = l.line_number AND l.is_call
      ORDER BY c.call_number LIMIT 1
    ) AS c ON true
    LEFT JOIN LATERAL (
      SELECT sum(u.tokens_in + u.tokens_out + u.cache_read + u.cache_write) AS tokens,
        CASE WHEN sum(u.responses) > sum(u.unpriced_responses) THEN sum(u.cost_units) / 1e10 END AS cost_usd
      FROM recount.usage_day_rollup AS u
      WHERE u.workspace_id = $1 AND u.session_id = l.session_id AND NOT u.is_shared
      OFFSET 0
    ) AS own ON true
    WHERE NOT EXISTS (
      SELECT 1 FROM recount.usage_entries AS e
      WHERE e.workspace_id = $1 AND e.row_set_id = l.row_set_id AND e.line_number > l.line_number AND NOT e.is_subagent
    ) AND NOT EXISTS (
      SELECT 1 FROM recount.session_events AS e
      WHERE e.workspace_id = $1 AND e.row_set_id = l.row_set_id AND e.line_number > l.line_number AND e.kind = 'prompt'
    )
  )
    SELECT $1::text AS workspace_id, session_id, row_set_id, 'cold-cache' AS kind, is_subagent, model, git_branch, "timestamp",
      message_id, line_number, NULL AS tool_name, model AS subject, 1 AS times, 0::bigint AS output_bytes, tokens, pause_ms,
      NULL::text[] AS response_keys, cost_usd
    FROM cold_cache
    UNION ALL
    SELECT $1::text, session_id, row_set_id, 'unfinished-session', false, NULL, NULL, "timestamp", message_id, line_number,
      tool_name, subject, 1, 0, tokens, NULL, NULL, cost_usd
    FROM unfinished_session) AS found
    UNION ALL
    SELECT "workspace_id", "session_id", "row_set_id", "kind", "is_subagent", "model", "git_branch", "timestamp", "message_id", "line_number", "tool_name", "subject", "times", "output_bytes", "tokens", "pause_ms", "response_keys", "cost_usd" FROM (
    WITH
  compared AS (
    SELECT c.session_id, c.row_set_id, c.call_number, c.is_subagent, c.message_id, c.line_number, c."timestamp", c.call_key,
      c.response_key, c.model, c.tool_name, c.tool_kind, c.file_path, c.program, c.input_bytes, c.output_bytes,
      c.is_error IS TRUE AND NOT c.is_denied AS is_failed,
      row_number() OVER conversation AS place,
      c.tool_name = lag(c.tool_name) OVER conversation AND c.input_bytes = lag(c.input_bytes) OVER conversation
        AND c.file_path IS NOT DISTINCT FROM lag(c.file_path) OVER conversation
        AND c.program IS NOT DISTINCT FROM lag(c.program) OVER conversation AS repeats,
      c.is_error IS TRUE AND NOT c.is_denied AND lag(c.is_error IS TRUE AND NOT c.is_denied) OVER conversation
        AND c.tool_name = lag(c.tool_name) OVER conversation
        AND c.output_bytes IS NOT DISTINCT FROM lag(c.output_bytes) OVER conversation AS fails_again
    FROM recount.tool_calls AS c
    WHERE c.workspace_id = $1 AND c.is_own
    WINDOW conversation AS (PARTITION BY c.row_set_id, c.is_subagent ORDER BY c.line_number, c.call_number)
  ), call AS MATERIALIZED (
    SELECT *, (
      repeats AND (lag(repeats) OVER conversation OR lead(repeats) OVER conversation)
      OR lead(repeats) OVER conversation AND lead(repeats, 2) OVER conversation) AS may_repeat, (
      fails_again AND (lag(fails_again) OVER conversation OR lead(fails_again) OVER conversation)
      OR lead(fails_again) OVER conversation AND lead(fails_again, 2) OVER conversation) AS may_fail_again
    FROM compared
    WINDOW conversation AS (PARTITION BY row_set_id, is_subagent ORDER BY line_number, call_number)
  ),
  alike_call AS MATERIALIZED (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, is_subagent, tool_name, input_bytes, file_path, program, alike_call_run) AS alike_call_length
      FROM (
        SELECT *, place - row_number() OVER (PARTITION BY row_set_id, is_subagent, tool_name, input_bytes, file_path, program ORDER BY place) AS alike_call_run FROM (SELECT * FROM call WHERE may_repeat) AS single
      ) AS numbered
    ) AS counted WHERE alike_call_length >= 3
  ),
  call_input AS MATERIALIZED (
    SELECT c.*, b.input FROM alike_call AS c JOIN LATERAL (
      SELECT md5(b.tool_input::text) AS input FROM recount.content_blocks AS b
      WHERE b.workspace_id = $1 AND b.row_set_id = c.row_set_id AND b.message_id = c.message_id
        AND b.tool_kind IS NOT NULL AND b.tool_use_id = split_part(c.call_key, '/', -1) AND b.metadata -> 'truncated' IS NULL
      LIMIT 1
    ) AS b ON true
  ),
  same_call AS MATERIALIZED (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, is_subagent, tool_name, input, same_call_run) AS same_call_length
      FROM (
        SELECT *, place - row_number() OVER (PARTITION BY row_set_id, is_subagent, tool_name, input ORDER BY place) AS same_call_run FROM call_input AS single
      ) AS numbered
    ) AS counted WHERE same_call_length >= 3
  ),
  repeated_call AS (
    SELECT session_id, row_set_id, (array_agg(is_subagent ORDER BY line_number, call_number))[1] AS is_subagent, (array_agg(model ORDER BY line_number, call_number))[1] AS model,
      min("timestamp") AS "timestamp", (array_agg(message_id ORDER BY line_number, call_number))[1] AS message_id, min(line_number) AS line_number,
      min(tool_name) AS tool_name, min(coalesce(file_path, program)) AS subject, count(*)::int AS times,
      coalesce(sum(output_bytes), 0)::bigint - coalesce((array_agg(output_bytes ORDER BY line_number, call_number))[1], 0) AS output_bytes,
      (array_agg(response_key ORDER BY line_number, call_number))[2:] AS response_keys
    FROM same_call GROUP BY session_id, row_set_id, is_subagent, tool_name, input, same_call_run
  ),
  alike_error AS MATERIALIZED (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, is_subagent, tool_name, is_failed, output_bytes, alike_error_run) AS alike_error_length
      FROM (
        SELECT *, place - row_number() OVER (PARTITION BY row_set_id, is_subagent, tool_name, is_failed, output_bytes ORDER BY place) AS alike_error_run FROM (SELECT * FROM call WHERE may_fail_again) AS single
      ) AS numbered
    ) AS counted WHERE alike_error_length >= 3
  ),
  result AS MATERIALIZED (
    SELECT t.row_set_id, b.tool_result_id, min(md5(b.result_text)) AS error
    FROM (
      SELECT row_set_id, array_agg(split_part(call_key, '/', -1)) AS ids FROM alike_error GROUP BY row_set_id
    ) AS t JOIN LATERAL (
      SELECT b.tool_result_id, b.result_text FROM recount.content_blocks AS b
      WHERE b.workspace_id = $1 AND b.row_set_id = t.row_set_id
        AND b.tool_result_id = ANY(t.ids) AND b.result_text <> ''
      OFFSET 0
    ) AS b ON true
    GROUP BY t.row_set_id, b.tool_result_id
  ), failed AS MATERIALIZED (
    SELECT alike_error.*, result.error FROM alike_error JOIN result
      ON result.row_set_id = alike_error.row_set_id AND result.tool_result_id = split_part(alike_error.call_key, '/', -1)
  ),
  same_error AS MATERIALIZED (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, is_subagent, tool_name, error, same_error_run) AS same_error_length
      FROM (
        SELECT *, place - row_number() OVER (PARTITION BY row_set_id, is_subagent, tool_name, error ORDER BY place) AS same_error_run FROM failed AS single
      ) AS numbered
    ) AS counted WHERE same_error_length >= 3
  ),
  repeated_error AS (
    SELECT session_id, row_set_id, (array_agg(is_subagent ORDER BY line_number, call_number))[1] AS is_subagent, (array_agg(model ORDER BY line_number, call_number))[1] AS model,
      min("timestamp") AS "timestamp", (array_agg(message_id ORDER BY line_number, call_number))[1] AS message_id, min(line_number) AS line_number,
      min(tool_name) AS tool_name, min(coalesce(file_path, program)) AS subject, count(*)::int AS times,
      coalesce(sum(output_bytes), 0)::bigint - coalesce((array_agg(output_bytes ORDER BY line_number, call_number))[1], 0) AS output_bytes,
      (array_agg(response_key ORDER BY line_number, call_number))[2:] AS response_keys
    FROM same_error GROUP BY session_id, row_set_id, is_subagent, tool_name, error, same_error_run
  ),
  known_read AS (
    SELECT *, count(*) FILTER (WHERE tool_kind = 'edit' AND NOT is_failed) OVER (
      PARTITION BY row_set_id, file_path ORDER BY line_number, place) AS epoch
    FROM call WHERE tool_kind IN ('read', 'edit') AND file_path IS NOT NULL
  ), alike_read AS MATERIALIZED (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, file_path, epoch, input_bytes) AS alike_count
      FROM known_read WHERE tool_kind = 'read' AND NOT is_failed
    ) AS counted WHERE alike_count >= 3
  ),
  read_input AS MATERIALIZED (
    SELECT c.*, b.input FROM alike_read AS c JOIN LATERAL (
      SELECT md5(b.tool_input::text) AS input FROM recount.content_blocks AS b
      WHERE b.workspace_id = $1 AND b.row_set_id = c.row_set_id AND b.message_id = c.message_id
        AND b.tool_kind IS NOT NULL AND b.tool_use_id = split_part(c.call_key, '/', -1) AND b.metadata -> 'truncated' IS NULL
      LIMIT 1
    ) AS b ON true
  ),
  same_read AS (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, file_path, epoch, input) AS same_count FROM read_input
    ) AS counted WHERE same_count >= 3
  ),
  repeated_read AS (
    SELECT session_id, row_set_id, (array_agg(is_subagent ORDER BY line_number, call_number))[1] AS is_subagent, (array_agg(model ORDER BY line_number, call_number))[1] AS model,
      min("timestamp") AS "timestamp", (array_agg(message_id ORDER BY line_number, call_number))[1] AS message_id, min(line_number) AS line_number,
      min(tool_name) AS tool_name, min(coalesce(file_path, program)) AS subject, count(*)::int AS times,
      coalesce(sum(output_bytes), 0)::bigint - coalesce((array_agg(output_bytes ORDER BY line_number, call_number))[1], 0) AS output_bytes,
      (array_agg(response_key ORDER BY line_number, call_number))[2:] AS response_keys
    FROM same_read GROUP BY session_id, row_set_id, file_path, epoch, input
  )
    SELECT $1::text AS workspace_id, session_id, row_set_id, 'repeated-call' AS kind, is_subagent, model,
      NULL AS git_branch, "timestamp", message_id, line_number, tool_name, subject, times, output_bytes, 0::bigint AS tokens,
      NULL::bigint AS pause_ms, response_keys, NULL::numeric AS cost_usd
    FROM repeated_call
    UNION ALL
    SELECT $1::text AS workspace_id, session_id, row_set_id, 'repeated-error' AS kind, is_subagent, model,
      NULL AS git_branch, "timestamp", message_id, line_number, tool_name, subject, times, output_bytes, 0::bigint AS tokens,
      NULL::bigint AS pause_ms, response_keys, NULL::numeric AS cost_usd
    FROM repeated_error
    UNION ALL
    SELECT $1::text AS workspace_id, session_id, row_set_id, 'repeated-read' AS kind, is_subagent, model,
      NULL AS git_branch, "timestamp", message_id, line_number, tool_name, subject, times, output_bytes, 0::bigint AS tokens,
      NULL::bigint AS pause_ms, response_keys, NULL::numeric AS cost_usd
    FROM repeated_read) AS found
    $statement$ USING workspace.id;
  END LOOP;
END
$$;
