-- For each session of the fleet $TEXTS messages, each with a block: copies of those of the session '$TEMPLATE',
-- which was ingested by the program. They wait for segments of search.
INSERT INTO recount.transcript_messages (
  workspace_id, row_set_id, id, session_id, line_number, ordinal, message_type, role, model, tokens_in, tokens_out, cache_read,
  cache_write, cost_usd, "timestamp", has_text, has_thinking, has_tool_use, has_tool_result, metadata, is_sidechain, byte_offset, byte_length)
SELECT s.workspace_id, s.primary_transcript_id, lpad(d::text, 8, '0'), s.session_id, d, d, t.message_type, t.role, t.model, t.tokens_in,
  t.tokens_out, t.cache_read, t.cache_write, t.cost_usd, s.first_timestamp + d * interval '5 minutes', t.has_text, t.has_thinking,
  t.has_tool_use, t.has_tool_result, t.metadata, false, 0, t.byte_length
FROM recount.sessions AS s CROSS JOIN generate_series(0, $TEXTS - 1) AS d
JOIN (
  SELECT *, row_number() OVER (ORDER BY id) - 1 AS number, count(*) OVER () AS total
  FROM recount.transcript_messages WHERE workspace_id = '$WORKSPACE' AND session_id = '$TEMPLATE'
) AS t ON t.number = (substr(s.session_id, 9)::int * $TEXTS + d) % t.total
WHERE s.workspace_id = '$WORKSPACE' AND s.session_id LIKE 'session-%';

INSERT INTO recount.content_blocks (
  workspace_id, row_set_id, message_id, block_order, id, session_id, block_type, content_text, thinking_text, tool_name, tool_kind,
  tool_use_id, tool_input, tool_result_id, is_error, result_text, metadata, line_number, byte_offset, byte_length)
SELECT s.workspace_id, s.primary_transcript_id, lpad(d::text, 8, '0'), 0, 'block-' || d, s.session_id, t.block_type, t.content_text,
  t.thinking_text, t.tool_name, t.tool_kind, t.tool_use_id, t.tool_input, t.tool_result_id, t.is_error, t.result_text, t.metadata, d, 0,
  t.byte_length
FROM recount.sessions AS s CROSS JOIN generate_series(0, $TEXTS - 1) AS d
JOIN (
  SELECT *, row_number() OVER (ORDER BY message_id, block_order) - 1 AS number, count(*) OVER () AS total
  FROM recount.content_blocks WHERE workspace_id = '$WORKSPACE' AND session_id = '$TEMPLATE' AND byte_length < 6000
) AS t ON t.number = (substr(s.session_id, 9)::int * $TEXTS + d) % t.total
WHERE s.workspace_id = '$WORKSPACE' AND s.session_id LIKE 'session-%';

INSERT INTO recount.search_waiting (workspace_id, row_set_id, session_id)
SELECT workspace_id, primary_transcript_id, session_id FROM recount.sessions
WHERE workspace_id = '$WORKSPACE' AND session_id LIKE 'session-%';
