-- A fleet of $SESSIONS sessions, one in five a sub-agent's, over a year, straight into the tables that reports read: for each session
-- $RESPONSES responses (half as many again in every other hundredth), $CALLS tool calls and $EVENTS events within an hour.
-- The same every time. What begins with a dollar sign is replaced.
INSERT INTO recount.sessions (
  workspace_id, session_id, agent, is_subagent, parent_session_id, agent_id, primary_transcript_id,
  total_messages, user_messages, assistant_messages, tool_use_count, api_response_count, prompt_count, turn_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms, active_ms, reported_cost_usd,
  project, git_branch, agent_version, title, models, first_timestamp, last_timestamp)
SELECT
  '$WORKSPACE', 'session-' || n, CASE WHEN n % 10 = 9 THEN 'codex' ELSE 'claude-code' END, n % 5 = 4,
  CASE WHEN n % 5 = 4 THEN 'session-' || (n - 4) END, CASE WHEN n % 5 = 4 THEN 'agent-' || n END, 'transcript-' || n,
  80, 40, 40, 30, 40, 8, 8, 20000, 16000, 2400000, 120000, (n % 997) / 100.0, 3600000, 1800000 + n % 1000 * 1000,
  CASE WHEN n % 3 = 0 THEN (n % 997) / 99.0 END,
  '/home/ada/project-' || n % 40, CASE WHEN n % 4 = 0 THEN 'main' ELSE 'topic-' || n % 200 END, '2.0.' || n % 60,
  'Session ' || n, ARRAY['claude-opus-4-5', 'claude-haiku-4-5'],
  start, start + interval '1 hour'
FROM generate_series(0, $SESSIONS - 1) AS n, LATERAL (SELECT '2025-06-01Z'::timestamptz + n * interval '1 year' / $SESSIONS AS start) AS at;

INSERT INTO recount.transcripts (
  workspace_id, id, row_set_id, session_id, agent, format, is_stream, sha256, size_bytes, object_key, status, first_timestamp,
  ingested_at)
SELECT workspace_id, primary_transcript_id, primary_transcript_id, session_id, agent, agent, false, session_id, 100000, session_id, 'ingested', first_timestamp, now()
FROM recount.sessions WHERE workspace_id = '$WORKSPACE';

INSERT INTO recount.usage_ledger (
  workspace_id, agent, response_key, session_id, row_set_id, source, "timestamp", is_subagent, agent_id, git_branch,
  agent_version, copy_count, provider_message_id, model, tokens_in, tokens_out, cache_read, cache_write, cache_write_1h,
  is_unfinalised, estimated_tokens_out, cost_usd, cost_input_usd, cost_output_usd, cost_cache_read_usd,
  cost_cache_write_usd, price_basis, price_version)
SELECT
  workspace_id, agent, 'msg-' || session_id || '-' || r, session_id, primary_transcript_id, 'message',
  first_timestamp + r * interval '1 hour' / $RESPONSES, is_subagent, agent_id, git_branch, agent_version, 1, 'msg-' || r,
  CASE WHEN r % 50 = 49 THEN 'unknown-model' WHEN r % 4 = 3 THEN models[2] ELSE models[1] END,
  r * 10, r * 20, r * 2000, r * 100, r * 10, r % 20 = 19, CASE WHEN r % 20 = 19 THEN r * 40 END,
  CASE WHEN r % 50 < 49 THEN r / 1000.0 END, r / 5000.0, r / 5000.0, r / 2500.0, r / 5000.0,
  CASE WHEN r % 50 = 49 THEN 'unpriced' ELSE 'list' END, 'seed'
FROM recount.sessions, generate_series(0, $RESPONSES - 1 + (length(session_id) % 2) * $RESPONSES / 2) AS r WHERE workspace_id = '$WORKSPACE';

-- A row for each copy of a response: here each has one.
INSERT INTO recount.usage_entries (
  workspace_id, agent, response_key, session_id, row_set_id, source, "timestamp", is_subagent, agent_id, git_branch,
  agent_version, provider_message_id, model, tokens_in, tokens_out, cache_read, cache_write, cache_write_1h,
  is_unfinalised, estimated_tokens_out, cost_usd, cost_input_usd, cost_output_usd, cost_cache_read_usd,
  cost_cache_write_usd, price_basis, price_version, message_id, entry_number, is_marked_copy, line_number)
SELECT
  workspace_id, agent, response_key, session_id, row_set_id, source, "timestamp", is_subagent, agent_id, git_branch,
  agent_version, provider_message_id, model, tokens_in, tokens_out, cache_read, cache_write, cache_write_1h,
  is_unfinalised, estimated_tokens_out, cost_usd, cost_input_usd, cost_output_usd, cost_cache_read_usd,
  cost_cache_write_usd, price_basis, price_version, provider_message_id, substr(provider_message_id, 5)::int, false,
  substr(provider_message_id, 5)::int
FROM recount.usage_ledger WHERE workspace_id = '$WORKSPACE';

INSERT INTO recount.usage_rollup (
  workspace_id, session_id, bucket_start, model, is_subagent, agent_id, git_branch, agent_version, is_shared,
  responses, tokens_in, tokens_out, cache_read, cache_write, cache_write_1h, thinking_tokens, web_search_requests,
  cost_units, cost_input_units, cost_output_units, cost_cache_read_units, cost_cache_write_units, cost_web_search_units,
  unfinalised_responses, unfinalised_tokens_out, estimated_tokens_out, unpriced_responses, unpriced_tokens,
  default_priced_responses)
SELECT
  workspace_id, session_id, date_bin('15 minutes', "timestamp", '2000-01-01Z'), model, is_subagent, agent_id, git_branch,
  agent_version, is_shared, count(*), sum(tokens_in), sum(tokens_out), sum(cache_read), sum(cache_write),
  sum(cache_write_1h), sum(thinking_tokens), sum(web_search_requests),
  coalesce(sum(cost_usd), 0) * 1e10, coalesce(sum(cost_input_usd), 0) * 1e10, coalesce(sum(cost_output_usd), 0) * 1e10,
  coalesce(sum(cost_cache_read_usd), 0) * 1e10, coalesce(sum(cost_cache_write_usd), 0) * 1e10, 0,
  count(*) FILTER (WHERE is_unfinalised), coalesce(sum(tokens_out) FILTER (WHERE is_unfinalised), 0),
  coalesce(sum(estimated_tokens_out), 0), count(*) FILTER (WHERE price_basis = 'unpriced'),
  coalesce(sum(tokens_in + tokens_out + cache_read + cache_write) FILTER (WHERE price_basis = 'unpriced'), 0), 0
FROM recount.usage_ledger, LATERAL (SELECT right(session_id, 1) = '7' AND right(response_key, 1) = '3') AS shared (is_shared)
WHERE workspace_id = '$WORKSPACE'
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9;

INSERT INTO recount.message_rollup
SELECT workspace_id, session_id, first_timestamp + q * interval '15 minutes', NULLIF(models[1 + q % 2], ''), is_subagent, 20, 10
FROM recount.sessions, generate_series(0, 3) AS q WHERE workspace_id = '$WORKSPACE';

-- As often as in real transcripts: 34 calls a session, of 5 tools, a program for every 4 commands, a file for every 3 calls, a large
-- result in one of eight sessions.
INSERT INTO recount.tool_calls (
  workspace_id, row_set_id, call_number, session_id, call_key, response_key, message_id, is_own, tool_name, tool_kind,
  mcp_server, program, file_path, subagent_type, subagent_id, skill_name, model, "timestamp", is_subagent, duration_ms, is_error,
  is_denied, input_bytes, output_bytes, line_number)
SELECT
  workspace_id, primary_transcript_id, c, session_id, session_id || '-' || c, 'msg-' || session_id || '-' || c, 'm', true, tool,
  CASE tool WHEN 'Read' THEN 'read' WHEN 'Edit' THEN 'edit' WHEN 'Bash' THEN 'shell' WHEN 'Grep' THEN 'search'
    WHEN 'Task' THEN 'agent' WHEN 'Skill' THEN 'skill' ELSE 'mcp' END,
  CASE WHEN tool LIKE 'mcp%' THEN 'server-' || n % 5 END, CASE WHEN tool = 'Bash' THEN 'program-' || (n * 5 + c / 12) % 37 END,
  CASE WHEN tool IN ('Read', 'Edit') THEN project || '/src/file-' || (n * 7 + c % 5) % 300 END,
  CASE WHEN tool = 'Task' THEN 'type-' || n / 4 % 4 END,
  CASE WHEN tool = 'Task' AND c = 2 THEN 'agent-' || n - n % 5 + 4 END,
  CASE WHEN tool = 'Skill' THEN 'skill-' || n / 4 % 6 END, models[1], first_timestamp + c * interval '57 minutes' / $CALLS, is_subagent,
  (n * 31 + c * 137) % 9000, c % 13 = 0, c % 29 = 28, 100,
  CASE WHEN c = 3 AND n % 8 = 0 THEN 60000 + n % 1000 ELSE c * 100 END, c
FROM recount.sessions, generate_series(0, $CALLS - 1) AS c, LATERAL (SELECT substr(session_id, 9)::int AS n) AS s,
  LATERAL (SELECT CASE
    WHEN c % 17 = 2 THEN (ARRAY['mcp__server__query', 'Task', 'Skill', 'Grep'])[1 + n % 4]
    WHEN c % 3 = 0 THEN 'Bash' WHEN c % 3 = 1 THEN 'Read' ELSE 'Edit' END AS tool) AS t
WHERE workspace_id = '$WORKSPACE';

-- In 100 real sessions of several agents there were 231 prompts, 22 slash commands, 8 compactions, 7 retries, and two linked pull
-- requests and API errors each. Here each is one and a half to five times as frequent; two sessions share a pull request.
INSERT INTO recount.session_events
SELECT workspace_id, primary_transcript_id, e, session_id, session_id || '-' || e, kind,
  first_timestamp + e * interval '5 minutes', is_subagent,
  CASE kind WHEN 'compaction' THEN 'auto' WHEN 'api_error' THEN '529' WHEN 'api_retry' THEN '529' WHEN 'slash_command' THEN '/review'
    WHEN 'pull_request' THEN 'https://github.com/ada/app/pull/' || n / 20 END,
  '{"preTokens": 150000, "retryInMs": 500, "number": 7, "repository": "ada/app"}', e
FROM recount.sessions, generate_series(0, $EVENTS - 1) AS e, LATERAL (SELECT substr(session_id, 9)::int AS n) AS s,
  LATERAL (SELECT CASE
    WHEN e = 1 AND n % 20 = 0 THEN 'api_error' WHEN e IN (2, 3) AND n % 20 = 0 THEN 'api_retry' WHEN e = 1 AND n % 10 = 5 THEN 'pull_request'
    WHEN e = 2 AND n % 5 = 2 THEN 'compaction' WHEN e = 2 AND n % 5 < 2 THEN 'slash_command' ELSE 'prompt' END AS kind) AS k
WHERE workspace_id = '$WORKSPACE';

INSERT INTO recount.usage_day_rollup (
  workspace_id, session_id, first_bucket_start, last_bucket_start, model, is_subagent, agent_id, git_branch, agent_version,
  is_shared, responses, tokens_in, tokens_out, cache_read, cache_write, cache_write_1h, thinking_tokens, web_search_requests,
  cost_units, cost_input_units, cost_output_units, cost_cache_read_units, cost_cache_write_units, cost_web_search_units,
  unfinalised_responses, unfinalised_tokens_out, estimated_tokens_out, unpriced_responses, unpriced_tokens,
  default_priced_responses)
SELECT workspace_id, session_id, min(bucket_start), max(bucket_start), model, is_subagent, agent_id, git_branch, agent_version,
  is_shared, sum(responses), sum(tokens_in), sum(tokens_out), sum(cache_read), sum(cache_write), sum(cache_write_1h),
  sum(thinking_tokens), sum(web_search_requests), sum(cost_units), sum(cost_input_units), sum(cost_output_units),
  sum(cost_cache_read_units), sum(cost_cache_write_units), sum(cost_web_search_units), sum(unfinalised_responses),
  sum(unfinalised_tokens_out), sum(estimated_tokens_out), sum(unpriced_responses), sum(unpriced_tokens),
  sum(default_priced_responses)
FROM recount.usage_rollup WHERE workspace_id = '$WORKSPACE'
GROUP BY 1, 2, date_bin('1 day', bucket_start, '2000-01-01Z'), 5, 6, 7, 8, 9, 10;

INSERT INTO recount.tool_day_rollup (
  workspace_id, session_id, first_bucket_start, last_bucket_start, model, is_subagent, tool_name, tool_kind, mcp_server,
  program, subagent_type, skill_name, calls, results, errors, denied, input_bytes, output_bytes, duration_ms, timed_calls, durations)
SELECT workspace_id, session_id, min(bucket), max(bucket), model, is_subagent, tool_name, tool_kind, mcp_server, program,
  subagent_type, skill_name, count(*), count(is_error), count(*) FILTER (WHERE is_error), count(*) FILTER (WHERE is_denied),
  sum(input_bytes), sum(output_bytes), sum(duration_ms), count(duration_ms),
  string_agg(substring(int8send(duration_ms) FROM 3), '' ORDER BY duration_ms)
FROM recount.tool_calls, LATERAL (SELECT date_bin('15 minutes', "timestamp", '2000-01-01Z') AS bucket) AS b
WHERE workspace_id = '$WORKSPACE'
GROUP BY 1, 2, date_bin('1 day', bucket, '2000-01-01Z'), 5, 6, 7, 8, 9, 10, 11, 12;

INSERT INTO recount.file_day_rollup
SELECT workspace_id, session_id, min(bucket), max(bucket), model, is_subagent, file_path, count(*),
  count(*) FILTER (WHERE tool_kind = 'read'), count(*) FILTER (WHERE tool_kind <> 'read' AND NOT is_error),
  count(*) FILTER (WHERE is_error), sum(output_bytes)
FROM recount.tool_calls, LATERAL (SELECT date_bin('15 minutes', "timestamp", '2000-01-01Z') AS bucket) AS b
WHERE workspace_id = '$WORKSPACE' AND file_path IS NOT NULL
GROUP BY 1, 2, date_bin('1 day', bucket, '2000-01-01Z'), 5, 6, 7;

INSERT INTO recount.message_day_rollup
SELECT workspace_id, session_id, min(bucket_start), max(bucket_start), is_subagent, sum(messages), sum(user_messages)
FROM recount.message_rollup WHERE workspace_id = '$WORKSPACE'
GROUP BY 1, 2, date_bin('1 day', bucket_start, '2000-01-01Z'), 5;

INSERT INTO recount.stale_days (workspace_id, day)
SELECT DISTINCT workspace_id, date_bin('1 day', first_bucket_start, '2000-01-01Z') FROM (
  SELECT workspace_id, first_bucket_start FROM recount.usage_day_rollup
  UNION ALL SELECT workspace_id, first_bucket_start FROM recount.message_day_rollup
  UNION ALL SELECT workspace_id, first_bucket_start FROM recount.tool_day_rollup
) AS rollup WHERE workspace_id = '$WORKSPACE';

-- As often as in real transcripts: repeats in 2 % of the sessions, a cold cache in 23 %, an end without an answer in 10 %.
INSERT INTO recount.findings (
  workspace_id, session_id, row_set_id, kind, is_subagent, model, git_branch, "timestamp", message_id, line_number, tool_name, subject,
  times, output_bytes, tokens, pause_ms, response_keys, cost_usd)
SELECT
  workspace_id, session_id, primary_transcript_id, kind, is_subagent AND kind <> 'unfinished-session',
  CASE WHEN kind <> 'unfinished-session' THEN models[1] END, CASE WHEN kind = 'cold-cache' THEN git_branch END,
  first_timestamp + interval '10 minutes', 'm', 3, CASE WHEN kind <> 'cold-cache' THEN 'Bash' END,
  CASE WHEN kind = 'cold-cache' THEN models[1] ELSE 'program-1' END, CASE WHEN kind LIKE 'repeated%' THEN 3 ELSE 1 END,
  CASE WHEN kind LIKE 'repeated%' THEN 600 ELSE 0 END, CASE WHEN kind LIKE 'repeated%' THEN 0 ELSE 30000 END,
  CASE WHEN kind = 'cold-cache' THEN 400000 END,
  CASE WHEN kind LIKE 'repeated%' THEN ARRAY['msg-' || session_id || '-1', 'msg-' || session_id || '-2'] END,
  CASE WHEN kind NOT LIKE 'repeated%' THEN (n % 997) / 100.0 END
FROM recount.sessions, LATERAL (SELECT substr(session_id, 9)::int AS n) AS s,
  unnest(
    ARRAY['repeated-call', 'repeated-error', 'repeated-read', 'cold-cache', 'unfinished-session'],
    ARRAY[n % 150 = 1, n % 150 = 2, n % 150 = 3, n % 100 < 23, n % 10 = 5]
  ) AS each (kind, is_found)
WHERE workspace_id = '$WORKSPACE' AND is_found;
