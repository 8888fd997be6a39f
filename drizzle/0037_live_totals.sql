-- The totals of a session's streams are sums over their rows.
ALTER TABLE recount.live_sessions
  DROP COLUMN stream_count,
  DROP COLUMN tokens_in,
  DROP COLUMN tokens_out,
  DROP COLUMN cache_read,
  DROP COLUMN cache_write,
  DROP COLUMN cost_usd,
  DROP COLUMN model;
--> statement-breakpoint
COMMENT ON COLUMN recount.live_events.name IS 'Type of the event: session-start, text, tool-start, tool-end, prompt, progress, unknown, warning, result or close. Events of earlier versions begin with stream: and are not shown.';
COMMENT ON COLUMN recount.live_events.data IS 'JSON object, as readers get it, but without the ids of session and stream.';
