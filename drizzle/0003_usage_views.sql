-- Hand-written: comments on the usage tables, and the views that read them.

COMMENT ON COLUMN recount.workspaces.currency_label IS 'Shown beside costs, e.g. USD. Costs are what the rates make of them, and are not converted.';

COMMENT ON TABLE recount.usage_entries IS 'Every copy of an API response that a transcript holds. The ledger follows from it.';
COMMENT ON TABLE recount.usage_ledger IS 'One row for each API response of a workspace, however many transcripts hold a copy. The earliest copy is credited, the most complete one gives the figures.';
COMMENT ON TABLE recount.usage_rollup IS 'Sums of the ledger by session and quarter of an hour; with is_shared, of the responses that the session holds but another one is credited with. Costs in units of 1e-10 US dollars.';
COMMENT ON TABLE recount.message_rollup IS 'Messages of each session''s primary transcript by quarter of an hour.';
COMMENT ON TABLE recount.tool_calls IS 'Every tool call that a transcript holds.';
COMMENT ON TABLE recount.tool_rollup IS 'Tool calls that count, by session, quarter of an hour and tool.';
COMMENT ON TABLE recount.session_events IS 'Prompts, compactions, API errors and retries, linked pull requests, slash commands.';
COMMENT ON TABLE recount.price_overrides IS 'Rates of a workspace''s own, which go before those of the price table.';
COMMENT ON COLUMN recount.price_overrides.model IS 'Model as transcripts name it, or the beginning of its name followed by *.';
COMMENT ON COLUMN recount.price_overrides.starts_at IS 'ISO 8601 time from which the rates hold; empty for always.';
COMMENT ON COLUMN recount.price_overrides.rates IS 'US dollars per million tokens by token class, and what else depends on the model.';
COMMENT ON COLUMN recount.price_overrides.created_at IS 'When it was set.';
--> statement-breakpoint
DO $$
DECLARE
  target record;
BEGIN
  FOR target IN
    SELECT c.relname AS "table", a.attname AS "column", d.description
    FROM (VALUES
      ('workspace_id', 'Workspace that the row belongs to.'),
      ('session_id', 'Session that the transcript is of.'),
      ('transcript_id', 'Transcript that the row was made from.'),
      ('message_id', 'Message of that transcript that the response or call is part of; null for usage that only a progress line tells of.'),
      ('source', 'message, progress (a sub-agent''s response that a progress line tells of) or advisor (an iteration of another model within a response).'),
      ('timestamp', 'Time of the line, with milliseconds; null where it has none.'),
      ('is_subagent', 'Whether a sub-agent did it, also within the transcript of its parent.'),
      ('agent_id', 'Id of the sub-agent; null where the line names none.'),
      ('git_branch', 'Git branch of the line; null where it names none.'),
      ('agent_version', 'Version of the agent that wrote the line; null where it names none.'),
      ('entry_number', 'Tells the transcript''s entries apart.'),
      ('agent', 'Agent that wrote the transcript, e.g. claude-code.'),
      ('response_key', 'Names the response in the workspace: the provider''s id where that is unique, else made longer by the request''s id or the line''s uuid.'),
      ('is_marked_copy', 'Whether the line says that it was copied from another session.'),
      ('line_number', 'Line of the transcript, from 1 over all lines.'),
      ('provider_message_id', 'message.id of the API response; null where it has none.'),
      ('request_id', 'requestId of the API call; null where no line has one.'),
      ('model', 'Model as the transcript names it; null where it names none.'),
      ('tokens_in', 'Input tokens, without cached ones.'),
      ('tokens_out', 'Output tokens.'),
      ('cache_read', 'Tokens read from the prompt cache.'),
      ('cache_write', 'Tokens written to the prompt cache.'),
      ('cache_write_5m', 'Part of cache_write that is kept for 5 minutes; 0 where the transcript does not tell.'),
      ('cache_write_1h', 'Part of cache_write that is kept for an hour; 0 where the transcript does not tell.'),
      ('thinking_tokens', 'Part of tokens_out that is thinking; 0 where the transcript does not tell.'),
      ('web_search_requests', 'Web searches made by the provider.'),
      ('web_fetch_requests', 'Pages fetched by the provider.'),
      ('service_tier', 'standard, priority, batch; null where the transcript does not tell.'),
      ('speed', 'standard or fast; null where the transcript does not tell.'),
      ('inference_geo', 'Where the model ran; null where the transcript does not tell.'),
      ('is_unfinalised', 'Whether no line has a final output count: tokens_out is a placeholder.'),
      ('estimated_tokens_out', 'Output tokens guessed from the length of the content; null unless unfinalised. Not part of any total.'),
      ('reported_cost_usd', 'US dollars as the agent itself reports them; null where it does not.'),
      ('cost_usd', 'US dollars; null where there is no price for the model.'),
      ('cost_input_usd', 'Part of cost_usd for tokens_in; null where it is not known.'),
      ('cost_output_usd', 'Part of cost_usd for tokens_out; null where it is not known.'),
      ('cost_cache_read_usd', 'Part of cost_usd for cache_read; null where it is not known.'),
      ('cost_cache_write_usd', 'Part of cost_usd for cache_write; null where it is not known.'),
      ('cost_web_search_usd', 'Part of cost_usd for web searches; null where it is not known.'),
      ('price_basis', 'list, override (a rate of the workspace), default (no model named), reported (the agent''s figure) or unpriced.'),
      ('price_version', 'Version of the rates that made the cost.'),
      ('copy_count', 'Entries that hold the response, the credited one included.'),
      ('bucket_start', 'Beginning of the quarter of an hour; null for what has no time.'),
      ('is_shared', 'Whether another session is credited with it.'),
      ('responses', 'API responses.'),
      ('cost_units', 'Cost of the responses that have a price, in units of 1e-10 US dollars.'),
      ('cost_input_units', 'Cost of tokens_in, in units of 1e-10 US dollars.'),
      ('cost_output_units', 'Cost of tokens_out, in units of 1e-10 US dollars.'),
      ('cost_cache_read_units', 'Cost of cache_read, in units of 1e-10 US dollars.'),
      ('cost_cache_write_units', 'Cost of cache_write, in units of 1e-10 US dollars.'),
      ('cost_web_search_units', 'Cost of web searches, in units of 1e-10 US dollars.'),
      ('unfinalised_responses', 'Responses whose output count is a placeholder.'),
      ('unfinalised_tokens_out', 'Their output tokens, which tokens_out contains.'),
      ('unpriced_responses', 'Responses of models without a price.'),
      ('unpriced_tokens', 'Their tokens of all classes.'),
      ('default_priced_responses', 'Responses that name no model, priced at the default rates.'),
      ('messages', 'Messages of all types.'),
      ('user_messages', 'Messages of type user, tool results included.'),
      ('call_number', 'Tells the transcript''s calls apart.'),
      ('call_key', 'Names the call, the same in every copy: the tool use''s id where it has one.'),
      ('is_own', 'Whether this copy of the call is the one that counts.'),
      ('tool_name', 'Name of the tool.'),
      ('mcp_server', 'Server of an MCP tool; null for others.'),
      ('program', 'First program of a shell command; null for other tools.'),
      ('file_path', 'File that is read or edited; null for other tools.'),
      ('subagent_type', 'Type of the sub-agent that the call starts; null for other tools.'),
      ('subagent_id', 'Id of the sub-agent that the call started; null where its result does not tell.'),
      ('skill_name', 'Skill that the call loads; null for other tools.'),
      ('duration_ms', 'Milliseconds from the tool use''s line to its result''s; null where one is missing.'),
      ('is_error', 'Whether the result tells of a failure; null without a result.'),
      ('is_denied', 'Whether the user, a rule or a hook refused it.'),
      ('input_bytes', 'Size of the input as JSON.'),
      ('output_bytes', 'Size of the result''s text; null without a result.'),
      ('calls', 'Tool calls.'),
      ('results', 'Calls that have a result.'),
      ('errors', 'Calls whose result tells of a failure.'),
      ('denied', 'Calls that were refused.'),
      ('timed_calls', 'Calls that duration_ms adds up.'),
      ('event_number', 'Tells the transcript''s events apart.'),
      ('event_key', 'The same in every copy of the line.'),
      ('kind', 'prompt, compaction, api_error, api_retry, pull_request or slash_command.'),
      ('name', 'What it is counted by: a compaction''s trigger, an error''s type, a pull request''s URL, a command''s name.'),
      ('details', 'Facts that have no column, e.g. preTokens.')
    ) AS d ("column", description)
    JOIN pg_class AS c ON c.relnamespace = 'recount'::regnamespace AND c.relname IN (
      'usage_entries', 'usage_ledger', 'usage_rollup', 'message_rollup', 'tool_calls', 'tool_rollup', 'session_events', 'price_overrides')
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = d."column"
    WHERE col_description(c.oid, a.attnum) IS NULL
  LOOP
    EXECUTE format('COMMENT ON COLUMN recount.%I.%I IS %L', target."table", target."column", target.description);
  END LOOP;
  FOR target IN
    SELECT t."table", d."column", d.description
    FROM (VALUES
      ('api_response_count', 'API responses, each once: messages, those that progress lines tell of, advisors. Tokens and cost are theirs.'),
      ('unfinalised_count', 'API responses whose output count is a placeholder.'),
      ('unpriced_count', 'API responses of models without a price.'),
      ('web_search_count', 'Web searches made by the provider.'),
      ('prompt_count', 'Prompts that a person gave in the main conversation.'),
      ('turn_count', 'Prompts that were answered by at least one API response.'),
      ('active_ms', 'Milliseconds between messages, pauses of more than five minutes left out.'),
      ('reported_cost_usd', 'US dollars that the agent itself reports for the session, to compare with; null where it does not.')
    ) AS d ("column", description), (VALUES ('transcripts'), ('sessions')) AS t ("table")
  LOOP
    EXECUTE format('COMMENT ON COLUMN recount.%I.%I IS %L', target."table", target."column", target.description);
  END LOOP;
END
$$;
--> statement-breakpoint
COMMENT ON COLUMN recount.usage_ledger.session_id IS 'Session that is credited with the response.';
COMMENT ON COLUMN recount.usage_ledger.transcript_id IS 'Transcript that is credited with the response.';
COMMENT ON COLUMN recount.usage_rollup.session_id IS 'Session that holds the responses.';
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.sessions AS
SELECT
  workspace_id, session_id, agent, is_subagent, parent_session_id, agent_id, primary_transcript_id, transcript_count,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, updated_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd
FROM recount.sessions;
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.transcripts AS
SELECT
  workspace_id, id AS transcript_id, session_id, agent, path, is_subagent, parent_session_id, agent_id,
  sha256, size_bytes, status, ingested_at IS NOT NULL AND NOT is_diverged AS is_primary, is_diverged, superseded_by,
  attempt_count, failure_reason, parser_version, price_version,
  line_count, content_block_count, error_count, warning_count, issue_counts,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, ingested_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd
FROM recount.transcripts;
--> statement-breakpoint
DROP VIEW analytics.daily_usage;
DROP VIEW analytics.api_responses;
--> statement-breakpoint
CREATE VIEW analytics.api_responses AS
SELECT
  l.workspace_id, l.response_key AS response_id, l.request_id, l.session_id, l.transcript_id, l.message_id,
  l.provider_message_id, l.model, l."timestamp", l.tokens_in, l.tokens_out, l.cache_read, l.cache_write, l.cost_usd,
  l.is_unfinalised, l.copy_count::bigint AS copy_count, m.stop_reason, l.agent, t.project, t.is_subagent,
  l.is_subagent AND NOT t.is_subagent AS is_sidechain,
  l.source, l.agent_id, l.git_branch, l.agent_version, l.cache_write_5m, l.cache_write_1h, l.thinking_tokens,
  l.web_search_requests, l.web_fetch_requests, l.service_tier, l.speed, l.inference_geo, l.estimated_tokens_out,
  l.cost_input_usd, l.cost_output_usd, l.cost_cache_read_usd, l.cost_cache_write_usd, l.cost_web_search_usd,
  l.reported_cost_usd, l.price_basis, l.price_version
FROM recount.usage_ledger AS l
LEFT JOIN recount.transcripts AS t ON t.workspace_id = l.workspace_id AND t.id = l.transcript_id
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = l.workspace_id AND m.transcript_id = l.transcript_id AND m.id = l.message_id;
COMMENT ON VIEW analytics.api_responses IS 'One row for each response of a model''s API, however many transcripts of the workspace hold a copy: what totals are made of. Credited to the earliest copy, with the figures of the most complete one. Messages of model <synthetic> are none.';
COMMENT ON COLUMN analytics.api_responses.response_id IS 'Names the response in the workspace: the provider''s id where that is unique, else made longer by the request''s id or the line''s uuid.';
COMMENT ON COLUMN analytics.api_responses.stop_reason IS 'Why the response ended; null where no line tells, and for usage that only a progress line tells of.';
COMMENT ON COLUMN analytics.api_responses.project IS 'Working directory of the credited transcript''s first line that names one; null where none does.';
COMMENT ON COLUMN analytics.api_responses.is_subagent IS 'Whether the whole transcript is a sub-agent''s.';
COMMENT ON COLUMN analytics.api_responses.is_sidechain IS 'Whether a sub-agent made it within a main transcript.';
--> statement-breakpoint
CREATE VIEW analytics.daily_usage AS
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
COMMENT ON VIEW analytics.daily_usage IS 'Usage of each UTC day, project and model, sub-agents apart, with every API response counted once. Read from roll-ups.';
COMMENT ON COLUMN analytics.daily_usage.day IS 'UTC day; null for responses without a timestamp.';
COMMENT ON COLUMN analytics.daily_usage.project IS 'Working directory of the session''s first line that names one; null where none does.';
COMMENT ON COLUMN analytics.daily_usage.cost_usd IS 'US dollars of the responses that have a price; null where none has.';
COMMENT ON COLUMN analytics.daily_usage.unpriced_responses IS 'Responses without a price, which cost_usd lacks.';
--> statement-breakpoint
CREATE VIEW analytics.session_usage AS
SELECT
  workspace_id, session_id, is_shared,
  sum(responses)::bigint AS responses, sum(tokens_in)::bigint AS tokens_in, sum(tokens_out)::bigint AS tokens_out,
  sum(cache_read)::bigint AS cache_read, sum(cache_write)::bigint AS cache_write, sum(cost_units) / 1e10 AS cost_usd,
  sum(unpriced_responses)::bigint AS unpriced_responses, sum(unfinalised_responses)::bigint AS unfinalised_responses,
  sum(unfinalised_tokens_out)::bigint AS unfinalised_tokens_out, sum(web_search_requests)::bigint AS web_search_requests
FROM recount.usage_rollup
GROUP BY workspace_id, session_id, is_shared;
COMMENT ON VIEW analytics.session_usage IS 'Usage of each session: what it is credited with, and, with is_shared, what it holds but another session is credited with. Without is_shared the rows add up to the workspace.';
COMMENT ON COLUMN analytics.session_usage.cost_usd IS 'US dollars of the responses that have a price.';
--> statement-breakpoint
CREATE VIEW analytics.tool_usage AS
SELECT
  r.workspace_id, (r.bucket_start AT TIME ZONE 'UTC')::date AS day, s.project, r.tool_name, r.mcp_server, r.is_subagent,
  sum(r.calls)::bigint AS calls, sum(r.results)::bigint AS results, sum(r.errors)::bigint AS errors,
  sum(r.denied)::bigint AS denied, sum(r.input_bytes)::bigint AS input_bytes,
  sum(r.output_bytes)::bigint AS output_bytes, sum(r.duration_ms)::bigint AS duration_ms,
  sum(r.timed_calls)::bigint AS timed_calls
FROM recount.tool_rollup AS r
LEFT JOIN recount.sessions AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
GROUP BY r.workspace_id, day, s.project, r.tool_name, r.mcp_server, r.is_subagent;
COMMENT ON VIEW analytics.tool_usage IS 'Tool calls of each UTC day, project and tool, every call counted once however many transcripts hold a copy. Read from roll-ups.';
COMMENT ON COLUMN analytics.tool_usage.day IS 'UTC day; null for calls without a timestamp.';
COMMENT ON COLUMN analytics.tool_usage.project IS 'Working directory of the session''s first line that names one; null where none does.';
COMMENT ON COLUMN analytics.tool_usage.duration_ms IS 'Milliseconds of all timed_calls together.';
--> statement-breakpoint
CREATE VIEW analytics.session_events AS
SELECT DISTINCT ON (e.workspace_id, e.kind, e.event_key)
  e.workspace_id, e.kind, e.event_key, e.session_id, e.transcript_id, e."timestamp", e.is_subagent, e.name, e.details,
  e.line_number, t.project
FROM recount.session_events AS e
JOIN recount.transcripts AS t ON t.workspace_id = e.workspace_id AND t.id = e.transcript_id
ORDER BY e.workspace_id, e.kind, e.event_key, e."timestamp" NULLS LAST, t.first_timestamp NULLS LAST, e.session_id,
  t.size_bytes DESC, t.sha256, e.event_number;
COMMENT ON VIEW analytics.session_events IS 'Prompts, compactions, API errors and retries, linked pull requests and slash commands, each once however many transcripts hold a copy of the line.';
COMMENT ON COLUMN analytics.session_events.session_id IS 'Session of the earliest copy.';
COMMENT ON COLUMN analytics.session_events.project IS 'Working directory of the transcript''s first line that names one; null where none does.';
--> statement-breakpoint
-- The views' other columns mean what those of the same name do in the table they come from.
DO $$
DECLARE
  target record;
BEGIN
  FOR target IN
    SELECT view."name", a.attname AS "column", source.description
    FROM (VALUES
      ('sessions', 'sessions'), ('transcripts', 'transcripts'), ('api_responses', 'usage_ledger'),
      ('daily_usage', 'usage_rollup'), ('session_usage', 'usage_rollup'), ('tool_usage', 'tool_rollup'),
      ('session_events', 'session_events')
    ) AS view ("name", source)
    JOIN pg_attribute AS a ON a.attrelid = format('analytics.%I', view."name")::regclass AND a.attnum > 0
    CROSS JOIN LATERAL (
      SELECT col_description(s.attrelid, s.attnum) AS description FROM pg_attribute AS s
      WHERE s.attrelid = format('recount.%I', view.source)::regclass AND s.attname = a.attname
    ) AS source
    WHERE col_description(a.attrelid, a.attnum) IS NULL
  LOOP
    EXECUTE format('COMMENT ON COLUMN analytics.%I.%I IS %L', target."name", target."column", target.description);
  END LOOP;
END
$$;
