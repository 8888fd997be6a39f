-- Hand-written: comments on everything in schema recount, faster compression of its large columns, and schema analytics.

COMMENT ON SCHEMA recount IS 'Tables of recount; their shape may change with any release. Read the views of schema analytics instead.';
--> statement-breakpoint
COMMENT ON TABLE recount.workspaces IS 'Tenants: no row of one is ever visible to another.';
COMMENT ON COLUMN recount.workspaces.id IS 'ULID.';
COMMENT ON COLUMN recount.workspaces.name IS 'Unique.';
COMMENT ON COLUMN recount.workspaces.created_at IS 'When it was created.';

COMMENT ON TABLE recount.api_keys IS 'Keys to the HTTP API; each belongs to one workspace.';
COMMENT ON COLUMN recount.api_keys.workspace_id IS 'Workspace that the key opens.';
COMMENT ON COLUMN recount.api_keys.id IS 'ULID.';
COMMENT ON COLUMN recount.api_keys.name IS 'What people call the key; need not be unique.';
COMMENT ON COLUMN recount.api_keys.key_hash IS 'SHA-256 of the key, hex; the key itself is not stored.';
COMMENT ON COLUMN recount.api_keys.hint IS 'Last characters of the key, to tell keys apart.';
COMMENT ON COLUMN recount.api_keys.scopes IS 'What the key allows: ingest, read, admin.';
COMMENT ON COLUMN recount.api_keys.created_at IS 'When the key was created.';
COMMENT ON COLUMN recount.api_keys.last_used_at IS 'Last use, exact to a minute; null where it was never used.';
COMMENT ON COLUMN recount.api_keys.revoked_at IS 'When the key was revoked; null while it is valid.';
--> statement-breakpoint
COMMENT ON TABLE recount.transcripts IS 'One uploaded file: its raw object, the state of its ingestion, and what the parse found. Figures are zero or null until it is first ingested.';
COMMENT ON COLUMN recount.transcripts.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.transcripts.id IS 'ULID, ascending with the time of the upload.';
COMMENT ON COLUMN recount.transcripts.session_id IS 'Session that the transcript is of; a session has several transcripts where it was uploaded as it grew, or diverged.';
COMMENT ON COLUMN recount.transcripts.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
COMMENT ON COLUMN recount.transcripts.path IS 'Original path as the uploader gave it; null where none was given.';
COMMENT ON COLUMN recount.transcripts.is_subagent IS 'Whether the whole transcript is a sub-agent''s.';
COMMENT ON COLUMN recount.transcripts.parent_session_id IS 'Session that started the sub-agent; null for main sessions and where it is not known.';
COMMENT ON COLUMN recount.transcripts.agent_id IS 'Id of the sub-agent; null for main sessions and where it is not known.';
COMMENT ON COLUMN recount.transcripts.sha256 IS 'SHA-256 of the raw bytes, hex.';
COMMENT ON COLUMN recount.transcripts.size_bytes IS 'Size of the raw bytes, decompressed.';
COMMENT ON COLUMN recount.transcripts.object_key IS 'Key of the raw object in the raw store.';
COMMENT ON COLUMN recount.transcripts.status IS 'queued: waits for a worker. processing: a worker has it. ingested: its rows are there. superseded: its bytes are the beginning of a longer transcript of the session, whose rows contain its own. failed: given up, see failure_reason.';
COMMENT ON COLUMN recount.transcripts.is_diverged IS 'Whether it is ingested beside the primary transcript of its session, neither of them being the beginning of the other.';
COMMENT ON COLUMN recount.transcripts.superseded_by IS 'A longer transcript that contains this one, itself perhaps superseded by now; null unless superseded.';
COMMENT ON COLUMN recount.transcripts.attempt_count IS 'Attempts at ingesting it since it was last enqueued.';
COMMENT ON COLUMN recount.transcripts.failure_reason IS 'Why the last attempt failed, without any transcript text; null where it did not.';
COMMENT ON COLUMN recount.transcripts.parser_version IS 'Version of the parser that made the rows; null until ingested.';
COMMENT ON COLUMN recount.transcripts.price_version IS 'Version of the price table that made the costs; null until ingested.';
COMMENT ON COLUMN recount.transcripts.line_count IS 'Lines in the file, empty ones included.';
COMMENT ON COLUMN recount.transcripts.content_block_count IS 'Content blocks of all messages.';
COMMENT ON COLUMN recount.transcripts.error_count IS 'Issues that lost something of a line.';
COMMENT ON COLUMN recount.transcripts.warning_count IS 'Issues that were repaired or merely noted.';
COMMENT ON COLUMN recount.transcripts.issue_counts IS 'Occurrences of every issue by its code, also of those beyond the first that ingest_issues keeps.';
COMMENT ON COLUMN recount.transcripts.total_messages IS 'Messages of all types.';
COMMENT ON COLUMN recount.transcripts.user_messages IS 'Messages of type user, tool results included.';
COMMENT ON COLUMN recount.transcripts.assistant_messages IS 'Messages of type assistant: one for each API response.';
COMMENT ON COLUMN recount.transcripts.tool_use_count IS 'Content blocks of type tool_use.';
COMMENT ON COLUMN recount.transcripts.thinking_blocks IS 'Content blocks of type thinking or redacted_thinking.';
COMMENT ON COLUMN recount.transcripts.subagent_count IS 'Tool uses that start a sub-agent: those named Task or Agent.';
COMMENT ON COLUMN recount.transcripts.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.transcripts.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.transcripts.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.transcripts.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.transcripts.cost_estimate_usd IS 'US dollars for the messages that have a price.';
COMMENT ON COLUMN recount.transcripts.duration_ms IS 'Milliseconds from first_timestamp to last_timestamp, pauses included; 0 where there are none.';
COMMENT ON COLUMN recount.transcripts.initial_prompt IS 'First real user text, 1,000 characters at most, then "..."; null where there is none.';
COMMENT ON COLUMN recount.transcripts.project IS 'Working directory of the first line that names one; null where none does.';
COMMENT ON COLUMN recount.transcripts.git_branch IS 'Git branch of the first line that names one; null where none does.';
COMMENT ON COLUMN recount.transcripts.agent_version IS 'Version of the agent of the first line that names one; null where none does.';
COMMENT ON COLUMN recount.transcripts.title IS 'Set by the user, else generated, else the first summary; null where there is none.';
COMMENT ON COLUMN recount.transcripts.models IS 'Distinct models in order of appearance, without <synthetic>.';
COMMENT ON COLUMN recount.transcripts.first_timestamp IS 'Earliest timestamp of any line; null where no line has one.';
COMMENT ON COLUMN recount.transcripts.last_timestamp IS 'Latest timestamp of any line; null where no line has one.';
COMMENT ON COLUMN recount.transcripts.metadata IS 'What else the lines tell of the session: entrypoint, permissionMode, pullRequests, forkedFromSessionId, lineTypes (lines by type), ….';
COMMENT ON COLUMN recount.transcripts.created_at IS 'When it was uploaded.';
COMMENT ON COLUMN recount.transcripts.ingested_at IS 'When its rows were written; null where it has none. It stays while the transcript waits to be parsed anew.';
--> statement-breakpoint
COMMENT ON TABLE recount.sessions IS 'One conversation with an agent, or of a sub-agent with its parent. Its figures are those of its primary transcript.';
COMMENT ON COLUMN recount.sessions.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.sessions.session_id IS 'Id that the agent gave the session; a sub-agent''s is made of its parent''s and its own.';
COMMENT ON COLUMN recount.sessions.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
COMMENT ON COLUMN recount.sessions.is_subagent IS 'Whether the whole session is a sub-agent''s.';
COMMENT ON COLUMN recount.sessions.parent_session_id IS 'Session that started the sub-agent; null for main sessions and where it is not known.';
COMMENT ON COLUMN recount.sessions.agent_id IS 'Id of the sub-agent; null for main sessions and where it is not known.';
COMMENT ON COLUMN recount.sessions.primary_transcript_id IS 'Longest ingested transcript of the session.';
COMMENT ON COLUMN recount.sessions.transcript_count IS 'Ingested transcripts, the primary one included; more than 1 where versions diverged.';
COMMENT ON COLUMN recount.sessions.total_messages IS 'Messages of all types.';
COMMENT ON COLUMN recount.sessions.user_messages IS 'Messages of type user, tool results included.';
COMMENT ON COLUMN recount.sessions.assistant_messages IS 'Messages of type assistant: one for each API response.';
COMMENT ON COLUMN recount.sessions.tool_use_count IS 'Content blocks of type tool_use.';
COMMENT ON COLUMN recount.sessions.thinking_blocks IS 'Content blocks of type thinking or redacted_thinking.';
COMMENT ON COLUMN recount.sessions.subagent_count IS 'Tool uses that start a sub-agent: those named Task or Agent.';
COMMENT ON COLUMN recount.sessions.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.sessions.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.sessions.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.sessions.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.sessions.cost_estimate_usd IS 'US dollars for the messages that have a price. What the session shares with another is in the figures of both.';
COMMENT ON COLUMN recount.sessions.duration_ms IS 'Milliseconds from first_timestamp to last_timestamp, pauses included; 0 where there are none.';
COMMENT ON COLUMN recount.sessions.initial_prompt IS 'First real user text, 1,000 characters at most, then "..."; null where there is none.';
COMMENT ON COLUMN recount.sessions.project IS 'Working directory of the first line that names one; null where none does.';
COMMENT ON COLUMN recount.sessions.git_branch IS 'Git branch of the first line that names one; null where none does.';
COMMENT ON COLUMN recount.sessions.agent_version IS 'Version of the agent of the first line that names one; null where none does.';
COMMENT ON COLUMN recount.sessions.title IS 'Set by the user, else generated, else the first summary; null where there is none.';
COMMENT ON COLUMN recount.sessions.models IS 'Distinct models in order of appearance, without <synthetic>.';
COMMENT ON COLUMN recount.sessions.first_timestamp IS 'Earliest timestamp of any line; null where no line has one.';
COMMENT ON COLUMN recount.sessions.last_timestamp IS 'Latest timestamp of any line; null where no line has one.';
COMMENT ON COLUMN recount.sessions.metadata IS 'What else the lines tell of the session: entrypoint, permissionMode, pullRequests, forkedFromSessionId, lineTypes (lines by type), ….';
COMMENT ON COLUMN recount.sessions.created_at IS 'When the session''s first transcript was ingested.';
COMMENT ON COLUMN recount.sessions.updated_at IS 'When the row was last made from the session''s transcripts.';
--> statement-breakpoint
COMMENT ON TABLE recount.transcript_messages IS 'One message: a user, system or summary line, or all assistant lines that share a message.id. Diverged transcripts of a session each have their own rows.';
COMMENT ON COLUMN recount.transcript_messages.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.transcript_messages.transcript_id IS 'Transcript that the row was made from.';
COMMENT ON COLUMN recount.transcript_messages.id IS 'ULID, ascending with ordinal, the same at every parse. Unique within a transcript; diverged transcripts of a session share ids.';
COMMENT ON COLUMN recount.transcript_messages.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN recount.transcript_messages.line_number IS 'Line of the message''s first record, from 1 over all lines.';
COMMENT ON COLUMN recount.transcript_messages.ordinal IS 'Position among the transcript''s messages, from 0 without gaps.';
COMMENT ON COLUMN recount.transcript_messages.message_type IS 'user, assistant, system or summary.';
COMMENT ON COLUMN recount.transcript_messages.role IS 'Role as the line gives it, else the message type; null for summaries.';
COMMENT ON COLUMN recount.transcript_messages.model IS 'Model as the transcript names it, <synthetic> where no API call was made; null unless an assistant line names one.';
COMMENT ON COLUMN recount.transcript_messages.tokens_in IS 'Input tokens, without cached ones; null where the message carries no usage.';
COMMENT ON COLUMN recount.transcript_messages.tokens_out IS 'Output tokens; null where the message carries no usage.';
COMMENT ON COLUMN recount.transcript_messages.cache_read IS 'Tokens read from the prompt cache; null where the message carries no usage.';
COMMENT ON COLUMN recount.transcript_messages.cache_write IS 'Tokens written to the prompt cache; null where the message carries no usage.';
COMMENT ON COLUMN recount.transcript_messages.cost_usd IS 'US dollars; null where there is no usage, or no price for the model.';
COMMENT ON COLUMN recount.transcript_messages."timestamp" IS 'Time of the message''s first line that has one, with milliseconds; null where none has.';
COMMENT ON COLUMN recount.transcript_messages.has_text IS 'Whether it has a block of type text.';
COMMENT ON COLUMN recount.transcript_messages.has_thinking IS 'Whether it has a block of type thinking or redacted_thinking.';
COMMENT ON COLUMN recount.transcript_messages.has_tool_use IS 'Whether it has a block of type tool_use.';
COMMENT ON COLUMN recount.transcript_messages.has_tool_result IS 'Whether it has a block of type tool_result.';
COMMENT ON COLUMN recount.transcript_messages.metadata IS 'Small facts without a column: isMeta, isCompactSummary, forkedFrom, toolUseResult, usage (further token counts), usage_unfinalised (no final token count was ever written), line_count (where more than 1), ….';
COMMENT ON COLUMN recount.transcript_messages.provider_message_id IS 'message.id of the API response; null unless an assistant line has one.';
COMMENT ON COLUMN recount.transcript_messages.request_id IS 'requestId of the API call; null where no line has one.';
COMMENT ON COLUMN recount.transcript_messages.uuid IS 'uuid of the first line; null where it has none. Copies of the line in other transcripts have the same.';
COMMENT ON COLUMN recount.transcript_messages.parent_uuid IS 'uuid of the line that the first line follows; null where it names none.';
COMMENT ON COLUMN recount.transcript_messages.is_sidechain IS 'Whether the message is a sub-agent''s, also within a main transcript.';
COMMENT ON COLUMN recount.transcript_messages.agent_id IS 'Id of the sub-agent; null where the line names none.';
COMMENT ON COLUMN recount.transcript_messages.stop_reason IS 'Why the response ended; null where no line tells.';
COMMENT ON COLUMN recount.transcript_messages.byte_offset IS 'Offset of the first line in the raw object, in bytes.';
COMMENT ON COLUMN recount.transcript_messages.byte_length IS 'Length of the first line in bytes, without the line end.';
--> statement-breakpoint
COMMENT ON TABLE recount.content_blocks IS 'Content blocks of messages. Text beyond a limit (262,144 bytes by default) is cut, see metadata; media are never stored, only described.';
COMMENT ON COLUMN recount.content_blocks.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.content_blocks.transcript_id IS 'Transcript that the row was made from.';
COMMENT ON COLUMN recount.content_blocks.message_id IS 'Message of the same transcript that the block is part of.';
COMMENT ON COLUMN recount.content_blocks.block_order IS 'Position within the message, from 0 without gaps, in the order of its lines.';
COMMENT ON COLUMN recount.content_blocks.id IS 'ULID, the same at every parse. Unique within a transcript; diverged transcripts of a session share ids.';
COMMENT ON COLUMN recount.content_blocks.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN recount.content_blocks.block_type IS 'text, thinking, tool_use, tool_result, image, …: the name that the transcript gives it.';
COMMENT ON COLUMN recount.content_blocks.content_text IS 'Text of the block; null unless it is a text or a document given as text.';
COMMENT ON COLUMN recount.content_blocks.thinking_text IS 'Text of a thinking block, often empty because withheld; null for other types.';
COMMENT ON COLUMN recount.content_blocks.tool_name IS 'Tool of a tool use; null for types that name none.';
COMMENT ON COLUMN recount.content_blocks.tool_use_id IS 'Id of a tool use, which its result refers to; null for types without one.';
COMMENT ON COLUMN recount.content_blocks.tool_input IS 'Input of a tool use. Where truncated, a string with the beginning of its JSON, or null where it was nested too deep.';
COMMENT ON COLUMN recount.content_blocks.tool_result_id IS 'tool_use_id of the tool use that a result answers; null for types that answer none.';
COMMENT ON COLUMN recount.content_blocks.is_error IS 'Whether a tool result tells of a failure; null for types that do not say.';
COMMENT ON COLUMN recount.content_blocks.result_text IS 'Text of a tool result, its text parts joined by line feeds; null where it has none.';
COMMENT ON COLUMN recount.content_blocks.metadata IS 'What has no column: media_type, sha256 and byte_length of media, content of blocks of other types, truncated and original_byte_length (bytes) where text was cut.';
COMMENT ON COLUMN recount.content_blocks.line_number IS 'Line that holds the block, from 1 over all lines.';
COMMENT ON COLUMN recount.content_blocks.byte_offset IS 'Offset of that line in the raw object, in bytes.';
COMMENT ON COLUMN recount.content_blocks.byte_length IS 'Length of that line in bytes, without the line end.';
--> statement-breakpoint
COMMENT ON TABLE recount.ingest_issues IS 'Faults found in a transcript, each with its place: the first thousand of a transcript. The raw bytes keep everything.';
COMMENT ON COLUMN recount.ingest_issues.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.ingest_issues.transcript_id IS 'Transcript that has the fault.';
COMMENT ON COLUMN recount.ingest_issues.issue_number IS 'Position among the transcript''s issues, from 0.';
COMMENT ON COLUMN recount.ingest_issues.code IS 'Kind of fault, e.g. invalid_json.';
COMMENT ON COLUMN recount.ingest_issues.severity IS 'error: something of the line was lost. warning: repaired or merely noted.';
COMMENT ON COLUMN recount.ingest_issues.message IS 'For people; never quotes the transcript beyond the name of an unknown type.';
COMMENT ON COLUMN recount.ingest_issues.line_number IS 'Line of the fault, from 1 over all lines.';
COMMENT ON COLUMN recount.ingest_issues.byte_offset IS 'Offset of that line in the raw object, in bytes.';
COMMENT ON COLUMN recount.ingest_issues.occurrence_count IS 'How often it occurs on the line, e.g. characters replaced.';
--> statement-breakpoint
-- lz4 instead of pglz makes ingesting large texts 1.7 times as fast. Only new rows follow it; servers may lack it.
DO $$
DECLARE
  target record;
BEGIN
  FOR target IN
    SELECT * FROM (VALUES
      ('transcript_messages', 'metadata'),
      ('content_blocks', 'content_text'),
      ('content_blocks', 'thinking_text'),
      ('content_blocks', 'tool_input'),
      ('content_blocks', 'result_text'),
      ('content_blocks', 'metadata')
    ) AS large ("table", "column")
  LOOP
    EXECUTE format('ALTER TABLE recount.%I ALTER COLUMN %I SET COMPRESSION lz4', target."table", target."column");
  END LOOP;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'This server is built without lz4: large columns keep its default compression';
END
$$;
--> statement-breakpoint
CREATE SCHEMA analytics;
COMMENT ON SCHEMA analytics IS 'Read-only views for analysts, described in docs/sql.md. Their names and columns are kept; columns may be added at the end.';
--> statement-breakpoint
CREATE VIEW analytics.sessions AS
SELECT
  workspace_id, session_id, agent, is_subagent, parent_session_id, agent_id, primary_transcript_id, transcript_count,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, updated_at
FROM recount.sessions;
COMMENT ON VIEW analytics.sessions IS 'One row for each session, with the figures of its primary transcript. Sub-agents are sessions of their own. Sessions that copied history from another both count it: for totals use daily_usage or api_responses.';
--> statement-breakpoint
CREATE VIEW analytics.transcripts AS
SELECT
  workspace_id, id AS transcript_id, session_id, agent, path, is_subagent, parent_session_id, agent_id,
  sha256, size_bytes, status, ingested_at IS NOT NULL AND NOT is_diverged AS is_primary, is_diverged, superseded_by,
  attempt_count, failure_reason, parser_version, price_version,
  line_count, content_block_count, error_count, warning_count, issue_counts,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, ingested_at
FROM recount.transcripts;
COMMENT ON VIEW analytics.transcripts IS 'One row for each uploaded file, in whatever state. Only those with is_primary add up to the figures of sessions: diverged ones repeat much of what the primary one holds.';
--> statement-breakpoint
CREATE VIEW analytics.messages AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, m.id AS message_id, m.ordinal, NOT t.is_diverged AS is_primary,
  m.message_type, m.role, m.model, m.tokens_in, m.tokens_out, m.cache_read, m.cache_write, m.cost_usd, m."timestamp",
  m.has_text, m.has_thinking, m.has_tool_use, m.has_tool_result, m.metadata,
  m.provider_message_id, m.request_id, m.uuid, m.parent_uuid, m.is_sidechain, m.agent_id, m.stop_reason,
  m.line_number, m.byte_offset, m.byte_length, t.project, t.is_subagent
FROM recount.transcripts AS t
JOIN recount.transcript_messages AS m ON m.workspace_id = t.workspace_id AND m.transcript_id = t.id
WHERE t.ingested_at IS NOT NULL;
COMMENT ON VIEW analytics.messages IS 'One row for each message of each ingested transcript. With is_primary, one for each message of each session.';
--> statement-breakpoint
CREATE VIEW analytics.content_blocks AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, b.message_id, b.block_order, b.id AS block_id,
  NOT t.is_diverged AS is_primary, b.block_type, b.content_text, b.thinking_text,
  b.tool_name, b.tool_use_id, b.tool_input, b.tool_result_id, b.is_error, b.result_text,
  b.metadata @> '{"truncated": true}' AS is_truncated, b.metadata,
  b.line_number, b.byte_offset, b.byte_length
FROM recount.transcripts AS t
JOIN recount.content_blocks AS b ON b.workspace_id = t.workspace_id AND b.transcript_id = t.id
WHERE t.ingested_at IS NOT NULL;
COMMENT ON VIEW analytics.content_blocks IS 'One row for each content block of each ingested transcript; joins to messages by workspace_id, transcript_id, message_id.';
--> statement-breakpoint
-- By a window and not by a join: planners take the join of two parts of content_blocks for tiny, and loop over them.
CREATE VIEW analytics.tool_calls AS
SELECT
  c.workspace_id, c.session_id, c.transcript_id, c.message_id, c.block_order, c.is_primary,
  c.tool_use_id, c.tool_name, c.tool_input, c.is_error, c.result_text, c.result_bytes,
  c.result_message_id, c.result_block_order, m."timestamp" AS started_at, rm."timestamp" AS ended_at,
  round(extract(epoch FROM rm."timestamp" - m."timestamp") * 1000)::bigint AS duration_ms,
  c.project, c.is_subagent, m.is_sidechain
FROM (
  SELECT
    t.workspace_id, t.session_id, t.id AS transcript_id, NOT t.is_diverged AS is_primary, t.project, t.is_subagent,
    b.message_id, b.block_order, b.block_type, b.tool_use_id, b.tool_name, b.tool_input,
    first_value(b.is_error) OVER call AS is_error,
    first_value(b.result_text) OVER call AS result_text,
    first_value(
      CASE
        WHEN b.block_type = 'tool_result'
        THEN coalesce((b.metadata ->> 'original_byte_length')::bigint, octet_length(b.result_text))
      END
    ) OVER call AS result_bytes,
    first_value(CASE WHEN b.block_type = 'tool_result' THEN b.message_id END) OVER call AS result_message_id,
    first_value(CASE WHEN b.block_type = 'tool_result' THEN b.block_order END) OVER call AS result_block_order
  FROM recount.transcripts AS t
  JOIN recount.content_blocks AS b ON b.workspace_id = t.workspace_id AND b.transcript_id = t.id
  WHERE t.ingested_at IS NOT NULL AND b.block_type IN ('tool_use', 'tool_result')
  -- The first result, where there is one; without any it is the tool use, which has no result's columns.
  WINDOW call AS (
    PARTITION BY t.workspace_id, t.session_id, t.id, coalesce(b.tool_use_id, b.tool_result_id, b.id)
    ORDER BY b.block_type, b.message_id, b.block_order
  )
) AS c
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = c.workspace_id AND m.transcript_id = c.transcript_id AND m.id = c.message_id
LEFT JOIN recount.transcript_messages AS rm
  ON rm.workspace_id = c.workspace_id AND rm.transcript_id = c.transcript_id AND rm.id = c.result_message_id
WHERE c.block_type = 'tool_use';
COMMENT ON VIEW analytics.tool_calls IS 'One row for each tool use of each ingested transcript, with its result where the same transcript has one. With is_primary, one for each tool use of each session.';
COMMENT ON COLUMN analytics.tool_calls.is_error IS 'Whether the result tells of a failure; null where there is no result.';
COMMENT ON COLUMN analytics.tool_calls.result_text IS 'Text of the result, cut where it was large; null where there is no result, or none with text.';
COMMENT ON COLUMN analytics.tool_calls.result_bytes IS 'Size of the result''s text in UTF-8 bytes, before it was cut; null where there is none.';
COMMENT ON COLUMN analytics.tool_calls.result_message_id IS 'Message of the same transcript that holds the result; null where there is none.';
COMMENT ON COLUMN analytics.tool_calls.result_block_order IS 'Position of the result within that message; null where there is none.';
COMMENT ON COLUMN analytics.tool_calls.started_at IS 'Timestamp of the message that holds the tool use: when its response began. Null where it has none.';
COMMENT ON COLUMN analytics.tool_calls.ended_at IS 'Timestamp of the message that holds the result; null where there is none.';
COMMENT ON COLUMN analytics.tool_calls.duration_ms IS 'Milliseconds from started_at to ended_at: also the rest of the response, and the wait for a permission. Null where one is missing.';
--> statement-breakpoint
CREATE VIEW analytics.api_responses AS
SELECT DISTINCT ON (workspace_id, response_id, request_id)
  workspace_id, response_id, request_id, session_id, transcript_id, message_id, provider_message_id, model, "timestamp",
  max(tokens_in) OVER copies AS tokens_in, max(tokens_out) OVER copies AS tokens_out,
  max(cache_read) OVER copies AS cache_read, max(cache_write) OVER copies AS cache_write,
  max(cost_usd) OVER copies AS cost_usd, bool_and(is_unfinalised) OVER copies AS is_unfinalised,
  count(*) OVER copies AS copy_count, stop_reason, agent, project, is_subagent, is_sidechain
FROM (
  SELECT
    t.workspace_id, coalesce(m.provider_message_id, m.uuid, m.id) AS response_id,
    -- A copy without the request's id is one of the response whose copies have it.
    coalesce(
      m.request_id,
      min(m.request_id) OVER (PARTITION BY t.workspace_id, coalesce(m.provider_message_id, m.uuid, m.id))
    ) AS request_id,
    t.session_id, t.id AS transcript_id, m.id AS message_id, m.provider_message_id, m.model, m."timestamp",
    m.tokens_in, m.tokens_out, m.cache_read, m.cache_write, m.cost_usd,
    m.metadata ? 'usage_unfinalised' AS is_unfinalised, m.stop_reason, t.agent, t.project, t.is_subagent, m.is_sidechain,
    m.metadata ? 'forkedFrom' AS is_marked_copy, t.is_diverged, t.first_timestamp
  FROM recount.transcripts AS t
  JOIN recount.transcript_messages AS m ON m.workspace_id = t.workspace_id AND m.transcript_id = t.id
  WHERE t.ingested_at IS NOT NULL AND m.message_type = 'assistant' AND m.model IS DISTINCT FROM '<synthetic>'
) AS copy
WINDOW copies AS (PARTITION BY workspace_id, response_id, request_id)
-- Copies mostly keep the timestamp of the original, which the further keys then tell from them.
ORDER BY
  workspace_id, response_id, request_id,
  "timestamp" NULLS LAST, is_marked_copy, is_diverged, is_subagent, first_timestamp NULLS LAST, session_id, transcript_id;
COMMENT ON VIEW analytics.api_responses IS 'One row for each response of a model''s API, however many transcripts of the workspace hold a copy: what totals are made of. Same provider_message_id and request_id, or provider_message_id alone where a copy lacks the latter, is the same response; without a provider_message_id each message is one. Credited to the earliest copy. Messages of model <synthetic> are none.';
COMMENT ON COLUMN analytics.api_responses.response_id IS 'provider_message_id, else the message''s uuid, else its id; unique within the workspace together with request_id.';
COMMENT ON COLUMN analytics.api_responses.request_id IS 'requestId of the API call; null where no copy has one.';
COMMENT ON COLUMN analytics.api_responses.session_id IS 'Session that is credited with the response.';
COMMENT ON COLUMN analytics.api_responses.transcript_id IS 'Transcript that is credited with the response.';
COMMENT ON COLUMN analytics.api_responses.message_id IS 'Message of that transcript.';
COMMENT ON COLUMN analytics.api_responses.tokens_in IS 'Input tokens, without cached ones; the maximum over the copies. Null where none carries usage.';
COMMENT ON COLUMN analytics.api_responses.tokens_out IS 'Output tokens; the maximum over the copies. Null where none carries usage.';
COMMENT ON COLUMN analytics.api_responses.cache_read IS 'Tokens read from the prompt cache; the maximum over the copies. Null where none carries usage.';
COMMENT ON COLUMN analytics.api_responses.cache_write IS 'Tokens written to the prompt cache; the maximum over the copies. Null where none carries usage.';
COMMENT ON COLUMN analytics.api_responses.cost_usd IS 'US dollars; the maximum over the copies. Null where there is no usage, or no price for the model.';
COMMENT ON COLUMN analytics.api_responses.is_unfinalised IS 'Whether no copy has a final token count: tokens_out is then what was known when the response began.';
COMMENT ON COLUMN analytics.api_responses.copy_count IS 'Messages that hold the response, the credited one included.';
--> statement-breakpoint
CREATE VIEW analytics.daily_usage AS
SELECT
  workspace_id, ("timestamp" AT TIME ZONE 'UTC')::date AS day, project, model,
  count(*) AS responses, sum(tokens_in)::bigint AS tokens_in, sum(tokens_out)::bigint AS tokens_out,
  sum(cache_read)::bigint AS cache_read, sum(cache_write)::bigint AS cache_write, sum(cost_usd) AS cost_usd,
  count(*) FILTER (WHERE cost_usd IS NULL AND tokens_out IS NOT NULL) AS unpriced_responses
FROM analytics.api_responses
GROUP BY workspace_id, day, project, model;
COMMENT ON VIEW analytics.daily_usage IS 'Usage of each UTC day, project and model, with every API response counted once.';
COMMENT ON COLUMN analytics.daily_usage.day IS 'UTC day; null for responses without a timestamp.';
COMMENT ON COLUMN analytics.daily_usage.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN analytics.daily_usage.responses IS 'API responses.';
COMMENT ON COLUMN analytics.daily_usage.tokens_in IS 'Input tokens, without cached ones; null where no response carries usage.';
COMMENT ON COLUMN analytics.daily_usage.tokens_out IS 'Output tokens; null where no response carries usage.';
COMMENT ON COLUMN analytics.daily_usage.cache_read IS 'Tokens read from the prompt cache; null where no response carries usage.';
COMMENT ON COLUMN analytics.daily_usage.cache_write IS 'Tokens written to the prompt cache; null where no response carries usage.';
COMMENT ON COLUMN analytics.daily_usage.cost_usd IS 'US dollars of the responses that have a price; null where none has.';
COMMENT ON COLUMN analytics.daily_usage.unpriced_responses IS 'Responses with usage but without a price, which cost_usd lacks.';
--> statement-breakpoint
CREATE VIEW analytics.ingest_issues AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, i.issue_number, NOT t.is_diverged AS is_primary,
  i.code, i.severity, i.message, i.line_number, i.byte_offset, i.occurrence_count, t.project, t.path
FROM recount.transcripts AS t
JOIN recount.ingest_issues AS i ON i.workspace_id = t.workspace_id AND i.transcript_id = t.id
WHERE t.ingested_at IS NOT NULL;
COMMENT ON VIEW analytics.ingest_issues IS 'One row for each fault found in an ingested transcript: the first thousand of each. All of them are counted in transcripts.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.transcripts.transcript_id IS 'ULID, ascending with the time of the upload.';
COMMENT ON COLUMN analytics.transcripts.is_primary IS 'Whether the session''s figures are this transcript''s: the longest ingested one.';
COMMENT ON COLUMN analytics.messages.message_id IS 'ULID, ascending with ordinal, the same at every parse. Unique within a transcript; diverged transcripts of a session share ids.';
COMMENT ON COLUMN analytics.messages.is_primary IS 'Whether the row is of its session''s primary transcript.';
COMMENT ON COLUMN analytics.content_blocks.block_id IS 'ULID, the same at every parse. Unique within a transcript; diverged transcripts of a session share ids.';
COMMENT ON COLUMN analytics.content_blocks.is_primary IS 'Whether the row is of its session''s primary transcript.';
COMMENT ON COLUMN analytics.content_blocks.is_truncated IS 'Whether text of the block was cut. The raw line at byte_offset has it whole.';
COMMENT ON COLUMN analytics.tool_calls.is_primary IS 'Whether the row is of its session''s primary transcript.';
COMMENT ON COLUMN analytics.tool_calls.is_sidechain IS 'Whether a sub-agent called the tool, also within a main transcript.';
COMMENT ON COLUMN analytics.ingest_issues.is_primary IS 'Whether the row is of its session''s primary transcript.';
--> statement-breakpoint
-- The views' other columns mean what those of the same name do in the table they come from.
DO $$
DECLARE
  target record;
BEGIN
  FOR target IN
    SELECT view."name", view_column.attname AS "column", coalesce(
      col_description(own.attrelid, own.attnum),
      col_description(of_transcript.attrelid, of_transcript.attnum)
    ) AS description
    FROM (VALUES
      ('sessions', 'sessions'),
      ('transcripts', 'transcripts'),
      ('messages', 'transcript_messages'),
      ('content_blocks', 'content_blocks'),
      ('tool_calls', 'content_blocks'),
      ('api_responses', 'transcript_messages'),
      ('daily_usage', 'transcripts'),
      ('ingest_issues', 'ingest_issues')
    ) AS view ("name", source)
    JOIN pg_attribute AS view_column ON view_column.attrelid = format('analytics.%I', view."name")::regclass
    LEFT JOIN pg_attribute AS own
      ON own.attrelid = format('recount.%I', view.source)::regclass AND own.attname = view_column.attname
    LEFT JOIN pg_attribute AS of_transcript
      ON of_transcript.attrelid = 'recount.transcripts'::regclass AND of_transcript.attname = view_column.attname
    WHERE view_column.attnum > 0 AND col_description(view_column.attrelid, view_column.attnum) IS NULL
  LOOP
    EXECUTE format('COMMENT ON COLUMN analytics.%I.%I IS %L', target."name", target."column", target.description);
  END LOOP;
END
$$;
