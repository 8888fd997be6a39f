-- The whole schema at once, for a new database. One of 0.3 or later has come here by the steps in from-0.3 instead.
CREATE SCHEMA recount;
COMMENT ON SCHEMA recount IS 'Tables of recount; their shape may change with any release. Read the views of schema analytics instead.';
--> statement-breakpoint
CREATE AGGREGATE recount.sum_bigint(bigint) (SFUNC = int8pl, STYPE = bigint, COMBINEFUNC = int8pl, PARALLEL = SAFE);
COMMENT ON AGGREGATE recount.sum_bigint(bigint) IS 'Sum that stays a bigint, and fails beyond one: faster than sum(bigint), which makes a numeric.';
--> statement-breakpoint
CREATE TABLE recount.workspaces (
  id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  currency_label text DEFAULT 'USD' NOT NULL,
  CONSTRAINT workspaces_name_unique UNIQUE (name),
  CONSTRAINT workspaces_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE recount.workspaces IS 'Tenants: no row of one is ever visible to another.';
COMMENT ON COLUMN recount.workspaces.id IS 'ULID.';
COMMENT ON COLUMN recount.workspaces.name IS 'Unique.';
COMMENT ON COLUMN recount.workspaces.created_at IS 'When it was created.';
COMMENT ON COLUMN recount.workspaces.currency_label IS 'Shown beside costs, e.g. USD. Costs are what the rates make of them, and are not converted.';
--> statement-breakpoint
CREATE TABLE recount.api_keys (
  workspace_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  key_hash text NOT NULL,
  hint text NOT NULL,
  scopes text[] NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  last_used_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  expires_at timestamp(3) with time zone,
  previous_key_hash text,
  previous_expires_at timestamp(3) with time zone,
  person text,
  CONSTRAINT api_keys_key_hash_unique UNIQUE (key_hash),
  CONSTRAINT api_keys_previous_key_hash_unique UNIQUE (previous_key_hash),
  CONSTRAINT api_keys_workspace_id_id_pk PRIMARY KEY (workspace_id, id),
  CONSTRAINT api_keys_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id) ON DELETE CASCADE
);
CREATE INDEX api_keys_workspace_name ON recount.api_keys (workspace_id, name);
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
COMMENT ON COLUMN recount.api_keys.expires_at IS 'From then on the key is refused; null: never.';
COMMENT ON COLUMN recount.api_keys.previous_key_hash IS 'SHA-256 of the secret before the key was rotated, hex; null where that is not valid any more.';
COMMENT ON COLUMN recount.api_keys.previous_expires_at IS 'Until when the secret before the rotation is valid.';
COMMENT ON COLUMN recount.api_keys.person IS 'Whose key it is: what it brings is theirs, whatever the upload says; null: the upload says it.';
--> statement-breakpoint
CREATE TABLE recount.attachments (
  workspace_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  agent text NOT NULL,
  path text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  stored_sha256 text,
  object_key text NOT NULL,
  modified_at timestamp(3) with time zone NOT NULL,
  uploader_key_id text COLLATE "C",
  machine text,
  person text,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT attachments_object_key_unique UNIQUE (workspace_id, object_key),
  CONSTRAINT attachments_workspace_id_id_pk PRIMARY KEY (workspace_id, id),
  CONSTRAINT attachments_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id)
);
CREATE INDEX attachments_modified_at ON recount.attachments (workspace_id, modified_at);
CREATE INDEX attachments_session ON recount.attachments (workspace_id, session_id, path);
COMMENT ON TABLE recount.attachments IS 'Files that agents keep beside transcripts, such as results too large for them.';
COMMENT ON COLUMN recount.attachments.workspace_id IS 'Whose session it is.';
COMMENT ON COLUMN recount.attachments.id IS 'ULID.';
COMMENT ON COLUMN recount.attachments.session_id IS 'Session in whose folder the file lies; it need not have a transcript.';
COMMENT ON COLUMN recount.attachments.agent IS 'Agent that keeps it.';
COMMENT ON COLUMN recount.attachments.path IS 'Path in the sessions folder.';
COMMENT ON COLUMN recount.attachments.kind IS 'tool_result, subagent or workflow.';
COMMENT ON COLUMN recount.attachments.size_bytes IS 'Size of the file.';
COMMENT ON COLUMN recount.attachments.sha256 IS 'SHA-256 of what was uploaded, hex.';
COMMENT ON COLUMN recount.attachments.stored_sha256 IS 'SHA-256 of the raw object, if that is a redacted copy; else null.';
COMMENT ON COLUMN recount.attachments.object_key IS 'Key of the raw object.';
COMMENT ON COLUMN recount.attachments.modified_at IS 'When the file was written, never later than it was received.';
COMMENT ON COLUMN recount.attachments.uploader_key_id IS 'API key that brought it, or operator.';
COMMENT ON COLUMN recount.attachments.machine IS 'Machine that it came from, if that is known.';
COMMENT ON COLUMN recount.attachments.person IS 'Whose work it is, if that is known.';
COMMENT ON COLUMN recount.attachments.created_at IS 'When it was received.';
--> statement-breakpoint
CREATE TABLE recount.audit_log (
  workspace_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  at timestamp(3) with time zone DEFAULT now() NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  subjects text[] NOT NULL,
  details jsonb NOT NULL,
  CONSTRAINT audit_log_workspace_id_id_pk PRIMARY KEY (workspace_id, id)
);
COMMENT ON TABLE recount.audit_log IS 'Who changed what: keys, settings, prices, deletions, runs over all transcripts. Only grows; goes with its workspace.';
COMMENT ON COLUMN recount.audit_log.workspace_id IS 'Workspace that was changed; empty for what is of none (any more).';
COMMENT ON COLUMN recount.audit_log.id IS 'ULID.';
COMMENT ON COLUMN recount.audit_log.at IS 'When the change was made.';
COMMENT ON COLUMN recount.audit_log.actor IS 'key:<id>, operator:<name on the operating system> of who has the database itself, or system.';
COMMENT ON COLUMN recount.audit_log.action IS '<noun>.<verb>, such as key.create, settings.change, session.delete.';
COMMENT ON COLUMN recount.audit_log.subjects IS 'Ids of what was changed.';
COMMENT ON COLUMN recount.audit_log.details IS 'Counts, names and values of settings; never text of transcripts, nor secrets.';
--> statement-breakpoint
CREATE FUNCTION recount.keep_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Deleting a workspace says in its transaction which one.
  IF TG_OP = 'DELETE' AND OLD.workspace_id = current_setting('recount.deleted_workspace', true) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'Entries of the audit log are neither changed nor deleted' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER keep_audit_log_rows BEFORE UPDATE OR DELETE ON recount.audit_log
  FOR EACH ROW EXECUTE FUNCTION recount.keep_audit_log();
CREATE TRIGGER keep_audit_log BEFORE TRUNCATE ON recount.audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION recount.keep_audit_log();
--> statement-breakpoint
CREATE TABLE recount.content_blocks (
  workspace_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  block_order integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  block_type text NOT NULL,
  content_text text,
  thinking_text text,
  tool_name text,
  tool_use_id text,
  tool_input jsonb,
  tool_result_id text,
  is_error boolean,
  result_text text,
  metadata jsonb NOT NULL,
  line_number integer NOT NULL,
  byte_offset bigint NOT NULL,
  byte_length integer NOT NULL,
  tool_kind text,
  CONSTRAINT content_blocks_pk PRIMARY KEY (workspace_id, row_set_id, message_id, block_order)
);
COMMENT ON TABLE recount.content_blocks IS 'Content blocks of messages. Text beyond a limit (262,144 bytes by default) is cut, see metadata; media are never stored, only described.';
COMMENT ON COLUMN recount.content_blocks.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.content_blocks.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
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
COMMENT ON COLUMN recount.content_blocks.tool_kind IS 'What the tool does, whatever its agent calls it: read, edit, shell, search, web, agent, skill, mcp, plan, question, other. Null for blocks that call no tool.';
--> statement-breakpoint
CREATE TABLE recount.device_requests (
  user_code text NOT NULL,
  device_code_hash text NOT NULL,
  machine text NOT NULL,
  scopes text[] NOT NULL,
  requested_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  last_polled_at timestamp(3) with time zone,
  workspace_id text COLLATE "C",
  person text,
  key_expires_at timestamp(3) with time zone,
  approved_by text,
  CONSTRAINT device_requests_device_code_hash_unique UNIQUE (device_code_hash),
  CONSTRAINT device_requests_pkey PRIMARY KEY (user_code),
  CONSTRAINT device_requests_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id) ON DELETE CASCADE
);
COMMENT ON TABLE recount.device_requests IS 'Machines that ask for a key by a code, which an admin approves within ten minutes.';
COMMENT ON COLUMN recount.device_requests.user_code IS 'What the admin types, eight letters.';
COMMENT ON COLUMN recount.device_requests.device_code_hash IS 'SHA-256 of what the machine fetches its key with, hex.';
COMMENT ON COLUMN recount.device_requests.machine IS 'Name of the machine, which becomes that of its key.';
COMMENT ON COLUMN recount.device_requests.scopes IS 'What the key may do: ingest, read.';
COMMENT ON COLUMN recount.device_requests.requested_at IS 'When it asked.';
COMMENT ON COLUMN recount.device_requests.expires_at IS 'From then on the codes are refused; the row is deleted when another machine asks.';
COMMENT ON COLUMN recount.device_requests.last_polled_at IS 'When the machine last asked for its key.';
COMMENT ON COLUMN recount.device_requests.workspace_id IS 'Workspace of the key; null until the code is approved.';
COMMENT ON COLUMN recount.device_requests.person IS 'Whose key it becomes; null: of nobody in particular.';
COMMENT ON COLUMN recount.device_requests.key_expires_at IS 'When the key ends; null: never.';
COMMENT ON COLUMN recount.device_requests.approved_by IS 'Who approved the code, as in the audit log.';
--> statement-breakpoint
CREATE TABLE recount.file_day_rollup (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  first_bucket_start timestamp(3) with time zone,
  last_bucket_start timestamp(3) with time zone,
  model text,
  is_subagent boolean NOT NULL,
  file_path text NOT NULL,
  calls integer NOT NULL,
  reads integer NOT NULL,
  edits integer NOT NULL,
  errors integer NOT NULL,
  output_bytes bigint DEFAULT 0 NOT NULL
);
CREATE INDEX file_day_rollup_file ON recount.file_day_rollup (workspace_id, left(file_path, 256));
CREATE INDEX file_day_rollup_session ON recount.file_day_rollup (workspace_id, session_id);
CREATE INDEX file_day_rollup_time ON recount.file_day_rollup (workspace_id, first_bucket_start);
COMMENT ON TABLE recount.file_day_rollup IS 'Calls of tools for files that count, by session, UTC day and file.';
COMMENT ON COLUMN recount.file_day_rollup.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.file_day_rollup.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN recount.file_day_rollup.first_bucket_start IS 'Beginning of the first quarter of an hour that the row is the sum of; null for what has no timestamp.';
COMMENT ON COLUMN recount.file_day_rollup.last_bucket_start IS 'Beginning of the last quarter of an hour that the row is the sum of, on the same UTC day.';
COMMENT ON COLUMN recount.file_day_rollup.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.file_day_rollup.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.file_day_rollup.file_path IS 'File that is read or edited; null for other tools.';
COMMENT ON COLUMN recount.file_day_rollup.calls IS 'Tool calls.';
COMMENT ON COLUMN recount.file_day_rollup.reads IS 'Calls of the tool Read.';
COMMENT ON COLUMN recount.file_day_rollup.edits IS 'Calls of other tools that did not fail.';
COMMENT ON COLUMN recount.file_day_rollup.errors IS 'Calls whose result tells of a failure.';
COMMENT ON COLUMN recount.file_day_rollup.output_bytes IS 'Size of the result''s text; null without a result.';
--> statement-breakpoint
CREATE TABLE recount.findings (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  is_subagent boolean NOT NULL,
  model text,
  git_branch text,
  "timestamp" timestamp(3) with time zone,
  message_id text COLLATE "C",
  line_number integer,
  tool_name text,
  subject text,
  times integer NOT NULL,
  output_bytes bigint DEFAULT 0 NOT NULL,
  tokens bigint DEFAULT 0 NOT NULL,
  pause_ms bigint,
  response_keys text[],
  cost_usd numeric(20,10)
);
CREATE INDEX findings_kind_time ON recount.findings (workspace_id, kind, "timestamp");
CREATE INDEX findings_session ON recount.findings (workspace_id, session_id);
COMMENT ON TABLE recount.findings IS 'What sessions spent without effect, a row for each finding.';
COMMENT ON COLUMN recount.findings.workspace_id IS 'Whose session it is.';
COMMENT ON COLUMN recount.findings.session_id IS 'Session that the finding is about.';
COMMENT ON COLUMN recount.findings.row_set_id IS 'Row set of the transcript in which it was found.';
COMMENT ON COLUMN recount.findings.kind IS 'repeated-call, repeated-error, repeated-read, cold-cache or unfinished-session.';
COMMENT ON COLUMN recount.findings.is_subagent IS 'Whether a sub-agent did it.';
COMMENT ON COLUMN recount.findings.model IS 'Model of the first call, or of the response.';
COMMENT ON COLUMN recount.findings.git_branch IS 'Branch of the response, of cold-cache; else null.';
COMMENT ON COLUMN recount.findings."timestamp" IS 'When the first call or the response was made, or the last sign of life.';
COMMENT ON COLUMN recount.findings.message_id IS 'Message of the first call, or of the response.';
COMMENT ON COLUMN recount.findings.line_number IS 'Line of the transcript where it begins.';
COMMENT ON COLUMN recount.findings.tool_name IS 'Tool that was called.';
COMMENT ON COLUMN recount.findings.subject IS 'File or program of the call, or the model whose cache it is.';
COMMENT ON COLUMN recount.findings.times IS 'Calls that are alike; else 1.';
COMMENT ON COLUMN recount.findings.output_bytes IS 'Bytes of the results of the repeats.';
COMMENT ON COLUMN recount.findings.tokens IS 'Tokens written to the cache again, or own tokens of the session.';
COMMENT ON COLUMN recount.findings.pause_ms IS 'Milliseconds of the pause before the response, of cold-cache; else null.';
COMMENT ON COLUMN recount.findings.response_keys IS 'Responses that made the repeats, which say what they cost; null in findings of other kinds.';
COMMENT ON COLUMN recount.findings.cost_usd IS 'US dollars that it cost; null where no price is known, and in repeated calls.';
--> statement-breakpoint
CREATE TABLE recount.ingest_issues (
  workspace_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  issue_number integer NOT NULL,
  code text NOT NULL,
  severity text NOT NULL,
  message text NOT NULL,
  line_number integer NOT NULL,
  byte_offset bigint NOT NULL,
  occurrence_count integer NOT NULL,
  CONSTRAINT ingest_issues_pk PRIMARY KEY (workspace_id, row_set_id, issue_number)
);
COMMENT ON TABLE recount.ingest_issues IS 'Faults found in a transcript, each with its place: the first thousand of a transcript. The raw bytes keep everything.';
COMMENT ON COLUMN recount.ingest_issues.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.ingest_issues.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.ingest_issues.issue_number IS 'Position among the transcript''s issues, from 0.';
COMMENT ON COLUMN recount.ingest_issues.code IS 'Kind of fault, e.g. invalid_json.';
COMMENT ON COLUMN recount.ingest_issues.severity IS 'error: something of the line was lost. warning: repaired or merely noted.';
COMMENT ON COLUMN recount.ingest_issues.message IS 'For people; never quotes the transcript beyond the name of an unknown type.';
COMMENT ON COLUMN recount.ingest_issues.line_number IS 'Line of the fault, from 1 over all lines.';
COMMENT ON COLUMN recount.ingest_issues.byte_offset IS 'Offset of that line in the raw object, in bytes.';
COMMENT ON COLUMN recount.ingest_issues.occurrence_count IS 'How often it occurs on the line, e.g. characters replaced.';
--> statement-breakpoint
CREATE TABLE recount.live_chunks (
  workspace_id text COLLATE "C" NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  byte_offset bigint NOT NULL,
  bytes bytea NOT NULL,
  received_at timestamp(3) with time zone NOT NULL,
  polled_at timestamp(3) with time zone,
  CONSTRAINT live_chunks_pk PRIMARY KEY (workspace_id, stream_id, byte_offset)
);
COMMENT ON TABLE recount.live_chunks IS 'Bytes of open streams as they came; deleted once the whole is in the raw store.';
COMMENT ON COLUMN recount.live_chunks.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.live_chunks.stream_id IS 'Stream that they are of.';
COMMENT ON COLUMN recount.live_chunks.byte_offset IS 'Where in the stream they begin.';
COMMENT ON COLUMN recount.live_chunks.bytes IS 'The bytes, which may end within a line.';
COMMENT ON COLUMN recount.live_chunks.received_at IS 'When the last of them came.';
COMMENT ON COLUMN recount.live_chunks.polled_at IS 'When events that had waited were last told between these bytes and the next; null if none were.';
--> statement-breakpoint
CREATE TABLE recount.live_events (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  data text NOT NULL,
  CONSTRAINT live_events_pk PRIMARY KEY (workspace_id, session_id, id)
);
COMMENT ON TABLE recount.live_events IS 'What the streams of a session tell, for those who follow it; pruned some time after the stream has ended.';
COMMENT ON COLUMN recount.live_events.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.live_events.session_id IS 'Session that is followed.';
COMMENT ON COLUMN recount.live_events.id IS 'Number of the event within its session, from 1, in the order of commits.';
COMMENT ON COLUMN recount.live_events.stream_id IS 'Stream that tells it.';
COMMENT ON COLUMN recount.live_events.name IS 'stream:init, stream:chunk, stream:tool, stream:prompt, stream:progress, stream:warning, stream:result or stream:end.';
COMMENT ON COLUMN recount.live_events.data IS 'JSON, as readers get it.';
--> statement-breakpoint
CREATE TABLE recount.live_sessions (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  last_event_id bigint DEFAULT 0 NOT NULL,
  checkpoints text[] DEFAULT '{}' NOT NULL,
  stream_count integer DEFAULT 0 NOT NULL,
  tokens_in bigint DEFAULT 0 NOT NULL,
  tokens_out bigint DEFAULT 0 NOT NULL,
  cache_read bigint DEFAULT 0 NOT NULL,
  cache_write bigint DEFAULT 0 NOT NULL,
  cost_usd numeric(30,10),
  model text,
  CONSTRAINT live_sessions_pk PRIMARY KEY (workspace_id, session_id),
  CONSTRAINT live_sessions_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id)
);
COMMENT ON TABLE recount.live_sessions IS 'What sessions have of the streams of running agents.';
COMMENT ON COLUMN recount.live_sessions.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.live_sessions.session_id IS 'Session, also one without a transcript yet.';
COMMENT ON COLUMN recount.live_sessions.last_event_id IS 'Id of its newest event; 0 before the first.';
COMMENT ON COLUMN recount.live_sessions.checkpoints IS 'UUIDs of user messages that it can be rewound to, the oldest first; the newest 100.';
COMMENT ON COLUMN recount.live_sessions.stream_count IS 'Streams that have ended.';
COMMENT ON COLUMN recount.live_sessions.tokens_in IS 'Input tokens without cached ones, of the streams that have ended.';
COMMENT ON COLUMN recount.live_sessions.tokens_out IS 'Output tokens of the streams that have ended.';
COMMENT ON COLUMN recount.live_sessions.cache_read IS 'Input tokens read from the cache, of the streams that have ended.';
COMMENT ON COLUMN recount.live_sessions.cache_write IS 'Input tokens written to the cache, of the streams that have ended.';
COMMENT ON COLUMN recount.live_sessions.cost_usd IS 'Cost of the streams that have ended, as the agents told it; null where none did.';
COMMENT ON COLUMN recount.live_sessions.model IS 'First model named.';
--> statement-breakpoint
CREATE TABLE recount.live_streams (
  workspace_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  agent text NOT NULL,
  source_format text,
  path text,
  state text DEFAULT 'open' NOT NULL,
  writer_id text NOT NULL,
  stored_bytes bigint DEFAULT 0 NOT NULL,
  line_count integer DEFAULT 0 NOT NULL,
  warning_count integer DEFAULT 0 NOT NULL,
  agent_session_id text,
  model text,
  tokens_in bigint DEFAULT 0 NOT NULL,
  tokens_out bigint DEFAULT 0 NOT NULL,
  cache_read bigint DEFAULT 0 NOT NULL,
  cache_write bigint DEFAULT 0 NOT NULL,
  cost_usd numeric(20,10),
  stop_reason text,
  started_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  last_received_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  ended_at timestamp(3) with time zone,
  success boolean,
  aborted boolean,
  error text,
  transcript_id text COLLATE "C",
  object_key text,
  arrivals jsonb,
  has_events boolean DEFAULT true NOT NULL,
  is_counted boolean DEFAULT true NOT NULL,
  uploader_key_id text COLLATE "C",
  sha256 text,
  machine text,
  person text,
  CONSTRAINT live_streams_pk PRIMARY KEY (workspace_id, id),
  CONSTRAINT live_streams_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id)
);
CREATE INDEX live_streams_prunable ON recount.live_streams (ended_at) WHERE has_events;
CREATE INDEX live_streams_session ON recount.live_streams (workspace_id, session_id);
CREATE INDEX live_streams_transcript ON recount.live_streams (workspace_id, transcript_id);
CREATE INDEX live_streams_unfinished ON recount.live_streams (workspace_id, last_received_at) WHERE state <> 'closed';
COMMENT ON TABLE recount.live_streams IS 'One row for each run of an agent whose output came while it ran.';
COMMENT ON COLUMN recount.live_streams.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.live_streams.id IS 'ULID made by the client.';
COMMENT ON COLUMN recount.live_streams.session_id IS 'Session that the client named.';
COMMENT ON COLUMN recount.live_streams.agent IS 'Agent whose output it is.';
COMMENT ON COLUMN recount.live_streams.source_format IS 'What the client calls the format; null where it does not.';
COMMENT ON COLUMN recount.live_streams.path IS 'Where the output also lies, as the client said.';
COMMENT ON COLUMN recount.live_streams.state IS 'open: more may come. closing: ended, and to become a transcript. closed: stored in the raw store.';
COMMENT ON COLUMN recount.live_streams.writer_id IS 'Request that appends, or was the last to.';
COMMENT ON COLUMN recount.live_streams.stored_bytes IS 'Bytes received and stored.';
COMMENT ON COLUMN recount.live_streams.line_count IS 'JSON objects read.';
COMMENT ON COLUMN recount.live_streams.warning_count IS 'Faults found in the lines.';
COMMENT ON COLUMN recount.live_streams.agent_session_id IS 'As the agent itself names its session or thread; null before it has.';
COMMENT ON COLUMN recount.live_streams.model IS 'First model named.';
COMMENT ON COLUMN recount.live_streams.tokens_in IS 'Input tokens without cached ones, so far.';
COMMENT ON COLUMN recount.live_streams.tokens_out IS 'Output tokens so far.';
COMMENT ON COLUMN recount.live_streams.cache_read IS 'Input tokens read from the cache, so far.';
COMMENT ON COLUMN recount.live_streams.cache_write IS 'Input tokens written to the cache, so far.';
COMMENT ON COLUMN recount.live_streams.cost_usd IS 'Latest cumulative cost that the agent told; null where it tells none.';
COMMENT ON COLUMN recount.live_streams.stop_reason IS 'Why the last response ended.';
COMMENT ON COLUMN recount.live_streams.started_at IS 'First request.';
COMMENT ON COLUMN recount.live_streams.last_received_at IS 'When bytes last came, or a request to append them.';
COMMENT ON COLUMN recount.live_streams.ended_at IS 'When the agent, or the waiting for it, ended; null while open.';
COMMENT ON COLUMN recount.live_streams.success IS 'Whether the agent succeeded; null while open.';
COMMENT ON COLUMN recount.live_streams.aborted IS 'Ended by a signal, or silent for too long; null while open.';
COMMENT ON COLUMN recount.live_streams.error IS 'Why it failed; never text of the stream.';
COMMENT ON COLUMN recount.live_streams.transcript_id IS 'Transcript that it became; null before, and where its format is only stored.';
COMMENT ON COLUMN recount.live_streams.object_key IS 'Raw object of a stream that is no transcript.';
COMMENT ON COLUMN recount.live_streams.arrivals IS 'Pairs of an offset and when the bytes before it had come, in milliseconds since 1970: the times of its lines.';
COMMENT ON COLUMN recount.live_streams.has_events IS 'Whether its events are kept; false once they are pruned.';
COMMENT ON COLUMN recount.live_streams.is_counted IS 'False where another stream of the session has all of its bytes, and counts in its place.';
COMMENT ON COLUMN recount.live_streams.uploader_key_id IS 'API key that brings the stream. several: more than one have. Null: unknown, as it began before 0.4.';
COMMENT ON COLUMN recount.live_streams.sha256 IS 'SHA-256 (hex) of the object; null where there is none, or where it was stored before checksums were kept.';
COMMENT ON COLUMN recount.live_streams.machine IS 'Machine that the stream came from, as its uploader named it; null: unknown.';
COMMENT ON COLUMN recount.live_streams.person IS 'Whose work it is: the person of the API key that brought the stream, else whom the upload named; null: unknown.';
--> statement-breakpoint
CREATE TABLE recount.maintenance_checks (
  workspace_id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  state text NOT NULL,
  is_fix boolean NOT NULL,
  actor text NOT NULL,
  started_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  seen_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  ended_at timestamp(3) with time zone,
  step text NOT NULL,
  done_count bigint DEFAULT 0 NOT NULL,
  total_count bigint,
  failure_reason text,
  report jsonb,
  report_at timestamp(3) with time zone,
  report_is_fix boolean,
  CONSTRAINT maintenance_checks_workspace_id_kind_pk PRIMARY KEY (workspace_id, kind)
);
COMMENT ON TABLE recount.maintenance_checks IS 'Checks of the doctor and of figures that a request started: the last of each kind and workspace.';
COMMENT ON COLUMN recount.maintenance_checks.workspace_id IS 'Workspace that is looked at; empty: all of them.';
COMMENT ON COLUMN recount.maintenance_checks.kind IS 'doctor or verify.';
COMMENT ON COLUMN recount.maintenance_checks.run_id IS 'ULID of the run.';
COMMENT ON COLUMN recount.maintenance_checks.state IS 'running, done, failed, interrupted; one that runs and was not seen for 30 seconds was interrupted.';
COMMENT ON COLUMN recount.maintenance_checks.is_fix IS 'Whether it mends what it finds.';
COMMENT ON COLUMN recount.maintenance_checks.actor IS 'Who started it, as in the audit log.';
COMMENT ON COLUMN recount.maintenance_checks.started_at IS 'When it was started.';
COMMENT ON COLUMN recount.maintenance_checks.seen_at IS 'When its process last noted that it goes on.';
COMMENT ON COLUMN recount.maintenance_checks.ended_at IS 'When it ended; null while it runs.';
COMMENT ON COLUMN recount.maintenance_checks.step IS 'What is looked at.';
COMMENT ON COLUMN recount.maintenance_checks.done_count IS 'How much of the step is done.';
COMMENT ON COLUMN recount.maintenance_checks.total_count IS 'How much there is to do in the step; null: not known.';
COMMENT ON COLUMN recount.maintenance_checks.failure_reason IS 'Why it failed or was interrupted.';
COMMENT ON COLUMN recount.maintenance_checks.report IS 'What the last run that was done found.';
COMMENT ON COLUMN recount.maintenance_checks.report_at IS 'When that run ended.';
COMMENT ON COLUMN recount.maintenance_checks.report_is_fix IS 'Whether that run mended what it found.';
--> statement-breakpoint
CREATE TABLE recount.message_attribution_total (
  workspace_id text COLLATE "C" NOT NULL,
  first_bucket_start timestamp(3) with time zone,
  last_bucket_start timestamp(3) with time zone,
  agent text,
  project text,
  person text,
  machine text,
  is_subagent boolean NOT NULL,
  messages integer NOT NULL,
  user_messages integer NOT NULL
);
CREATE INDEX message_attribution_total_time ON recount.message_attribution_total (workspace_id, first_bucket_start);
COMMENT ON TABLE recount.message_attribution_total IS 'Sums of message_day_rollup over the sessions of the same agent, project, person and machine, by UTC day; right but for the days in stale_days.';
COMMENT ON COLUMN recount.message_attribution_total.workspace_id IS 'Whose sessions they are.';
COMMENT ON COLUMN recount.message_attribution_total.first_bucket_start IS 'First quarter of an hour that the row is the sum of.';
COMMENT ON COLUMN recount.message_attribution_total.last_bucket_start IS 'Last of them, within the same day.';
COMMENT ON COLUMN recount.message_attribution_total.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
COMMENT ON COLUMN recount.message_attribution_total.project IS 'Working directory of the first line that names one; null where none does.';
COMMENT ON COLUMN recount.message_attribution_total.person IS 'Whose work it is: the person of the API key that brought the primary transcript, else whom the upload named; null: unknown.';
COMMENT ON COLUMN recount.message_attribution_total.machine IS 'Machine that the primary transcript came from, as its uploader named it; null: unknown.';
COMMENT ON COLUMN recount.message_attribution_total.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.message_attribution_total.messages IS 'Messages of all types.';
COMMENT ON COLUMN recount.message_attribution_total.user_messages IS 'Messages of type user, tool results included.';
--> statement-breakpoint
CREATE TABLE recount.message_day_rollup (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  first_bucket_start timestamp(3) with time zone,
  last_bucket_start timestamp(3) with time zone,
  is_subagent boolean NOT NULL,
  messages integer NOT NULL,
  user_messages integer NOT NULL
);
CREATE INDEX message_day_rollup_session ON recount.message_day_rollup (workspace_id, session_id);
CREATE INDEX message_day_rollup_time ON recount.message_day_rollup (workspace_id, first_bucket_start);
COMMENT ON TABLE recount.message_day_rollup IS 'Sums of message_rollup by session and UTC day: what reports read but for days that do not lie in one of their groups.';
COMMENT ON COLUMN recount.message_day_rollup.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.message_day_rollup.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN recount.message_day_rollup.first_bucket_start IS 'Beginning of the first quarter of an hour that the row is the sum of; null for what has no timestamp.';
COMMENT ON COLUMN recount.message_day_rollup.last_bucket_start IS 'Beginning of the last quarter of an hour that the row is the sum of, on the same UTC day.';
COMMENT ON COLUMN recount.message_day_rollup.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.message_day_rollup.messages IS 'Messages of all types.';
COMMENT ON COLUMN recount.message_day_rollup.user_messages IS 'Messages of type user, tool results included.';
--> statement-breakpoint
CREATE TABLE recount.message_hour_total (
  workspace_id text COLLATE "C" NOT NULL,
  first_bucket_start timestamp(3) with time zone,
  last_bucket_start timestamp(3) with time zone,
  is_subagent boolean NOT NULL,
  messages integer NOT NULL,
  user_messages integer NOT NULL
);
CREATE INDEX message_hour_total_time ON recount.message_hour_total (workspace_id, first_bucket_start);
COMMENT ON TABLE recount.message_hour_total IS 'Sums of message_rollup over all sessions of the workspace, by hour (UTC); right but for the days in stale_days.';
COMMENT ON COLUMN recount.message_hour_total.workspace_id IS 'Whose sessions they are.';
COMMENT ON COLUMN recount.message_hour_total.first_bucket_start IS 'First quarter of an hour that the row is the sum of.';
COMMENT ON COLUMN recount.message_hour_total.last_bucket_start IS 'Last of them, within the same hour or day.';
COMMENT ON COLUMN recount.message_hour_total.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.message_hour_total.messages IS 'Messages of all types.';
COMMENT ON COLUMN recount.message_hour_total.user_messages IS 'Messages of type user, tool results included.';
--> statement-breakpoint
CREATE TABLE recount.message_rollup (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  bucket_start timestamp(3) with time zone,
  model text,
  is_subagent boolean NOT NULL,
  messages integer NOT NULL,
  user_messages integer NOT NULL
);
CREATE INDEX message_rollup_session ON recount.message_rollup (workspace_id, session_id);
CREATE INDEX message_rollup_time ON recount.message_rollup (workspace_id, bucket_start);
COMMENT ON TABLE recount.message_rollup IS 'Messages of each session''s primary transcript by quarter of an hour.';
COMMENT ON COLUMN recount.message_rollup.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.message_rollup.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN recount.message_rollup.bucket_start IS 'Beginning of the quarter of an hour; null for what has no time.';
COMMENT ON COLUMN recount.message_rollup.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.message_rollup.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.message_rollup.messages IS 'Messages of all types.';
COMMENT ON COLUMN recount.message_rollup.user_messages IS 'Messages of type user, tool results included.';
--> statement-breakpoint
CREATE TABLE recount.price_overrides (
  workspace_id text COLLATE "C" NOT NULL,
  model text NOT NULL,
  starts_at text DEFAULT '' NOT NULL,
  rates jsonb NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT price_overrides_workspace_id_model_starts_at_pk PRIMARY KEY (workspace_id, model, starts_at),
  CONSTRAINT price_overrides_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id) ON DELETE CASCADE
);
COMMENT ON TABLE recount.price_overrides IS 'Rates of a workspace''s own, which go before those of the price table.';
COMMENT ON COLUMN recount.price_overrides.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.price_overrides.model IS 'Model as transcripts name it, or the beginning of its name followed by *.';
COMMENT ON COLUMN recount.price_overrides.starts_at IS 'ISO 8601 time from which the rates hold; empty for always.';
COMMENT ON COLUMN recount.price_overrides.rates IS 'US dollars per million tokens by token class, and what else depends on the model.';
COMMENT ON COLUMN recount.price_overrides.created_at IS 'When it was set.';
--> statement-breakpoint
CREATE TABLE recount.raw_object_deletions (
  workspace_id text COLLATE "C" NOT NULL,
  object_key text NOT NULL,
  recorded_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT raw_object_deletions_pk PRIMARY KEY (workspace_id, object_key)
);
COMMENT ON TABLE recount.raw_object_deletions IS 'Raw objects that are to be deleted: recorded in the transaction after which nothing names them, forgotten once they are gone.';
COMMENT ON COLUMN recount.raw_object_deletions.workspace_id IS 'Whose objects they are; it may be gone itself.';
COMMENT ON COLUMN recount.raw_object_deletions.object_key IS 'A key in the raw store; with a slash at its end, all keys that begin with it.';
COMMENT ON COLUMN recount.raw_object_deletions.recorded_at IS 'When the deletion was asked for.';
--> statement-breakpoint
CREATE TABLE recount.search_documents (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  block_order integer NOT NULL,
  kind text NOT NULL,
  "timestamp" timestamp(3) with time zone,
  is_subagent boolean NOT NULL,
  line_number integer NOT NULL,
  byte_offset bigint NOT NULL,
  copy_key bigint NOT NULL,
  is_cut boolean NOT NULL,
  text text NOT NULL,
  words tsvector NOT NULL,
  grams smallint[] NOT NULL,
  CONSTRAINT search_documents_pk PRIMARY KEY (workspace_id, session_id, message_id, block_order)
);
CREATE INDEX search_documents_content ON recount.search_documents USING gin (words, grams);
CREATE INDEX search_documents_time ON recount.search_documents (workspace_id, "timestamp" DESC NULLS LAST);
COMMENT ON TABLE recount.search_documents IS 'What search looks through: one row for each content block with text of a session''s primary transcript. Made from the rows of the transcript some time after its ingestion.';
COMMENT ON COLUMN recount.search_documents.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.search_documents.session_id IS 'Session whose primary transcript holds the block.';
COMMENT ON COLUMN recount.search_documents.message_id IS 'Message that holds the block.';
COMMENT ON COLUMN recount.search_documents.block_order IS 'Position of the block within the message, from 0.';
COMMENT ON COLUMN recount.search_documents.kind IS 'prompt: by a person. answer, thinking: by the model. tool_input, tool_result. summary: of a conversation. context: what the program put in, among it the tasks of sub-agents.';
COMMENT ON COLUMN recount.search_documents."timestamp" IS 'Of the message; null where it has none.';
COMMENT ON COLUMN recount.search_documents.is_subagent IS 'Whether it is of a sub-agent, also within a main transcript.';
COMMENT ON COLUMN recount.search_documents.line_number IS 'Line that holds the block, from 1.';
COMMENT ON COLUMN recount.search_documents.byte_offset IS 'Offset of that line in the raw object, in bytes.';
COMMENT ON COLUMN recount.search_documents.copy_key IS 'The same in all copies of the text that forks and replays of the message hold.';
COMMENT ON COLUMN recount.search_documents.is_cut IS 'Whether the text is only the beginning of the block''s.';
COMMENT ON COLUMN recount.search_documents.text IS 'Text of the block; of a tool''s input, its name and the input''s values.';
COMMENT ON COLUMN recount.search_documents.words IS 'Words of the text with their positions, weighted by kind, and one that stands for the workspace.';
COMMENT ON COLUMN recount.search_documents.grams IS 'Numbers of all sequences of three letters or digits in the text.';
--> statement-breakpoint
CREATE TABLE recount.search_index_state (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  parser_version text,
  after_message_id text COLLATE "C" DEFAULT '' NOT NULL,
  after_block_order integer DEFAULT -1 NOT NULL,
  failure_count integer DEFAULT 0 NOT NULL,
  waiting_since timestamp(3) with time zone DEFAULT now() NOT NULL,
  next_attempt_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  indexed_at timestamp(3) with time zone,
  CONSTRAINT search_index_state_pk PRIMARY KEY (workspace_id, session_id)
);
CREATE INDEX search_index_state_waiting ON recount.search_index_state (next_attempt_at) WHERE indexed_at IS NULL;
COMMENT ON TABLE recount.search_index_state IS 'How far the primary transcript of each session is indexed for search.';
COMMENT ON COLUMN recount.search_index_state.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.search_index_state.session_id IS 'Session, also one without any text.';
COMMENT ON COLUMN recount.search_index_state.row_set_id IS 'Rows of the primary transcript that are indexed.';
COMMENT ON COLUMN recount.search_index_state.parser_version IS 'Version of the parser that made its rows: those of another one may differ.';
COMMENT ON COLUMN recount.search_index_state.after_message_id IS 'Message of the last block that was looked at; empty before the first.';
COMMENT ON COLUMN recount.search_index_state.after_block_order IS 'Position of that block within its message.';
COMMENT ON COLUMN recount.search_index_state.failure_count IS 'Failed attempts since the session began to wait.';
COMMENT ON COLUMN recount.search_index_state.waiting_since IS 'When the session was last ingested, or changed its primary transcript.';
COMMENT ON COLUMN recount.search_index_state.next_attempt_at IS 'When a worker may take it up, while it waits.';
COMMENT ON COLUMN recount.search_index_state.indexed_at IS 'When all of it was indexed; null while it waits.';
--> statement-breakpoint
CREATE TABLE recount.session_events (
  workspace_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  event_number integer NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  event_key text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  "timestamp" timestamp(3) with time zone,
  is_subagent boolean NOT NULL,
  name text,
  details jsonb NOT NULL,
  line_number integer NOT NULL,
  CONSTRAINT session_events_pk PRIMARY KEY (workspace_id, row_set_id, event_number)
);
CREATE INDEX session_events_api_error ON recount.session_events (workspace_id, session_id) WHERE kind = 'api_error';
CREATE INDEX session_events_key ON recount.session_events (workspace_id, event_key)
  WHERE kind IN ('api_error', 'api_retry', 'compaction', 'pull_request');
CREATE INDEX session_events_pull_request ON recount.session_events (workspace_id, name) WHERE kind = 'pull_request';
CREATE INDEX session_events_time ON recount.session_events (workspace_id, kind, "timestamp")
  WHERE kind IN ('api_error', 'api_retry', 'compaction', 'pull_request');
COMMENT ON TABLE recount.session_events IS 'Prompts, compactions, API errors and retries, linked pull requests, slash commands.';
COMMENT ON COLUMN recount.session_events.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.session_events.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.session_events.event_number IS 'Tells the transcript''s events apart.';
COMMENT ON COLUMN recount.session_events.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN recount.session_events.event_key IS 'The same in every copy of the line.';
COMMENT ON COLUMN recount.session_events.kind IS 'prompt, compaction, api_error, api_retry, pull_request or slash_command.';
COMMENT ON COLUMN recount.session_events."timestamp" IS 'Time of the line, with milliseconds; null where it has none.';
COMMENT ON COLUMN recount.session_events.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.session_events.name IS 'What it is counted by: a compaction''s trigger, an error''s type, a pull request''s URL, a command''s name.';
COMMENT ON COLUMN recount.session_events.details IS 'Facts that have no column, e.g. preTokens.';
COMMENT ON COLUMN recount.session_events.line_number IS 'Line of the transcript, from 1 over all lines.';
--> statement-breakpoint
CREATE TABLE recount.session_shares (
  workspace_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  secret_hash text NOT NULL,
  page bytea,
  from_line integer,
  to_line integer,
  is_sanitized boolean NOT NULL,
  actor text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  revoked_at timestamp(3) with time zone,
  opened_count integer DEFAULT 0 NOT NULL,
  last_opened_at timestamp(3) with time zone,
  CONSTRAINT session_shares_workspace_id_id_pk PRIMARY KEY (workspace_id, id)
);
CREATE INDEX session_shares_session ON recount.session_shares (workspace_id, session_id);
COMMENT ON TABLE recount.session_shares IS 'Read-only links to sessions; a page is kept until its link ends.';
COMMENT ON COLUMN recount.session_shares.workspace_id IS 'Whose session it is.';
COMMENT ON COLUMN recount.session_shares.id IS 'ULID of the link.';
COMMENT ON COLUMN recount.session_shares.session_id IS 'Session that is shown.';
COMMENT ON COLUMN recount.session_shares.secret_hash IS 'SHA-256 of the link''s secret, hex.';
COMMENT ON COLUMN recount.session_shares.page IS 'gzip of the HTML page; null once the link has ended.';
COMMENT ON COLUMN recount.session_shares.from_line IS 'First line that is shown; null: from the beginning.';
COMMENT ON COLUMN recount.session_shares.to_line IS 'Last line that is shown; null: to the end.';
COMMENT ON COLUMN recount.session_shares.is_sanitized IS 'Whether only the structure is shown, without texts.';
COMMENT ON COLUMN recount.session_shares.actor IS 'Who shared it, as in the audit log.';
COMMENT ON COLUMN recount.session_shares.created_at IS 'When it was shared.';
COMMENT ON COLUMN recount.session_shares.expires_at IS 'From then on the link leads nowhere.';
COMMENT ON COLUMN recount.session_shares.revoked_at IS 'When it was revoked; null: never.';
COMMENT ON COLUMN recount.session_shares.opened_count IS 'How often the page was opened.';
COMMENT ON COLUMN recount.session_shares.last_opened_at IS 'When it was opened last; null: never.';
--> statement-breakpoint
CREATE TABLE recount.session_total (
  workspace_id text COLLATE "C" NOT NULL,
  counted text COLLATE "C" NOT NULL,
  key text,
  period_start timestamp(3) with time zone NOT NULL,
  previous_bucket_start timestamp(3) with time zone,
  sessions integer NOT NULL
);
CREATE INDEX session_total_time ON recount.session_total (workspace_id, counted, period_start);
COMMENT ON TABLE recount.session_total IS 'How many sessions of the workspace have rows of a roll-up in an hour or day (UTC), by when they had such rows last before it: a session is new in a period where that lies before it. Right but for the days in stale_days.';
COMMENT ON COLUMN recount.session_total.workspace_id IS 'Whose sessions they are.';
COMMENT ON COLUMN recount.session_total.counted IS 'Which rows of the session count: usage (any of usage_rollup), credited (those that are not shared), calls (any of tool_day_rollup), programs, mcp_servers (those with one), files (any of file_day_rollup); and after a slash the key of which the row has one value.';
COMMENT ON COLUMN recount.session_total.key IS 'Value of the key: model, tool, program or MCP server.';
COMMENT ON COLUMN recount.session_total.period_start IS 'Beginning of the hour of usage, or of the UTC day of calls.';
COMMENT ON COLUMN recount.session_total.previous_bucket_start IS 'Last quarter of an hour before it of which the same sessions have rows that count, with the same key; null if there is none.';
COMMENT ON COLUMN recount.session_total.sessions IS 'Number of these sessions.';
--> statement-breakpoint
CREATE TABLE recount.sessions (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  agent text NOT NULL,
  is_subagent boolean DEFAULT false NOT NULL,
  parent_session_id text COLLATE "C",
  agent_id text,
  primary_transcript_id text COLLATE "C" NOT NULL,
  transcript_count integer DEFAULT 1 NOT NULL,
  total_messages integer DEFAULT 0 NOT NULL,
  user_messages integer DEFAULT 0 NOT NULL,
  assistant_messages integer DEFAULT 0 NOT NULL,
  tool_use_count integer DEFAULT 0 NOT NULL,
  thinking_blocks integer DEFAULT 0 NOT NULL,
  subagent_count integer DEFAULT 0 NOT NULL,
  tokens_in bigint DEFAULT 0,
  tokens_out bigint DEFAULT 0,
  cache_read bigint DEFAULT 0,
  cache_write bigint DEFAULT 0,
  cost_estimate_usd numeric(20,10),
  duration_ms bigint DEFAULT 0 NOT NULL,
  initial_prompt text,
  project text,
  git_branch text,
  agent_version text,
  title text,
  models text[] DEFAULT '{}' NOT NULL,
  first_timestamp timestamp(3) with time zone,
  last_timestamp timestamp(3) with time zone,
  metadata jsonb DEFAULT '{}' NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  api_response_count integer DEFAULT 0 NOT NULL,
  unfinalised_count integer DEFAULT 0 NOT NULL,
  unpriced_count integer DEFAULT 0 NOT NULL,
  web_search_count integer DEFAULT 0 NOT NULL,
  prompt_count integer DEFAULT 0 NOT NULL,
  turn_count integer DEFAULT 0 NOT NULL,
  active_ms bigint DEFAULT 0 NOT NULL,
  reported_cost_usd numeric(20,10),
  uploader_key_id text COLLATE "C",
  other_uploader_count integer DEFAULT 0 NOT NULL,
  machine text,
  person text,
  output_only_count integer DEFAULT 0 NOT NULL,
  repository text,
  commit_hash text,
  CONSTRAINT sessions_workspace_id_session_id_pk PRIMARY KEY (workspace_id, session_id),
  CONSTRAINT sessions_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id)
);
CREATE INDEX sessions_agent ON recount.sessions (workspace_id, agent);
CREATE INDEX sessions_branch ON recount.sessions (workspace_id, git_branch);
CREATE INDEX sessions_cost ON recount.sessions (workspace_id, coalesce(cost_estimate_usd, -1), session_id);
CREATE INDEX sessions_duration ON recount.sessions (workspace_id, duration_ms, session_id);
CREATE INDEX sessions_first_activity ON recount.sessions (workspace_id, coalesce(first_timestamp, '1970-01-01Z'), session_id);
CREATE INDEX sessions_incomplete ON recount.sessions (workspace_id) WHERE tokens_in IS NULL OR output_only_count > 0;
CREATE INDEX sessions_last_activity ON recount.sessions (workspace_id, coalesce(last_timestamp, '1970-01-01Z'), session_id);
CREATE INDEX sessions_machine ON recount.sessions (workspace_id, machine) WHERE machine IS NOT NULL;
CREATE INDEX sessions_messages ON recount.sessions (workspace_id, total_messages, session_id);
CREATE INDEX sessions_models ON recount.sessions (workspace_id, hash_array_extended(models, 0));
CREATE INDEX sessions_parent ON recount.sessions (workspace_id, parent_session_id);
CREATE INDEX sessions_person ON recount.sessions (workspace_id, person, machine);
CREATE INDEX sessions_project ON recount.sessions (workspace_id, project);
CREATE INDEX sessions_tokens_out ON recount.sessions (workspace_id, tokens_out, session_id);
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
COMMENT ON COLUMN recount.sessions.subagent_count IS 'Tool uses that start a sub-agent.';
COMMENT ON COLUMN recount.sessions.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.sessions.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.sessions.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.sessions.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.sessions.cost_estimate_usd IS 'US dollars of the API responses that have a price: 0 without any response, null where none of them has one, and until a transcript is ingested. unpriced_count says how many it lacks.';
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
COMMENT ON COLUMN recount.sessions.api_response_count IS 'API responses, each once: messages, those that progress lines tell of, advisors. Tokens and cost are theirs.';
COMMENT ON COLUMN recount.sessions.unfinalised_count IS 'API responses whose output count is a placeholder.';
COMMENT ON COLUMN recount.sessions.unpriced_count IS 'API responses without a price, which cost_estimate_usd lacks.';
COMMENT ON COLUMN recount.sessions.web_search_count IS 'Web searches made by the provider.';
COMMENT ON COLUMN recount.sessions.prompt_count IS 'Prompts that a person gave in the main conversation.';
COMMENT ON COLUMN recount.sessions.turn_count IS 'Prompts that were answered by at least one API response.';
COMMENT ON COLUMN recount.sessions.active_ms IS 'Milliseconds between messages, pauses of more than five minutes left out.';
COMMENT ON COLUMN recount.sessions.reported_cost_usd IS 'US dollars that the agent itself reports for the session, to compare with; null where it does not.';
COMMENT ON COLUMN recount.sessions.uploader_key_id IS 'API key that brought the primary transcript first.';
COMMENT ON COLUMN recount.sessions.other_uploader_count IS 'Ingested transcripts that diverge from the primary one and that another uploader than the owner of the session brought.';
COMMENT ON COLUMN recount.sessions.machine IS 'Machine that the primary transcript came from, as its uploader named it; null: unknown.';
COMMENT ON COLUMN recount.sessions.person IS 'Whose work it is: the person of the API key that brought the primary transcript, else whom the upload named; null: unknown.';
COMMENT ON COLUMN recount.sessions.output_only_count IS 'API responses whose input no figure has, as a run of the agent was cut off before it said: tokens and cost are lower bounds.';
COMMENT ON COLUMN recount.sessions.repository IS 'Remote repository as the agent has it, mostly a URL, without credentials; null: the transcript does not say.';
COMMENT ON COLUMN recount.sessions.commit_hash IS 'Commit that was checked out as the session began; null: the transcript does not say.';
--> statement-breakpoint
CREATE TABLE recount.sign_ins (
  workspace_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  key_hash text NOT NULL,
  cookie_hash text NOT NULL,
  page_hash text NOT NULL,
  browser text,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  last_used_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT sign_ins_cookie_hash_unique UNIQUE (cookie_hash),
  CONSTRAINT sign_ins_workspace_id_id_pk PRIMARY KEY (workspace_id, id),
  CONSTRAINT sign_ins_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id) ON DELETE CASCADE
);
COMMENT ON TABLE recount.sign_ins IS 'Browsers that are signed in to the dashboard. Only hashes of their secrets are stored.';
COMMENT ON COLUMN recount.sign_ins.workspace_id IS 'Workspace of the key.';
COMMENT ON COLUMN recount.sign_ins.id IS 'ULID.';
COMMENT ON COLUMN recount.sign_ins.key_id IS 'Key that the browser signed in with.';
COMMENT ON COLUMN recount.sign_ins.key_hash IS 'Hash of the key''s secret at that time: the sign-in ends with that secret.';
COMMENT ON COLUMN recount.sign_ins.cookie_hash IS 'SHA-256 of the cookie, hex.';
COMMENT ON COLUMN recount.sign_ins.page_hash IS 'SHA-256 of the secret in the path of each request, hex.';
COMMENT ON COLUMN recount.sign_ins.browser IS 'Name of the browser, shortened; null: it has none.';
COMMENT ON COLUMN recount.sign_ins.created_at IS 'When the browser signed in.';
COMMENT ON COLUMN recount.sign_ins.last_used_at IS 'Exact to a minute. The sign-in ends seven days later.';
COMMENT ON COLUMN recount.sign_ins.expires_at IS 'When the sign-in ends at the latest.';
--> statement-breakpoint
CREATE TABLE recount.stale_days (
  workspace_id text COLLATE "C" NOT NULL,
  day timestamp(3) with time zone NOT NULL
);
CREATE INDEX stale_days_workspace ON recount.stale_days (workspace_id, day);
COMMENT ON TABLE recount.stale_days IS 'UTC days of which the totals may not be the sums of the roll-ups: added to by whoever changes these, or what a session is attributed to, until a worker makes the totals again. A day may stand here many times.';
COMMENT ON COLUMN recount.stale_days.workspace_id IS 'Whose day it is.';
COMMENT ON COLUMN recount.stale_days.day IS 'Its beginning.';
--> statement-breakpoint
CREATE TABLE recount.tool_calls (
  workspace_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  call_number integer NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  call_key text COLLATE "C" NOT NULL,
  response_key text COLLATE "C",
  message_id text COLLATE "C" NOT NULL,
  is_own boolean DEFAULT true NOT NULL,
  tool_name text NOT NULL,
  mcp_server text,
  program text,
  file_path text,
  subagent_type text,
  subagent_id text,
  skill_name text,
  model text,
  "timestamp" timestamp(3) with time zone,
  is_subagent boolean NOT NULL,
  duration_ms bigint,
  is_error boolean,
  is_denied boolean NOT NULL,
  input_bytes bigint NOT NULL,
  output_bytes bigint,
  line_number integer NOT NULL,
  tool_kind text NOT NULL,
  CONSTRAINT tool_calls_pk PRIMARY KEY (workspace_id, row_set_id, call_number)
);
CREATE INDEX tool_calls_agent_time ON recount.tool_calls (workspace_id, "timestamp") WHERE is_own AND tool_kind = 'agent';
CREATE INDEX tool_calls_large_result ON recount.tool_calls (workspace_id, "timestamp") WHERE is_own AND output_bytes >= 40000;
CREATE INDEX tool_calls_response ON recount.tool_calls (workspace_id, response_key);
CREATE INDEX tool_calls_session ON recount.tool_calls (workspace_id, session_id);
CREATE INDEX tool_calls_skill_time ON recount.tool_calls (workspace_id, "timestamp") WHERE is_own AND skill_name IS NOT NULL;
CREATE INDEX tool_calls_subagent ON recount.tool_calls (workspace_id, session_id, subagent_id) WHERE subagent_id IS NOT NULL;
CREATE INDEX tool_calls_time ON recount.tool_calls (workspace_id, "timestamp") WHERE is_own;
COMMENT ON TABLE recount.tool_calls IS 'Every tool call that a transcript holds.';
COMMENT ON COLUMN recount.tool_calls.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.tool_calls.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.tool_calls.call_number IS 'Tells the transcript''s calls apart.';
COMMENT ON COLUMN recount.tool_calls.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN recount.tool_calls.call_key IS 'Names the call, the same in every copy: the tool use''s id where it has one.';
COMMENT ON COLUMN recount.tool_calls.response_key IS 'Names the response in the workspace: the provider''s id where that is unique, else made longer by the request''s id or the line''s uuid.';
COMMENT ON COLUMN recount.tool_calls.message_id IS 'Message of that transcript that the response or call is part of; null for usage that only a progress line tells of.';
COMMENT ON COLUMN recount.tool_calls.is_own IS 'Whether this copy of the call is the one that counts.';
COMMENT ON COLUMN recount.tool_calls.tool_name IS 'Name of the tool.';
COMMENT ON COLUMN recount.tool_calls.mcp_server IS 'Server of an MCP tool; null for others.';
COMMENT ON COLUMN recount.tool_calls.program IS 'First program of a shell command; null for other tools.';
COMMENT ON COLUMN recount.tool_calls.file_path IS 'File that is read or edited; null for other tools.';
COMMENT ON COLUMN recount.tool_calls.subagent_type IS 'Type of the sub-agent that the call starts; null for other tools.';
COMMENT ON COLUMN recount.tool_calls.subagent_id IS 'Id of the sub-agent that the call started; null where its result does not tell.';
COMMENT ON COLUMN recount.tool_calls.skill_name IS 'Skill that the call loads; null for other tools.';
COMMENT ON COLUMN recount.tool_calls.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.tool_calls."timestamp" IS 'Time of the line, with milliseconds; null where it has none.';
COMMENT ON COLUMN recount.tool_calls.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.tool_calls.duration_ms IS 'Milliseconds from the tool use''s line to its result''s; null where one is missing.';
COMMENT ON COLUMN recount.tool_calls.is_error IS 'Whether the result tells of a failure; null without a result.';
COMMENT ON COLUMN recount.tool_calls.is_denied IS 'Whether the user, a rule or a hook refused it.';
COMMENT ON COLUMN recount.tool_calls.input_bytes IS 'Size of the input as JSON.';
COMMENT ON COLUMN recount.tool_calls.output_bytes IS 'Size of the result''s text; null without a result.';
COMMENT ON COLUMN recount.tool_calls.line_number IS 'Line of the transcript, from 1 over all lines.';
COMMENT ON COLUMN recount.tool_calls.tool_kind IS 'What the tool does, whatever its agent calls it: read, edit, shell, search, web, agent, skill, mcp, plan, question, other. Null for blocks that call no tool.';
--> statement-breakpoint
CREATE TABLE recount.tool_day_rollup (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  first_bucket_start timestamp(3) with time zone,
  last_bucket_start timestamp(3) with time zone,
  model text,
  is_subagent boolean NOT NULL,
  tool_name text NOT NULL,
  mcp_server text,
  calls integer NOT NULL,
  results integer NOT NULL,
  errors integer NOT NULL,
  denied integer NOT NULL,
  input_bytes bigint DEFAULT 0 NOT NULL,
  output_bytes bigint DEFAULT 0 NOT NULL,
  duration_ms bigint DEFAULT 0 NOT NULL,
  timed_calls integer NOT NULL,
  program text,
  subagent_type text,
  skill_name text,
  durations bytea NOT NULL,
  tool_kind text NOT NULL
);
CREATE INDEX tool_day_rollup_mcp_server ON recount.tool_day_rollup (workspace_id, mcp_server) WHERE mcp_server IS NOT NULL;
CREATE INDEX tool_day_rollup_program ON recount.tool_day_rollup (workspace_id, program) WHERE program IS NOT NULL;
CREATE INDEX tool_day_rollup_session ON recount.tool_day_rollup (workspace_id, session_id);
CREATE INDEX tool_day_rollup_skill ON recount.tool_day_rollup (workspace_id, skill_name) WHERE skill_name IS NOT NULL;
CREATE INDEX tool_day_rollup_subagent ON recount.tool_day_rollup (workspace_id, subagent_type) WHERE subagent_type IS NOT NULL;
CREATE INDEX tool_day_rollup_time ON recount.tool_day_rollup (workspace_id, first_bucket_start);
CREATE INDEX tool_day_rollup_tool ON recount.tool_day_rollup (workspace_id, tool_name);
COMMENT ON TABLE recount.tool_day_rollup IS 'Tool calls that count, by session, UTC day, tool, and what the call was about where that is one of a few.';
COMMENT ON COLUMN recount.tool_day_rollup.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.tool_day_rollup.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN recount.tool_day_rollup.first_bucket_start IS 'Beginning of the first quarter of an hour that the row is the sum of; null for what has no timestamp.';
COMMENT ON COLUMN recount.tool_day_rollup.last_bucket_start IS 'Beginning of the last quarter of an hour that the row is the sum of, on the same UTC day.';
COMMENT ON COLUMN recount.tool_day_rollup.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.tool_day_rollup.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.tool_day_rollup.tool_name IS 'Name of the tool.';
COMMENT ON COLUMN recount.tool_day_rollup.mcp_server IS 'Server of an MCP tool; null for others.';
COMMENT ON COLUMN recount.tool_day_rollup.calls IS 'Tool calls.';
COMMENT ON COLUMN recount.tool_day_rollup.results IS 'Calls that have a result.';
COMMENT ON COLUMN recount.tool_day_rollup.errors IS 'Calls whose result tells of a failure.';
COMMENT ON COLUMN recount.tool_day_rollup.denied IS 'Calls that were refused.';
COMMENT ON COLUMN recount.tool_day_rollup.input_bytes IS 'Size of the input as JSON.';
COMMENT ON COLUMN recount.tool_day_rollup.output_bytes IS 'Size of the result''s text; null without a result.';
COMMENT ON COLUMN recount.tool_day_rollup.duration_ms IS 'Milliseconds from the tool use''s line to its result''s; null where one is missing.';
COMMENT ON COLUMN recount.tool_day_rollup.timed_calls IS 'Calls that duration_ms adds up.';
COMMENT ON COLUMN recount.tool_day_rollup.program IS 'First program of a shell command; null for other tools.';
COMMENT ON COLUMN recount.tool_day_rollup.subagent_type IS 'Type of the sub-agent that the call starts; null for other tools.';
COMMENT ON COLUMN recount.tool_day_rollup.skill_name IS 'Skill that the call loads; null for other tools.';
COMMENT ON COLUMN recount.tool_day_rollup.durations IS 'Milliseconds of each timed call, as integers of 6 bytes with the most significant first: what percentiles are made of.';
COMMENT ON COLUMN recount.tool_day_rollup.tool_kind IS 'What the tool does, whatever its agent calls it: read, edit, shell, search, web, agent, skill, mcp, plan, question, other. Null for blocks that call no tool.';
--> statement-breakpoint
CREATE TABLE recount.tool_day_total (
  workspace_id text COLLATE "C" NOT NULL,
  first_bucket_start timestamp(3) with time zone,
  last_bucket_start timestamp(3) with time zone,
  model text,
  is_subagent boolean NOT NULL,
  tool_name text NOT NULL,
  tool_kind text NOT NULL,
  mcp_server text,
  program text,
  subagent_type text,
  skill_name text,
  calls integer NOT NULL,
  results integer NOT NULL,
  errors integer NOT NULL,
  denied integer NOT NULL,
  input_bytes bigint DEFAULT 0 NOT NULL,
  output_bytes bigint DEFAULT 0 NOT NULL,
  duration_ms bigint DEFAULT 0 NOT NULL,
  timed_calls integer NOT NULL,
  durations bytea NOT NULL
);
CREATE INDEX tool_day_total_time ON recount.tool_day_total (workspace_id, first_bucket_start);
COMMENT ON TABLE recount.tool_day_total IS 'Sums of tool_day_rollup over all sessions of the workspace, by UTC day; right but for the days in stale_days.';
COMMENT ON COLUMN recount.tool_day_total.workspace_id IS 'Whose sessions they are.';
COMMENT ON COLUMN recount.tool_day_total.first_bucket_start IS 'First quarter of an hour that the row is the sum of.';
COMMENT ON COLUMN recount.tool_day_total.last_bucket_start IS 'Last of them, within the same hour or day.';
COMMENT ON COLUMN recount.tool_day_total.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.tool_day_total.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.tool_day_total.tool_name IS 'Name of the tool.';
COMMENT ON COLUMN recount.tool_day_total.tool_kind IS 'What the tool does, whatever its agent calls it: read, edit, shell, search, web, agent, skill, mcp, plan, question, other. Null for blocks that call no tool.';
COMMENT ON COLUMN recount.tool_day_total.mcp_server IS 'Server of an MCP tool; null for others.';
COMMENT ON COLUMN recount.tool_day_total.program IS 'First program of a shell command; null for other tools.';
COMMENT ON COLUMN recount.tool_day_total.subagent_type IS 'Type of the sub-agent that the call starts; null for other tools.';
COMMENT ON COLUMN recount.tool_day_total.skill_name IS 'Skill that the call loads; null for other tools.';
COMMENT ON COLUMN recount.tool_day_total.calls IS 'Tool calls.';
COMMENT ON COLUMN recount.tool_day_total.results IS 'Calls that have a result.';
COMMENT ON COLUMN recount.tool_day_total.errors IS 'Calls whose result tells of a failure.';
COMMENT ON COLUMN recount.tool_day_total.denied IS 'Calls that were refused.';
COMMENT ON COLUMN recount.tool_day_total.input_bytes IS 'Size of the input as JSON.';
COMMENT ON COLUMN recount.tool_day_total.output_bytes IS 'Size of the result''s text; null without a result.';
COMMENT ON COLUMN recount.tool_day_total.duration_ms IS 'Milliseconds from the tool use''s line to its result''s; null where one is missing.';
COMMENT ON COLUMN recount.tool_day_total.timed_calls IS 'Calls that duration_ms adds up.';
COMMENT ON COLUMN recount.tool_day_total.durations IS 'Milliseconds of each timed call, as integers of 6 bytes with the most significant first: what percentiles are made of.';
--> statement-breakpoint
CREATE TABLE recount.transcript_checkpoints (
  workspace_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  byte_offset bigint NOT NULL,
  entry_number integer NOT NULL,
  call_number integer NOT NULL,
  event_number integer NOT NULL,
  issue_number integer NOT NULL,
  state bytea NOT NULL,
  CONSTRAINT transcript_checkpoints_pk PRIMARY KEY (workspace_id, row_set_id)
);
COMMENT ON TABLE recount.transcript_checkpoints IS 'Where the parse of a large transcript ended: a longer version of the session is parsed on from there.';
COMMENT ON COLUMN recount.transcript_checkpoints.workspace_id IS 'Workspace that the transcript belongs to.';
COMMENT ON COLUMN recount.transcript_checkpoints.row_set_id IS 'transcripts.row_set_id of the transcript.';
COMMENT ON COLUMN recount.transcript_checkpoints.byte_offset IS 'Bytes of the raw object that are parsed.';
COMMENT ON COLUMN recount.transcript_checkpoints.entry_number IS 'usage_entries from this number on are replaced when the parse goes on: further lines may change them.';
COMMENT ON COLUMN recount.transcript_checkpoints.call_number IS 'The same of tool_calls.';
COMMENT ON COLUMN recount.transcript_checkpoints.event_number IS 'Number of the next of session_events.';
COMMENT ON COLUMN recount.transcript_checkpoints.issue_number IS 'Number of the next of ingest_issues.';
COMMENT ON COLUMN recount.transcript_checkpoints.state IS 'State of the parser, as this version of recount can read it.';
--> statement-breakpoint
CREATE TABLE recount.transcript_messages (
  workspace_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  line_number integer NOT NULL,
  ordinal integer NOT NULL,
  message_type text NOT NULL,
  role text,
  model text,
  tokens_in bigint,
  tokens_out bigint,
  cache_read bigint,
  cache_write bigint,
  cost_usd numeric(20,10),
  "timestamp" timestamp(3) with time zone,
  has_text boolean NOT NULL,
  has_thinking boolean NOT NULL,
  has_tool_use boolean NOT NULL,
  has_tool_result boolean NOT NULL,
  metadata jsonb NOT NULL,
  provider_message_id text,
  request_id text,
  uuid text,
  parent_uuid text,
  is_sidechain boolean NOT NULL,
  agent_id text,
  stop_reason text,
  byte_offset bigint NOT NULL,
  byte_length integer NOT NULL,
  CONSTRAINT transcript_messages_pk PRIMARY KEY (workspace_id, row_set_id, id)
);
COMMENT ON TABLE recount.transcript_messages IS 'One message: a user, system or summary line, or all assistant lines that share a message.id. Diverged transcripts of a session each have their own rows.';
COMMENT ON COLUMN recount.transcript_messages.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.transcript_messages.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
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
CREATE TABLE recount.transcripts (
  workspace_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  agent text NOT NULL,
  path text,
  is_subagent boolean DEFAULT false NOT NULL,
  parent_session_id text COLLATE "C",
  agent_id text,
  sha256 text NOT NULL,
  size_bytes bigint NOT NULL,
  object_key text NOT NULL,
  status text DEFAULT 'queued' NOT NULL,
  is_diverged boolean DEFAULT false NOT NULL,
  superseded_by text COLLATE "C",
  attempt_count integer DEFAULT 0 NOT NULL,
  failure_reason text,
  parser_version text,
  price_version text,
  line_count integer DEFAULT 0 NOT NULL,
  content_block_count integer DEFAULT 0 NOT NULL,
  error_count integer DEFAULT 0 NOT NULL,
  warning_count integer DEFAULT 0 NOT NULL,
  issue_counts jsonb DEFAULT '{}' NOT NULL,
  total_messages integer DEFAULT 0 NOT NULL,
  user_messages integer DEFAULT 0 NOT NULL,
  assistant_messages integer DEFAULT 0 NOT NULL,
  tool_use_count integer DEFAULT 0 NOT NULL,
  thinking_blocks integer DEFAULT 0 NOT NULL,
  subagent_count integer DEFAULT 0 NOT NULL,
  tokens_in bigint DEFAULT 0,
  tokens_out bigint DEFAULT 0,
  cache_read bigint DEFAULT 0,
  cache_write bigint DEFAULT 0,
  cost_estimate_usd numeric(20,10),
  duration_ms bigint DEFAULT 0 NOT NULL,
  initial_prompt text,
  project text,
  git_branch text,
  agent_version text,
  title text,
  models text[] DEFAULT '{}' NOT NULL,
  first_timestamp timestamp(3) with time zone,
  last_timestamp timestamp(3) with time zone,
  metadata jsonb DEFAULT '{}' NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  ingested_at timestamp(3) with time zone,
  api_response_count integer DEFAULT 0 NOT NULL,
  unfinalised_count integer DEFAULT 0 NOT NULL,
  unpriced_count integer DEFAULT 0 NOT NULL,
  web_search_count integer DEFAULT 0 NOT NULL,
  prompt_count integer DEFAULT 0 NOT NULL,
  turn_count integer DEFAULT 0 NOT NULL,
  active_ms bigint DEFAULT 0 NOT NULL,
  reported_cost_usd numeric(20,10),
  format text NOT NULL,
  secret_counts jsonb DEFAULT '{}' NOT NULL,
  stored_sha256 text,
  rows_deleted_at timestamp(3) with time zone,
  raw_deleted_at timestamp(3) with time zone,
  row_set_id text COLLATE "C",
  grown_from text COLLATE "C",
  tail_sha256 text,
  uploader_key_id text COLLATE "C",
  raw_damaged_at timestamp(3) with time zone,
  is_stream boolean NOT NULL,
  machine text,
  person text,
  is_rewritten boolean DEFAULT false NOT NULL,
  output_only_count integer DEFAULT 0 NOT NULL,
  repository text,
  commit_hash text,
  CONSTRAINT transcripts_row_set_unique UNIQUE (workspace_id, row_set_id),
  CONSTRAINT transcripts_session_content_unique UNIQUE (workspace_id, session_id, sha256),
  CONSTRAINT transcripts_workspace_id_id_pk PRIMARY KEY (workspace_id, id),
  CONSTRAINT transcripts_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id)
);
CREATE INDEX transcripts_errors ON recount.transcripts (workspace_id, id, error_count) WHERE error_count > 0;
CREATE INDEX transcripts_raw_size ON recount.transcripts (workspace_id, size_bytes) WHERE raw_deleted_at IS NULL;
CREATE INDEX transcripts_sha256 ON recount.transcripts (workspace_id, sha256);
CREATE INDEX transcripts_status ON recount.transcripts (workspace_id, status, id);
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
COMMENT ON COLUMN recount.transcripts.subagent_count IS 'Tool uses that start a sub-agent.';
COMMENT ON COLUMN recount.transcripts.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.transcripts.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.transcripts.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.transcripts.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.transcripts.cost_estimate_usd IS 'US dollars of the API responses that have a price: 0 without any response, null where none of them has one, and until a transcript is ingested. unpriced_count says how many it lacks.';
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
COMMENT ON COLUMN recount.transcripts.api_response_count IS 'API responses, each once: messages, those that progress lines tell of, advisors. Tokens and cost are theirs.';
COMMENT ON COLUMN recount.transcripts.unfinalised_count IS 'API responses whose output count is a placeholder.';
COMMENT ON COLUMN recount.transcripts.unpriced_count IS 'API responses without a price, which cost_estimate_usd lacks.';
COMMENT ON COLUMN recount.transcripts.web_search_count IS 'Web searches made by the provider.';
COMMENT ON COLUMN recount.transcripts.prompt_count IS 'Prompts that a person gave in the main conversation.';
COMMENT ON COLUMN recount.transcripts.turn_count IS 'Prompts that were answered by at least one API response.';
COMMENT ON COLUMN recount.transcripts.active_ms IS 'Milliseconds between messages, pauses of more than five minutes left out.';
COMMENT ON COLUMN recount.transcripts.reported_cost_usd IS 'US dollars that the agent itself reports for the session, to compare with; null where it does not.';
COMMENT ON COLUMN recount.transcripts.format IS 'Format of the agent''s transcripts that this one is of.';
COMMENT ON COLUMN recount.transcripts.secret_counts IS 'Secrets taken out of the rows, by the rule that found them.';
COMMENT ON COLUMN recount.transcripts.stored_sha256 IS 'SHA-256 of the raw object where that is a redacted copy, of as many bytes as were uploaded; else null.';
COMMENT ON COLUMN recount.transcripts.rows_deleted_at IS 'When retention deleted messages, content blocks and texts; figures, usage and tool calls stay.';
COMMENT ON COLUMN recount.transcripts.raw_deleted_at IS 'When retention deleted the raw object.';
COMMENT ON COLUMN recount.transcripts.row_set_id IS 'Names the transcript''s rows in the bulk tables; null where it has none. At first the transcript''s own id; a longer version of the session takes its beginning''s rows over.';
COMMENT ON COLUMN recount.transcripts.grown_from IS 'Transcript of the session whose bytes are the beginning of this one''s, as seen when this one was received; null where there was none, or where it is small.';
COMMENT ON COLUMN recount.transcripts.tail_sha256 IS 'SHA-256 (hex) of the bytes that follow those of grown_from.';
COMMENT ON COLUMN recount.transcripts.uploader_key_id IS 'API key that brought these bytes first. operator: by direct access to the database. several: a stream that several keys brought. Null: unknown, as it came before 0.4 or lost its row.';
COMMENT ON COLUMN recount.transcripts.raw_damaged_at IS 'When the doctor found the raw object lost or damaged; null again once the same bytes were uploaded again.';
COMMENT ON COLUMN recount.transcripts.is_stream IS 'Whether it is the output of a run. A session takes its figures from the agent''s own file where it has one.';
COMMENT ON COLUMN recount.transcripts.machine IS 'Machine that the transcript came from, as its uploader named it; null: unknown.';
COMMENT ON COLUMN recount.transcripts.person IS 'Whose work it is: the person of the API key that brought the transcript, else whom the upload named; null: unknown.';
COMMENT ON COLUMN recount.transcripts.is_rewritten IS 'The agent rewrites what it wrote: of two versions neither need be the beginning of the other.';
COMMENT ON COLUMN recount.transcripts.output_only_count IS 'API responses whose input no figure has, as a run of the agent was cut off before it said: tokens and cost are lower bounds.';
COMMENT ON COLUMN recount.transcripts.repository IS 'Remote repository as the agent has it, mostly a URL, without credentials; null: the transcript does not say.';
COMMENT ON COLUMN recount.transcripts.commit_hash IS 'Commit that was checked out as the session began; null: the transcript does not say.';
--> statement-breakpoint
CREATE TABLE recount.usage_attribution_total (
  workspace_id text COLLATE "C" NOT NULL,
  first_bucket_start timestamp(3) with time zone,
  last_bucket_start timestamp(3) with time zone,
  agent text,
  project text,
  person text,
  machine text,
  model text,
  is_subagent boolean NOT NULL,
  is_shared boolean NOT NULL,
  responses integer NOT NULL,
  tokens_in bigint DEFAULT 0 NOT NULL,
  tokens_out bigint DEFAULT 0 NOT NULL,
  cache_read bigint DEFAULT 0 NOT NULL,
  cache_write bigint DEFAULT 0 NOT NULL,
  cache_write_1h bigint DEFAULT 0 NOT NULL,
  thinking_tokens bigint DEFAULT 0 NOT NULL,
  web_search_requests bigint DEFAULT 0 NOT NULL,
  cost_units numeric DEFAULT '0' NOT NULL,
  cost_input_units numeric DEFAULT '0' NOT NULL,
  cost_output_units numeric DEFAULT '0' NOT NULL,
  cost_cache_read_units numeric DEFAULT '0' NOT NULL,
  cost_cache_write_units numeric DEFAULT '0' NOT NULL,
  cost_web_search_units numeric DEFAULT '0' NOT NULL,
  unfinalised_responses integer NOT NULL,
  unfinalised_tokens_out bigint DEFAULT 0 NOT NULL,
  estimated_tokens_out bigint DEFAULT 0 NOT NULL,
  unpriced_responses integer NOT NULL,
  unpriced_tokens bigint DEFAULT 0 NOT NULL,
  default_priced_responses integer NOT NULL
);
CREATE INDEX usage_attribution_total_time ON recount.usage_attribution_total (workspace_id, first_bucket_start);
COMMENT ON TABLE recount.usage_attribution_total IS 'Sums of usage_day_rollup over the sessions of the same agent, project, person and machine, by UTC day; right but for the days in stale_days. Costs in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_attribution_total.workspace_id IS 'Whose sessions they are.';
COMMENT ON COLUMN recount.usage_attribution_total.first_bucket_start IS 'First quarter of an hour that the row is the sum of.';
COMMENT ON COLUMN recount.usage_attribution_total.last_bucket_start IS 'Last of them, within the same day.';
COMMENT ON COLUMN recount.usage_attribution_total.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
COMMENT ON COLUMN recount.usage_attribution_total.project IS 'Working directory of the first line that names one; null where none does.';
COMMENT ON COLUMN recount.usage_attribution_total.person IS 'Whose work it is: the person of the API key that brought the primary transcript, else whom the upload named; null: unknown.';
COMMENT ON COLUMN recount.usage_attribution_total.machine IS 'Machine that the primary transcript came from, as its uploader named it; null: unknown.';
COMMENT ON COLUMN recount.usage_attribution_total.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.usage_attribution_total.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.usage_attribution_total.is_shared IS 'Whether another session is credited with it.';
COMMENT ON COLUMN recount.usage_attribution_total.responses IS 'API responses.';
COMMENT ON COLUMN recount.usage_attribution_total.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.usage_attribution_total.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.usage_attribution_total.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.usage_attribution_total.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.usage_attribution_total.cache_write_1h IS 'Part of cache_write that is kept for an hour; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_attribution_total.thinking_tokens IS 'Part of tokens_out that is thinking; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_attribution_total.web_search_requests IS 'Web searches made by the provider.';
COMMENT ON COLUMN recount.usage_attribution_total.cost_units IS 'Cost of the responses that have a price, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_attribution_total.cost_input_units IS 'Cost of tokens_in, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_attribution_total.cost_output_units IS 'Cost of tokens_out, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_attribution_total.cost_cache_read_units IS 'Cost of cache_read, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_attribution_total.cost_cache_write_units IS 'Cost of cache_write, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_attribution_total.cost_web_search_units IS 'Cost of web searches, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_attribution_total.unfinalised_responses IS 'Responses whose output count is a placeholder.';
COMMENT ON COLUMN recount.usage_attribution_total.unfinalised_tokens_out IS 'Their output tokens, which tokens_out contains.';
COMMENT ON COLUMN recount.usage_attribution_total.estimated_tokens_out IS 'Output tokens guessed from the length of the content; null unless unfinalised. Not part of any total.';
COMMENT ON COLUMN recount.usage_attribution_total.unpriced_responses IS 'Responses of models without a price.';
COMMENT ON COLUMN recount.usage_attribution_total.unpriced_tokens IS 'Their tokens of all classes.';
COMMENT ON COLUMN recount.usage_attribution_total.default_priced_responses IS 'Responses that name no model, priced at the default rates.';
--> statement-breakpoint
CREATE TABLE recount.usage_day_rollup (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  first_bucket_start timestamp(3) with time zone,
  last_bucket_start timestamp(3) with time zone,
  model text,
  is_subagent boolean NOT NULL,
  git_branch text,
  agent_version text,
  is_shared boolean NOT NULL,
  responses integer NOT NULL,
  tokens_in bigint DEFAULT 0 NOT NULL,
  tokens_out bigint DEFAULT 0 NOT NULL,
  cache_read bigint DEFAULT 0 NOT NULL,
  cache_write bigint DEFAULT 0 NOT NULL,
  cache_write_1h bigint DEFAULT 0 NOT NULL,
  thinking_tokens bigint DEFAULT 0 NOT NULL,
  web_search_requests bigint DEFAULT 0 NOT NULL,
  cost_units numeric DEFAULT 0 NOT NULL,
  cost_input_units numeric DEFAULT 0 NOT NULL,
  cost_output_units numeric DEFAULT 0 NOT NULL,
  cost_cache_read_units numeric DEFAULT 0 NOT NULL,
  cost_cache_write_units numeric DEFAULT 0 NOT NULL,
  cost_web_search_units numeric DEFAULT 0 NOT NULL,
  unfinalised_responses integer NOT NULL,
  unfinalised_tokens_out bigint DEFAULT 0 NOT NULL,
  estimated_tokens_out bigint DEFAULT 0 NOT NULL,
  unpriced_responses integer NOT NULL,
  unpriced_tokens bigint DEFAULT 0 NOT NULL,
  default_priced_responses integer NOT NULL,
  agent_id text
);
CREATE INDEX usage_day_rollup_branch ON recount.usage_day_rollup (workspace_id, git_branch);
CREATE INDEX usage_day_rollup_model ON recount.usage_day_rollup (workspace_id, model);
CREATE INDEX usage_day_rollup_session ON recount.usage_day_rollup (workspace_id, session_id);
CREATE INDEX usage_day_rollup_time ON recount.usage_day_rollup (workspace_id, first_bucket_start);
COMMENT ON TABLE recount.usage_day_rollup IS 'Sums of usage_rollup by session and UTC day: what reports read but for days that do not lie in one of their groups.';
COMMENT ON COLUMN recount.usage_day_rollup.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.usage_day_rollup.session_id IS 'Session that holds the responses.';
COMMENT ON COLUMN recount.usage_day_rollup.first_bucket_start IS 'Beginning of the first quarter of an hour that the row is the sum of; null for what has no timestamp.';
COMMENT ON COLUMN recount.usage_day_rollup.last_bucket_start IS 'Beginning of the last quarter of an hour that the row is the sum of, on the same UTC day.';
COMMENT ON COLUMN recount.usage_day_rollup.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.usage_day_rollup.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.usage_day_rollup.git_branch IS 'Git branch of the line; null where it names none.';
COMMENT ON COLUMN recount.usage_day_rollup.agent_version IS 'Version of the agent that wrote the line; null where it names none.';
COMMENT ON COLUMN recount.usage_day_rollup.is_shared IS 'Whether another session is credited with it.';
COMMENT ON COLUMN recount.usage_day_rollup.responses IS 'API responses.';
COMMENT ON COLUMN recount.usage_day_rollup.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.usage_day_rollup.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.usage_day_rollup.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.usage_day_rollup.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.usage_day_rollup.cache_write_1h IS 'Part of cache_write that is kept for an hour; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_day_rollup.thinking_tokens IS 'Part of tokens_out that is thinking; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_day_rollup.web_search_requests IS 'Web searches made by the provider.';
COMMENT ON COLUMN recount.usage_day_rollup.cost_units IS 'Cost of the responses that have a price, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_day_rollup.cost_input_units IS 'Cost of tokens_in, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_day_rollup.cost_output_units IS 'Cost of tokens_out, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_day_rollup.cost_cache_read_units IS 'Cost of cache_read, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_day_rollup.cost_cache_write_units IS 'Cost of cache_write, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_day_rollup.cost_web_search_units IS 'Cost of web searches, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_day_rollup.unfinalised_responses IS 'Responses whose output count is a placeholder.';
COMMENT ON COLUMN recount.usage_day_rollup.unfinalised_tokens_out IS 'Their output tokens, which tokens_out contains.';
COMMENT ON COLUMN recount.usage_day_rollup.estimated_tokens_out IS 'Output tokens guessed from the length of the content; null unless unfinalised. Not part of any total.';
COMMENT ON COLUMN recount.usage_day_rollup.unpriced_responses IS 'Responses of models without a price.';
COMMENT ON COLUMN recount.usage_day_rollup.unpriced_tokens IS 'Their tokens of all classes.';
COMMENT ON COLUMN recount.usage_day_rollup.default_priced_responses IS 'Responses that name no model, priced at the default rates.';
COMMENT ON COLUMN recount.usage_day_rollup.agent_id IS 'Id of the sub-agent; null where the line names none.';
--> statement-breakpoint
CREATE TABLE recount.usage_entries (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  message_id text COLLATE "C",
  source text NOT NULL,
  "timestamp" timestamp(3) with time zone,
  is_subagent boolean NOT NULL,
  agent_id text,
  git_branch text,
  agent_version text,
  entry_number integer NOT NULL,
  agent text NOT NULL,
  response_key text COLLATE "C" NOT NULL,
  is_marked_copy boolean NOT NULL,
  line_number integer NOT NULL,
  provider_message_id text,
  request_id text,
  model text,
  tokens_in bigint DEFAULT 0 NOT NULL,
  tokens_out bigint DEFAULT 0 NOT NULL,
  cache_read bigint DEFAULT 0 NOT NULL,
  cache_write bigint DEFAULT 0 NOT NULL,
  cache_write_5m bigint DEFAULT 0 NOT NULL,
  cache_write_1h bigint DEFAULT 0 NOT NULL,
  thinking_tokens bigint DEFAULT 0 NOT NULL,
  web_search_requests integer DEFAULT 0 NOT NULL,
  web_fetch_requests integer DEFAULT 0 NOT NULL,
  service_tier text,
  speed text,
  inference_geo text,
  is_unfinalised boolean DEFAULT false NOT NULL,
  estimated_tokens_out bigint,
  reported_cost_usd numeric(20,10),
  cost_usd numeric(20,10),
  cost_input_usd numeric(20,10),
  cost_output_usd numeric(20,10),
  cost_cache_read_usd numeric(20,10),
  cost_cache_write_usd numeric(20,10),
  cost_web_search_usd numeric(20,10),
  price_basis text NOT NULL,
  price_version text NOT NULL,
  request_tokens jsonb,
  CONSTRAINT usage_entries_pk PRIMARY KEY (workspace_id, row_set_id, entry_number)
);
CREATE INDEX usage_entries_response ON recount.usage_entries (workspace_id, agent, response_key);
COMMENT ON TABLE recount.usage_entries IS 'Every copy of an API response that a transcript holds. The ledger follows from it.';
COMMENT ON COLUMN recount.usage_entries.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.usage_entries.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN recount.usage_entries.row_set_id IS 'transcripts.row_set_id of the transcript that the row was made from.';
COMMENT ON COLUMN recount.usage_entries.message_id IS 'Message of that transcript that the response or call is part of; null for usage that only a progress line tells of.';
COMMENT ON COLUMN recount.usage_entries.source IS 'message, progress (a progress line of a sub-agent), or a request billed apart from the response that contains it: advisor (another model that it asked), fallback (an attempt that another model''s answer replaced), compaction (a summary of the context by the API), paused (a part before the answer was resumed), unknown (a kind that recount does not know).';
COMMENT ON COLUMN recount.usage_entries."timestamp" IS 'Time of the line, with milliseconds; null where it has none.';
COMMENT ON COLUMN recount.usage_entries.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.usage_entries.agent_id IS 'Id of the sub-agent; null where the line names none.';
COMMENT ON COLUMN recount.usage_entries.git_branch IS 'Git branch of the line; null where it names none.';
COMMENT ON COLUMN recount.usage_entries.agent_version IS 'Version of the agent that wrote the line; null where it names none.';
COMMENT ON COLUMN recount.usage_entries.entry_number IS 'Tells the transcript''s entries apart.';
COMMENT ON COLUMN recount.usage_entries.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
COMMENT ON COLUMN recount.usage_entries.response_key IS 'Names the response in the workspace: the provider''s id where that is unique, else made longer by the request''s id or the line''s uuid.';
COMMENT ON COLUMN recount.usage_entries.is_marked_copy IS 'Whether the line says that it was copied from another session.';
COMMENT ON COLUMN recount.usage_entries.line_number IS 'Line of the transcript, from 1 over all lines.';
COMMENT ON COLUMN recount.usage_entries.provider_message_id IS 'message.id of the API response; null where it has none.';
COMMENT ON COLUMN recount.usage_entries.request_id IS 'requestId of the API call; null where no line has one.';
COMMENT ON COLUMN recount.usage_entries.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.usage_entries.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.usage_entries.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.usage_entries.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.usage_entries.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.usage_entries.cache_write_5m IS 'Part of cache_write that is kept for 5 minutes; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_entries.cache_write_1h IS 'Part of cache_write that is kept for an hour; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_entries.thinking_tokens IS 'Part of tokens_out that is thinking; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_entries.web_search_requests IS 'Web searches made by the provider.';
COMMENT ON COLUMN recount.usage_entries.web_fetch_requests IS 'Pages fetched by the provider.';
COMMENT ON COLUMN recount.usage_entries.service_tier IS 'standard, priority, batch; null where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_entries.speed IS 'standard or fast; null where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_entries.inference_geo IS 'Where the model ran; null where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_entries.is_unfinalised IS 'Whether no line has a final output count: tokens_out is a placeholder.';
COMMENT ON COLUMN recount.usage_entries.estimated_tokens_out IS 'Output tokens guessed from the length of the content; null unless unfinalised. Not part of any total.';
COMMENT ON COLUMN recount.usage_entries.reported_cost_usd IS 'US dollars as the agent itself reports them; null where it does not.';
COMMENT ON COLUMN recount.usage_entries.cost_usd IS 'US dollars; null where there is no price for the model.';
COMMENT ON COLUMN recount.usage_entries.cost_input_usd IS 'Part of cost_usd for tokens_in; null where it is not known.';
COMMENT ON COLUMN recount.usage_entries.cost_output_usd IS 'Part of cost_usd for tokens_out; null where it is not known.';
COMMENT ON COLUMN recount.usage_entries.cost_cache_read_usd IS 'Part of cost_usd for cache_read; null where it is not known.';
COMMENT ON COLUMN recount.usage_entries.cost_cache_write_usd IS 'Part of cost_usd for cache_write; null where it is not known.';
COMMENT ON COLUMN recount.usage_entries.cost_web_search_usd IS 'Part of cost_usd for web searches; null where it is not known.';
COMMENT ON COLUMN recount.usage_entries.price_basis IS 'list, override (a rate of the workspace), default (no model named), reported (the agent''s figure) or unpriced.';
COMMENT ON COLUMN recount.usage_entries.price_version IS 'Version of the rates that made the cost.';
COMMENT ON COLUMN recount.usage_entries.request_tokens IS 'Tokens of each request if the response took several (input, output, cache reads, all cache writes, 5-minute ones, 1-hour ones): each is priced by its own size; else null.';
--> statement-breakpoint
CREATE TABLE recount.usage_hour_total (
  workspace_id text COLLATE "C" NOT NULL,
  first_bucket_start timestamp(3) with time zone,
  last_bucket_start timestamp(3) with time zone,
  model text,
  is_subagent boolean NOT NULL,
  is_shared boolean NOT NULL,
  responses integer NOT NULL,
  tokens_in bigint DEFAULT 0 NOT NULL,
  tokens_out bigint DEFAULT 0 NOT NULL,
  cache_read bigint DEFAULT 0 NOT NULL,
  cache_write bigint DEFAULT 0 NOT NULL,
  cache_write_1h bigint DEFAULT 0 NOT NULL,
  thinking_tokens bigint DEFAULT 0 NOT NULL,
  web_search_requests bigint DEFAULT 0 NOT NULL,
  cost_units numeric DEFAULT '0' NOT NULL,
  cost_input_units numeric DEFAULT '0' NOT NULL,
  cost_output_units numeric DEFAULT '0' NOT NULL,
  cost_cache_read_units numeric DEFAULT '0' NOT NULL,
  cost_cache_write_units numeric DEFAULT '0' NOT NULL,
  cost_web_search_units numeric DEFAULT '0' NOT NULL,
  unfinalised_responses integer NOT NULL,
  unfinalised_tokens_out bigint DEFAULT 0 NOT NULL,
  estimated_tokens_out bigint DEFAULT 0 NOT NULL,
  unpriced_responses integer NOT NULL,
  unpriced_tokens bigint DEFAULT 0 NOT NULL,
  default_priced_responses integer NOT NULL
);
CREATE INDEX usage_hour_total_time ON recount.usage_hour_total (workspace_id, first_bucket_start);
COMMENT ON TABLE recount.usage_hour_total IS 'Sums of usage_rollup over all sessions of the workspace, by hour (UTC); right but for the days in stale_days. Costs in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_hour_total.workspace_id IS 'Whose sessions they are.';
COMMENT ON COLUMN recount.usage_hour_total.first_bucket_start IS 'First quarter of an hour that the row is the sum of.';
COMMENT ON COLUMN recount.usage_hour_total.last_bucket_start IS 'Last of them, within the same hour or day.';
COMMENT ON COLUMN recount.usage_hour_total.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.usage_hour_total.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.usage_hour_total.is_shared IS 'Whether another session is credited with it.';
COMMENT ON COLUMN recount.usage_hour_total.responses IS 'API responses.';
COMMENT ON COLUMN recount.usage_hour_total.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.usage_hour_total.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.usage_hour_total.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.usage_hour_total.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.usage_hour_total.cache_write_1h IS 'Part of cache_write that is kept for an hour; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_hour_total.thinking_tokens IS 'Part of tokens_out that is thinking; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_hour_total.web_search_requests IS 'Web searches made by the provider.';
COMMENT ON COLUMN recount.usage_hour_total.cost_units IS 'Cost of the responses that have a price, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_hour_total.cost_input_units IS 'Cost of tokens_in, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_hour_total.cost_output_units IS 'Cost of tokens_out, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_hour_total.cost_cache_read_units IS 'Cost of cache_read, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_hour_total.cost_cache_write_units IS 'Cost of cache_write, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_hour_total.cost_web_search_units IS 'Cost of web searches, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_hour_total.unfinalised_responses IS 'Responses whose output count is a placeholder.';
COMMENT ON COLUMN recount.usage_hour_total.unfinalised_tokens_out IS 'Their output tokens, which tokens_out contains.';
COMMENT ON COLUMN recount.usage_hour_total.estimated_tokens_out IS 'Output tokens guessed from the length of the content; null unless unfinalised. Not part of any total.';
COMMENT ON COLUMN recount.usage_hour_total.unpriced_responses IS 'Responses of models without a price.';
COMMENT ON COLUMN recount.usage_hour_total.unpriced_tokens IS 'Their tokens of all classes.';
COMMENT ON COLUMN recount.usage_hour_total.default_priced_responses IS 'Responses that name no model, priced at the default rates.';
--> statement-breakpoint
CREATE TABLE recount.usage_ledger (
  workspace_id text COLLATE "C" NOT NULL,
  agent text NOT NULL,
  response_key text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  message_id text COLLATE "C",
  source text NOT NULL,
  "timestamp" timestamp(3) with time zone,
  is_subagent boolean NOT NULL,
  agent_id text,
  git_branch text,
  agent_version text,
  copy_count integer NOT NULL,
  provider_message_id text,
  request_id text,
  model text,
  tokens_in bigint DEFAULT 0 NOT NULL,
  tokens_out bigint DEFAULT 0 NOT NULL,
  cache_read bigint DEFAULT 0 NOT NULL,
  cache_write bigint DEFAULT 0 NOT NULL,
  cache_write_5m bigint DEFAULT 0 NOT NULL,
  cache_write_1h bigint DEFAULT 0 NOT NULL,
  thinking_tokens bigint DEFAULT 0 NOT NULL,
  web_search_requests integer DEFAULT 0 NOT NULL,
  web_fetch_requests integer DEFAULT 0 NOT NULL,
  service_tier text,
  speed text,
  inference_geo text,
  is_unfinalised boolean DEFAULT false NOT NULL,
  estimated_tokens_out bigint,
  reported_cost_usd numeric(20,10),
  cost_usd numeric(20,10),
  cost_input_usd numeric(20,10),
  cost_output_usd numeric(20,10),
  cost_cache_read_usd numeric(20,10),
  cost_cache_write_usd numeric(20,10),
  cost_web_search_usd numeric(20,10),
  price_basis text NOT NULL,
  price_version text NOT NULL,
  disagreements text[],
  lowest_cost_usd numeric(20,10),
  highest_cost_usd numeric(20,10),
  request_tokens jsonb,
  CONSTRAINT usage_ledger_pk PRIMARY KEY (workspace_id, agent, response_key)
);
CREATE INDEX usage_ledger_disputed ON recount.usage_ledger (workspace_id, "timestamp") WHERE disagreements IS NOT NULL;
CREATE INDEX usage_ledger_session ON recount.usage_ledger (workspace_id, session_id);
CREATE INDEX usage_ledger_subagent_time ON recount.usage_ledger (workspace_id, "timestamp") WHERE is_subagent;
COMMENT ON TABLE recount.usage_ledger IS 'One row for each API response of a workspace, however many transcripts hold a copy. The earliest copy is credited, the most complete one gives the figures.';
COMMENT ON COLUMN recount.usage_ledger.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.usage_ledger.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
COMMENT ON COLUMN recount.usage_ledger.response_key IS 'Names the response in the workspace: the provider''s id where that is unique, else made longer by the request''s id or the line''s uuid.';
COMMENT ON COLUMN recount.usage_ledger.session_id IS 'Session that is credited with the response.';
COMMENT ON COLUMN recount.usage_ledger.row_set_id IS 'transcripts.row_set_id of the transcript that is credited with the response.';
COMMENT ON COLUMN recount.usage_ledger.message_id IS 'Message of that transcript that the response or call is part of; null for usage that only a progress line tells of.';
COMMENT ON COLUMN recount.usage_ledger.source IS 'message, progress (a progress line of a sub-agent), or a request billed apart from the response that contains it: advisor (another model that it asked), fallback (an attempt that another model''s answer replaced), compaction (a summary of the context by the API), paused (a part before the answer was resumed), unknown (a kind that recount does not know).';
COMMENT ON COLUMN recount.usage_ledger."timestamp" IS 'Time of the line, with milliseconds; null where it has none.';
COMMENT ON COLUMN recount.usage_ledger.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.usage_ledger.agent_id IS 'Id of the sub-agent; null where the line names none.';
COMMENT ON COLUMN recount.usage_ledger.git_branch IS 'Git branch of the line; null where it names none.';
COMMENT ON COLUMN recount.usage_ledger.agent_version IS 'Version of the agent that wrote the line; null where it names none.';
COMMENT ON COLUMN recount.usage_ledger.copy_count IS 'Entries that hold the response, the credited one included.';
COMMENT ON COLUMN recount.usage_ledger.provider_message_id IS 'message.id of the API response; null where it has none.';
COMMENT ON COLUMN recount.usage_ledger.request_id IS 'requestId of the API call; null where no line has one.';
COMMENT ON COLUMN recount.usage_ledger.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.usage_ledger.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.usage_ledger.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.usage_ledger.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.usage_ledger.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.usage_ledger.cache_write_5m IS 'Part of cache_write that is kept for 5 minutes; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_ledger.cache_write_1h IS 'Part of cache_write that is kept for an hour; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_ledger.thinking_tokens IS 'Part of tokens_out that is thinking; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_ledger.web_search_requests IS 'Web searches made by the provider.';
COMMENT ON COLUMN recount.usage_ledger.web_fetch_requests IS 'Pages fetched by the provider.';
COMMENT ON COLUMN recount.usage_ledger.service_tier IS 'standard, priority, batch; null where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_ledger.speed IS 'standard or fast; null where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_ledger.inference_geo IS 'Where the model ran; null where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_ledger.is_unfinalised IS 'Whether no line has a final output count: tokens_out is a placeholder.';
COMMENT ON COLUMN recount.usage_ledger.estimated_tokens_out IS 'Output tokens guessed from the length of the content; null unless unfinalised. Not part of any total.';
COMMENT ON COLUMN recount.usage_ledger.reported_cost_usd IS 'US dollars as the agent itself reports them; null where it does not.';
COMMENT ON COLUMN recount.usage_ledger.cost_usd IS 'US dollars; null where there is no price for the model.';
COMMENT ON COLUMN recount.usage_ledger.cost_input_usd IS 'Part of cost_usd for tokens_in; null where it is not known.';
COMMENT ON COLUMN recount.usage_ledger.cost_output_usd IS 'Part of cost_usd for tokens_out; null where it is not known.';
COMMENT ON COLUMN recount.usage_ledger.cost_cache_read_usd IS 'Part of cost_usd for cache_read; null where it is not known.';
COMMENT ON COLUMN recount.usage_ledger.cost_cache_write_usd IS 'Part of cost_usd for cache_write; null where it is not known.';
COMMENT ON COLUMN recount.usage_ledger.cost_web_search_usd IS 'Part of cost_usd for web searches; null where it is not known.';
COMMENT ON COLUMN recount.usage_ledger.price_basis IS 'list, override (a rate of the workspace), default (no model named), reported (the agent''s figure) or unpriced.';
COMMENT ON COLUMN recount.usage_ledger.price_version IS 'Version of the rates that made the cost.';
COMMENT ON COLUMN recount.usage_ledger.disagreements IS 'What the copies disagree about: model, time, figures. Null: they agree.';
COMMENT ON COLUMN recount.usage_ledger.lowest_cost_usd IS 'Cost by the cheapest of the copies that disagree, in US dollars.';
COMMENT ON COLUMN recount.usage_ledger.highest_cost_usd IS 'Cost by the dearest of the copies that disagree, in US dollars.';
COMMENT ON COLUMN recount.usage_ledger.request_tokens IS 'Tokens of each request if the response took several (input, output, cache reads, all cache writes, 5-minute ones, 1-hour ones): each is priced by its own size; else null.';
--> statement-breakpoint
CREATE TABLE recount.usage_rollup (
  workspace_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  bucket_start timestamp(3) with time zone,
  model text,
  is_subagent boolean NOT NULL,
  git_branch text,
  agent_version text,
  is_shared boolean NOT NULL,
  responses integer NOT NULL,
  tokens_in bigint DEFAULT 0 NOT NULL,
  tokens_out bigint DEFAULT 0 NOT NULL,
  cache_read bigint DEFAULT 0 NOT NULL,
  cache_write bigint DEFAULT 0 NOT NULL,
  cache_write_1h bigint DEFAULT 0 NOT NULL,
  thinking_tokens bigint DEFAULT 0 NOT NULL,
  web_search_requests bigint DEFAULT 0 NOT NULL,
  cost_units numeric DEFAULT 0 NOT NULL,
  cost_input_units numeric DEFAULT 0 NOT NULL,
  cost_output_units numeric DEFAULT 0 NOT NULL,
  cost_cache_read_units numeric DEFAULT 0 NOT NULL,
  cost_cache_write_units numeric DEFAULT 0 NOT NULL,
  cost_web_search_units numeric DEFAULT 0 NOT NULL,
  unfinalised_responses integer NOT NULL,
  unfinalised_tokens_out bigint DEFAULT 0 NOT NULL,
  estimated_tokens_out bigint DEFAULT 0 NOT NULL,
  unpriced_responses integer NOT NULL,
  unpriced_tokens bigint DEFAULT 0 NOT NULL,
  default_priced_responses integer NOT NULL,
  agent_id text
);
CREATE INDEX usage_rollup_session ON recount.usage_rollup (workspace_id, session_id);
CREATE INDEX usage_rollup_time ON recount.usage_rollup (workspace_id, bucket_start, session_id);
COMMENT ON TABLE recount.usage_rollup IS 'Sums of the ledger by session and quarter of an hour; with is_shared, of the responses that the session holds but another one is credited with. Costs in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_rollup.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.usage_rollup.session_id IS 'Session that holds the responses.';
COMMENT ON COLUMN recount.usage_rollup.bucket_start IS 'Beginning of the quarter of an hour; null for what has no time.';
COMMENT ON COLUMN recount.usage_rollup.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN recount.usage_rollup.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN recount.usage_rollup.git_branch IS 'Git branch of the line; null where it names none.';
COMMENT ON COLUMN recount.usage_rollup.agent_version IS 'Version of the agent that wrote the line; null where it names none.';
COMMENT ON COLUMN recount.usage_rollup.is_shared IS 'Whether another session is credited with it.';
COMMENT ON COLUMN recount.usage_rollup.responses IS 'API responses.';
COMMENT ON COLUMN recount.usage_rollup.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN recount.usage_rollup.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN recount.usage_rollup.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN recount.usage_rollup.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN recount.usage_rollup.cache_write_1h IS 'Part of cache_write that is kept for an hour; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_rollup.thinking_tokens IS 'Part of tokens_out that is thinking; 0 where the transcript does not tell.';
COMMENT ON COLUMN recount.usage_rollup.web_search_requests IS 'Web searches made by the provider.';
COMMENT ON COLUMN recount.usage_rollup.cost_units IS 'Cost of the responses that have a price, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_rollup.cost_input_units IS 'Cost of tokens_in, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_rollup.cost_output_units IS 'Cost of tokens_out, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_rollup.cost_cache_read_units IS 'Cost of cache_read, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_rollup.cost_cache_write_units IS 'Cost of cache_write, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_rollup.cost_web_search_units IS 'Cost of web searches, in units of 1e-10 US dollars.';
COMMENT ON COLUMN recount.usage_rollup.unfinalised_responses IS 'Responses whose output count is a placeholder.';
COMMENT ON COLUMN recount.usage_rollup.unfinalised_tokens_out IS 'Their output tokens, which tokens_out contains.';
COMMENT ON COLUMN recount.usage_rollup.estimated_tokens_out IS 'Output tokens guessed from the length of the content; null unless unfinalised. Not part of any total.';
COMMENT ON COLUMN recount.usage_rollup.unpriced_responses IS 'Responses of models without a price.';
COMMENT ON COLUMN recount.usage_rollup.unpriced_tokens IS 'Their tokens of all classes.';
COMMENT ON COLUMN recount.usage_rollup.default_priced_responses IS 'Responses that name no model, priced at the default rates.';
COMMENT ON COLUMN recount.usage_rollup.agent_id IS 'Id of the sub-agent; null where the line names none.';
--> statement-breakpoint
CREATE TABLE recount.workspace_settings (
  workspace_id text COLLATE "C" NOT NULL,
  redaction text DEFAULT 'off' NOT NULL,
  rows_max_age_days integer,
  raw_max_age_days integer,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT workspace_settings_pkey PRIMARY KEY (workspace_id),
  CONSTRAINT workspace_settings_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES recount.workspaces(id) ON DELETE CASCADE
);
COMMENT ON TABLE recount.workspace_settings IS 'What a workspace chose on secrets and retention; without a row, the defaults.';
COMMENT ON COLUMN recount.workspace_settings.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.workspace_settings.redaction IS 'off: secrets stay where they are. rows: rows are free of them, raw objects are not. rows-and-raw: redacted copies take the place of raw objects.';
COMMENT ON COLUMN recount.workspace_settings.rows_max_age_days IS 'Days after the last activity of a session until its messages and texts are deleted; null: never.';
COMMENT ON COLUMN recount.workspace_settings.raw_max_age_days IS 'Days after the last activity in a transcript until its raw object is deleted; null: never.';
COMMENT ON COLUMN recount.workspace_settings.updated_at IS 'When a setting was changed last.';
--> statement-breakpoint
-- lz4 instead of pglz makes ingesting large texts 1.7 times as fast. Servers may lack it.
DO $$
BEGIN
  ALTER TABLE recount.content_blocks
    ALTER COLUMN content_text SET COMPRESSION lz4,
    ALTER COLUMN thinking_text SET COMPRESSION lz4,
    ALTER COLUMN tool_input SET COMPRESSION lz4,
    ALTER COLUMN result_text SET COMPRESSION lz4,
    ALTER COLUMN metadata SET COMPRESSION lz4;
  ALTER TABLE recount.search_documents
    ALTER COLUMN text SET COMPRESSION lz4,
    ALTER COLUMN words SET COMPRESSION lz4;
  ALTER TABLE recount.transcript_checkpoints ALTER COLUMN state SET COMPRESSION lz4;
  ALTER TABLE recount.transcript_messages ALTER COLUMN metadata SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'This server is built without lz4: large columns keep its default compression';
END
$$;
--> statement-breakpoint
CREATE SCHEMA analytics;
COMMENT ON SCHEMA analytics IS 'Read-only views for analysts, described in docs/sql.md. Their names and columns are kept; columns may be added at the end.';
--> statement-breakpoint
CREATE VIEW analytics.api_responses AS
SELECT
  l.workspace_id, l.response_key AS response_id, l.request_id, l.session_id, t.id AS transcript_id, l.message_id,
  l.provider_message_id, l.model, l."timestamp", l.tokens_in, l.tokens_out, l.cache_read, l.cache_write, l.cost_usd,
  l.is_unfinalised, l.copy_count::bigint AS copy_count, m.stop_reason, l.agent, t.project, t.is_subagent,
  l.is_subagent AND NOT t.is_subagent AS is_sidechain,
  l.source, l.agent_id, l.git_branch, l.agent_version, l.cache_write_5m, l.cache_write_1h, l.thinking_tokens,
  l.web_search_requests, l.web_fetch_requests, l.service_tier, l.speed, l.inference_geo, l.estimated_tokens_out,
  l.cost_input_usd, l.cost_output_usd, l.cost_cache_read_usd, l.cost_cache_write_usd, l.cost_web_search_usd,
  l.reported_cost_usd, l.price_basis, l.price_version, l.disagreements, l.lowest_cost_usd, l.highest_cost_usd, s.machine, s.person
FROM recount.usage_ledger AS l
LEFT JOIN recount.transcripts AS t ON t.workspace_id = l.workspace_id AND t.row_set_id = l.row_set_id
LEFT JOIN recount.sessions AS s ON s.workspace_id = l.workspace_id AND s.session_id = l.session_id
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = l.workspace_id AND m.row_set_id = l.row_set_id AND m.id = l.message_id;
COMMENT ON VIEW analytics.api_responses IS 'One row for each response of a model''s API, however many transcripts of the workspace hold a copy: what totals are made of. Credited to the earliest copy, with the figures of the most complete one. Messages of model <synthetic> are none.';
COMMENT ON COLUMN analytics.api_responses.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.api_responses.response_id IS 'Names the response in the workspace: the provider''s id where that is unique, else made longer by the request''s id or the line''s uuid.';
COMMENT ON COLUMN analytics.api_responses.request_id IS 'requestId of the API call; null where no line has one.';
COMMENT ON COLUMN analytics.api_responses.session_id IS 'Session that is credited with the response.';
COMMENT ON COLUMN analytics.api_responses.transcript_id IS 'Transcript that is credited with the response.';
COMMENT ON COLUMN analytics.api_responses.message_id IS 'Message of that transcript that the response or call is part of; null for usage that only a progress line tells of.';
COMMENT ON COLUMN analytics.api_responses.provider_message_id IS 'message.id of the API response; null where it has none.';
COMMENT ON COLUMN analytics.api_responses.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN analytics.api_responses."timestamp" IS 'Time of the line, with milliseconds; null where it has none.';
COMMENT ON COLUMN analytics.api_responses.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN analytics.api_responses.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN analytics.api_responses.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN analytics.api_responses.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN analytics.api_responses.cost_usd IS 'US dollars; null where there is no price for the model.';
COMMENT ON COLUMN analytics.api_responses.is_unfinalised IS 'Whether no line has a final output count: tokens_out is a placeholder.';
COMMENT ON COLUMN analytics.api_responses.copy_count IS 'Entries that hold the response, the credited one included.';
COMMENT ON COLUMN analytics.api_responses.stop_reason IS 'Why the response ended; null where no line tells, and for usage that only a progress line tells of.';
COMMENT ON COLUMN analytics.api_responses.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
COMMENT ON COLUMN analytics.api_responses.project IS 'Working directory of the credited transcript''s first line that names one; null where none does.';
COMMENT ON COLUMN analytics.api_responses.is_subagent IS 'Whether the whole transcript is a sub-agent''s.';
COMMENT ON COLUMN analytics.api_responses.is_sidechain IS 'Whether a sub-agent made it within a main transcript.';
COMMENT ON COLUMN analytics.api_responses.source IS 'message, progress (a sub-agent''s response that a progress line tells of) or advisor (an iteration of another model within a response).';
COMMENT ON COLUMN analytics.api_responses.agent_id IS 'Id of the sub-agent; null where the line names none.';
COMMENT ON COLUMN analytics.api_responses.git_branch IS 'Git branch of the line; null where it names none.';
COMMENT ON COLUMN analytics.api_responses.agent_version IS 'Version of the agent that wrote the line; null where it names none.';
COMMENT ON COLUMN analytics.api_responses.cache_write_5m IS 'Part of cache_write that is kept for 5 minutes; 0 where the transcript does not tell.';
COMMENT ON COLUMN analytics.api_responses.cache_write_1h IS 'Part of cache_write that is kept for an hour; 0 where the transcript does not tell.';
COMMENT ON COLUMN analytics.api_responses.thinking_tokens IS 'Part of tokens_out that is thinking; 0 where the transcript does not tell.';
COMMENT ON COLUMN analytics.api_responses.web_search_requests IS 'Web searches made by the provider.';
COMMENT ON COLUMN analytics.api_responses.web_fetch_requests IS 'Pages fetched by the provider.';
COMMENT ON COLUMN analytics.api_responses.service_tier IS 'standard, priority, batch; null where the transcript does not tell.';
COMMENT ON COLUMN analytics.api_responses.speed IS 'standard or fast; null where the transcript does not tell.';
COMMENT ON COLUMN analytics.api_responses.inference_geo IS 'Where the model ran; null where the transcript does not tell.';
COMMENT ON COLUMN analytics.api_responses.estimated_tokens_out IS 'Output tokens guessed from the length of the content; null unless unfinalised. Not part of any total.';
COMMENT ON COLUMN analytics.api_responses.cost_input_usd IS 'Part of cost_usd for tokens_in; null where it is not known.';
COMMENT ON COLUMN analytics.api_responses.cost_output_usd IS 'Part of cost_usd for tokens_out; null where it is not known.';
COMMENT ON COLUMN analytics.api_responses.cost_cache_read_usd IS 'Part of cost_usd for cache_read; null where it is not known.';
COMMENT ON COLUMN analytics.api_responses.cost_cache_write_usd IS 'Part of cost_usd for cache_write; null where it is not known.';
COMMENT ON COLUMN analytics.api_responses.cost_web_search_usd IS 'Part of cost_usd for web searches; null where it is not known.';
COMMENT ON COLUMN analytics.api_responses.reported_cost_usd IS 'US dollars as the agent itself reports them; null where it does not.';
COMMENT ON COLUMN analytics.api_responses.price_basis IS 'list, override (a rate of the workspace), default (no model named), reported (the agent''s figure) or unpriced.';
COMMENT ON COLUMN analytics.api_responses.price_version IS 'Version of the rates that made the cost.';
COMMENT ON COLUMN analytics.api_responses.disagreements IS 'What the copies of the response disagree about: model, time, figures. Null: they agree.';
COMMENT ON COLUMN analytics.api_responses.lowest_cost_usd IS 'Cost by the cheapest of the copies that disagree, in US dollars.';
COMMENT ON COLUMN analytics.api_responses.highest_cost_usd IS 'Cost by the dearest of the copies that disagree, in US dollars.';
COMMENT ON COLUMN analytics.api_responses.machine IS 'Machine that the session came from, as its uploader named it; null: unknown.';
COMMENT ON COLUMN analytics.api_responses.person IS 'Whose work it is: the person of the API key that brought the session, else whom the upload named; null: unknown.';
--> statement-breakpoint
CREATE VIEW analytics.content_blocks AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, b.message_id, b.block_order, b.id AS block_id,
  NOT t.is_diverged AS is_primary, b.block_type, b.content_text, b.thinking_text,
  b.tool_name, b.tool_use_id, b.tool_input, b.tool_result_id, b.is_error, b.result_text,
  b.metadata @> '{"truncated": true}' AS is_truncated, b.metadata,
  b.line_number, b.byte_offset, b.byte_length, b.tool_kind
FROM recount.transcripts AS t
JOIN recount.content_blocks AS b ON b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id
WHERE t.ingested_at IS NOT NULL;
COMMENT ON VIEW analytics.content_blocks IS 'One row for each content block of each ingested transcript; joins to messages by workspace_id, transcript_id, message_id.';
COMMENT ON COLUMN analytics.content_blocks.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.content_blocks.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN analytics.content_blocks.transcript_id IS 'Transcript that the row was made from.';
COMMENT ON COLUMN analytics.content_blocks.message_id IS 'Message of the same transcript that the block is part of.';
COMMENT ON COLUMN analytics.content_blocks.block_order IS 'Position within the message, from 0 without gaps, in the order of its lines.';
COMMENT ON COLUMN analytics.content_blocks.block_id IS 'ULID, the same at every parse. Unique within a transcript; diverged transcripts of a session share ids.';
COMMENT ON COLUMN analytics.content_blocks.is_primary IS 'Whether the row is of its session''s primary transcript.';
COMMENT ON COLUMN analytics.content_blocks.block_type IS 'text, thinking, tool_use, tool_result, image, …: the name that the transcript gives it.';
COMMENT ON COLUMN analytics.content_blocks.content_text IS 'Text of the block; null unless it is a text or a document given as text.';
COMMENT ON COLUMN analytics.content_blocks.thinking_text IS 'Text of a thinking block, often empty because withheld; null for other types.';
COMMENT ON COLUMN analytics.content_blocks.tool_name IS 'Tool of a tool use; null for types that name none.';
COMMENT ON COLUMN analytics.content_blocks.tool_use_id IS 'Id of a tool use, which its result refers to; null for types without one.';
COMMENT ON COLUMN analytics.content_blocks.tool_input IS 'Input of a tool use. Where truncated, a string with the beginning of its JSON, or null where it was nested too deep.';
COMMENT ON COLUMN analytics.content_blocks.tool_result_id IS 'tool_use_id of the tool use that a result answers; null for types that answer none.';
COMMENT ON COLUMN analytics.content_blocks.is_error IS 'Whether a tool result tells of a failure; null for types that do not say.';
COMMENT ON COLUMN analytics.content_blocks.result_text IS 'Text of a tool result, its text parts joined by line feeds; null where it has none.';
COMMENT ON COLUMN analytics.content_blocks.is_truncated IS 'Whether text of the block was cut. The raw line at byte_offset has it whole.';
COMMENT ON COLUMN analytics.content_blocks.metadata IS 'What has no column: media_type, sha256 and byte_length of media, content of blocks of other types, truncated and original_byte_length (bytes) where text was cut.';
COMMENT ON COLUMN analytics.content_blocks.line_number IS 'Line that holds the block, from 1 over all lines.';
COMMENT ON COLUMN analytics.content_blocks.byte_offset IS 'Offset of that line in the raw object, in bytes.';
COMMENT ON COLUMN analytics.content_blocks.byte_length IS 'Length of that line in bytes, without the line end.';
COMMENT ON COLUMN analytics.content_blocks.tool_kind IS 'What the tool does, whatever its agent calls it: read, edit, shell, search, web, agent, skill, mcp, plan, question, other. Null for blocks that call no tool.';
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
COMMENT ON COLUMN analytics.daily_usage.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.daily_usage.day IS 'UTC day; null for responses without a timestamp.';
COMMENT ON COLUMN analytics.daily_usage.project IS 'Working directory of the session''s first line that names one; null where none does.';
COMMENT ON COLUMN analytics.daily_usage.model IS 'Model as the transcript names it; null where it names none.';
COMMENT ON COLUMN analytics.daily_usage.responses IS 'API responses.';
COMMENT ON COLUMN analytics.daily_usage.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN analytics.daily_usage.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN analytics.daily_usage.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN analytics.daily_usage.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN analytics.daily_usage.cost_usd IS 'US dollars of the responses that have a price; null where none has.';
COMMENT ON COLUMN analytics.daily_usage.unpriced_responses IS 'Responses without a price, which cost_usd lacks.';
COMMENT ON COLUMN analytics.daily_usage.unfinalised_responses IS 'Responses whose output count is a placeholder.';
COMMENT ON COLUMN analytics.daily_usage.unfinalised_tokens_out IS 'Their output tokens, which tokens_out contains.';
COMMENT ON COLUMN analytics.daily_usage.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
--> statement-breakpoint
CREATE VIEW analytics.ingest_issues AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, i.issue_number, NOT t.is_diverged AS is_primary,
  i.code, i.severity, i.message, i.line_number, i.byte_offset, i.occurrence_count, t.project, t.path
FROM recount.transcripts AS t
JOIN recount.ingest_issues AS i ON i.workspace_id = t.workspace_id AND i.row_set_id = t.row_set_id
WHERE t.ingested_at IS NOT NULL;
COMMENT ON VIEW analytics.ingest_issues IS 'One row for each fault found in an ingested transcript: the first thousand of each. All of them are counted in transcripts.';
COMMENT ON COLUMN analytics.ingest_issues.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.ingest_issues.session_id IS 'Session that the transcript is of; a session has several transcripts where it was uploaded as it grew, or diverged.';
COMMENT ON COLUMN analytics.ingest_issues.transcript_id IS 'Transcript that has the fault.';
COMMENT ON COLUMN analytics.ingest_issues.issue_number IS 'Position among the transcript''s issues, from 0.';
COMMENT ON COLUMN analytics.ingest_issues.is_primary IS 'Whether the row is of its session''s primary transcript.';
COMMENT ON COLUMN analytics.ingest_issues.code IS 'Kind of fault, e.g. invalid_json.';
COMMENT ON COLUMN analytics.ingest_issues.severity IS 'error: something of the line was lost. warning: repaired or merely noted.';
COMMENT ON COLUMN analytics.ingest_issues.message IS 'For people; never quotes the transcript beyond the name of an unknown type.';
COMMENT ON COLUMN analytics.ingest_issues.line_number IS 'Line of the fault, from 1 over all lines.';
COMMENT ON COLUMN analytics.ingest_issues.byte_offset IS 'Offset of that line in the raw object, in bytes.';
COMMENT ON COLUMN analytics.ingest_issues.occurrence_count IS 'How often it occurs on the line, e.g. characters replaced.';
COMMENT ON COLUMN analytics.ingest_issues.project IS 'Working directory of the first line that names one; null where none does.';
COMMENT ON COLUMN analytics.ingest_issues.path IS 'Original path as the uploader gave it; null where none was given.';
--> statement-breakpoint
CREATE VIEW analytics.messages AS
SELECT
  t.workspace_id, t.session_id, t.id AS transcript_id, m.id AS message_id, m.ordinal, NOT t.is_diverged AS is_primary,
  m.message_type, m.role, m.model, m.tokens_in, m.tokens_out, m.cache_read, m.cache_write, m.cost_usd, m."timestamp",
  m.has_text, m.has_thinking, m.has_tool_use, m.has_tool_result, m.metadata,
  m.provider_message_id, m.request_id, m.uuid, m.parent_uuid, m.is_sidechain, m.agent_id, m.stop_reason,
  m.line_number, m.byte_offset, m.byte_length, t.project, t.is_subagent
FROM recount.transcripts AS t
JOIN recount.transcript_messages AS m ON m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id
WHERE t.ingested_at IS NOT NULL;
COMMENT ON VIEW analytics.messages IS 'One row for each message of each ingested transcript. With is_primary, one for each message of each session.';
COMMENT ON COLUMN analytics.messages.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.messages.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN analytics.messages.transcript_id IS 'Transcript that the row was made from.';
COMMENT ON COLUMN analytics.messages.message_id IS 'ULID, ascending with ordinal, the same at every parse. Unique within a transcript; diverged transcripts of a session share ids.';
COMMENT ON COLUMN analytics.messages.ordinal IS 'Position among the transcript''s messages, from 0 without gaps.';
COMMENT ON COLUMN analytics.messages.is_primary IS 'Whether the row is of its session''s primary transcript.';
COMMENT ON COLUMN analytics.messages.message_type IS 'user, assistant, system or summary.';
COMMENT ON COLUMN analytics.messages.role IS 'Role as the line gives it, else the message type; null for summaries.';
COMMENT ON COLUMN analytics.messages.model IS 'Model as the transcript names it, <synthetic> where no API call was made; null unless an assistant line names one.';
COMMENT ON COLUMN analytics.messages.tokens_in IS 'Input tokens, without cached ones; null where the message carries no usage.';
COMMENT ON COLUMN analytics.messages.tokens_out IS 'Output tokens; null where the message carries no usage.';
COMMENT ON COLUMN analytics.messages.cache_read IS 'Tokens read from the prompt cache; null where the message carries no usage.';
COMMENT ON COLUMN analytics.messages.cache_write IS 'Tokens written to the prompt cache; null where the message carries no usage.';
COMMENT ON COLUMN analytics.messages.cost_usd IS 'US dollars; null where there is no usage, or no price for the model.';
COMMENT ON COLUMN analytics.messages."timestamp" IS 'Time of the message''s first line that has one, with milliseconds; null where none has.';
COMMENT ON COLUMN analytics.messages.has_text IS 'Whether it has a block of type text.';
COMMENT ON COLUMN analytics.messages.has_thinking IS 'Whether it has a block of type thinking or redacted_thinking.';
COMMENT ON COLUMN analytics.messages.has_tool_use IS 'Whether it has a block of type tool_use.';
COMMENT ON COLUMN analytics.messages.has_tool_result IS 'Whether it has a block of type tool_result.';
COMMENT ON COLUMN analytics.messages.metadata IS 'Small facts without a column: isMeta, isCompactSummary, forkedFrom, toolUseResult, usage (further token counts), usage_unfinalised (no final token count was ever written), line_count (where more than 1), ….';
COMMENT ON COLUMN analytics.messages.provider_message_id IS 'message.id of the API response; null unless an assistant line has one.';
COMMENT ON COLUMN analytics.messages.request_id IS 'requestId of the API call; null where no line has one.';
COMMENT ON COLUMN analytics.messages.uuid IS 'uuid of the first line; null where it has none. Copies of the line in other transcripts have the same.';
COMMENT ON COLUMN analytics.messages.parent_uuid IS 'uuid of the line that the first line follows; null where it names none.';
COMMENT ON COLUMN analytics.messages.is_sidechain IS 'Whether the message is a sub-agent''s, also within a main transcript.';
COMMENT ON COLUMN analytics.messages.agent_id IS 'Id of the sub-agent; null where the line names none.';
COMMENT ON COLUMN analytics.messages.stop_reason IS 'Why the response ended; null where no line tells.';
COMMENT ON COLUMN analytics.messages.line_number IS 'Line of the message''s first record, from 1 over all lines.';
COMMENT ON COLUMN analytics.messages.byte_offset IS 'Offset of the first line in the raw object, in bytes.';
COMMENT ON COLUMN analytics.messages.byte_length IS 'Length of the first line in bytes, without the line end.';
COMMENT ON COLUMN analytics.messages.project IS 'Working directory of the first line that names one; null where none does.';
COMMENT ON COLUMN analytics.messages.is_subagent IS 'Whether the whole transcript is a sub-agent''s.';
--> statement-breakpoint
CREATE VIEW analytics.session_events AS
SELECT DISTINCT ON (e.workspace_id, e.kind, e.event_key)
  e.workspace_id, e.kind, e.event_key, e.session_id, t.id AS transcript_id, e."timestamp", e.is_subagent, e.name, e.details,
  e.line_number, t.project
FROM recount.session_events AS e
JOIN recount.transcripts AS t ON t.workspace_id = e.workspace_id AND t.row_set_id = e.row_set_id
ORDER BY e.workspace_id, e.kind, e.event_key, e."timestamp" NULLS LAST, t.first_timestamp NULLS LAST, e.session_id,
  t.size_bytes DESC, t.sha256, e.event_number;
COMMENT ON VIEW analytics.session_events IS 'Prompts, compactions, API errors and retries, linked pull requests and slash commands, each once however many transcripts hold a copy of the line.';
COMMENT ON COLUMN analytics.session_events.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.session_events.kind IS 'prompt, compaction, api_error, api_retry, pull_request or slash_command.';
COMMENT ON COLUMN analytics.session_events.event_key IS 'The same in every copy of the line.';
COMMENT ON COLUMN analytics.session_events.session_id IS 'Session of the earliest copy.';
COMMENT ON COLUMN analytics.session_events.transcript_id IS 'Transcript that the row was made from.';
COMMENT ON COLUMN analytics.session_events."timestamp" IS 'Time of the line, with milliseconds; null where it has none.';
COMMENT ON COLUMN analytics.session_events.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN analytics.session_events.name IS 'What it is counted by: a compaction''s trigger, an error''s type, a pull request''s URL, a command''s name.';
COMMENT ON COLUMN analytics.session_events.details IS 'Facts that have no column, e.g. preTokens.';
COMMENT ON COLUMN analytics.session_events.line_number IS 'Line of the transcript, from 1 over all lines.';
COMMENT ON COLUMN analytics.session_events.project IS 'Working directory of the transcript''s first line that names one; null where none does.';
--> statement-breakpoint
CREATE VIEW analytics.session_usage AS
SELECT
  workspace_id, session_id, is_shared,
  sum(responses)::bigint AS responses, sum(tokens_in)::bigint AS tokens_in, sum(tokens_out)::bigint AS tokens_out,
  sum(cache_read)::bigint AS cache_read, sum(cache_write)::bigint AS cache_write,
  CASE WHEN sum(responses - unpriced_responses) > 0 THEN sum(cost_units) / 1e10 END AS cost_usd,
  sum(unpriced_responses)::bigint AS unpriced_responses, sum(unfinalised_responses)::bigint AS unfinalised_responses,
  sum(unfinalised_tokens_out)::bigint AS unfinalised_tokens_out, sum(web_search_requests)::bigint AS web_search_requests
FROM recount.usage_rollup
GROUP BY workspace_id, session_id, is_shared;
COMMENT ON VIEW analytics.session_usage IS 'Usage of each session: what it is credited with, and, with is_shared, what it holds but another session is credited with. Without is_shared the rows add up to the workspace.';
COMMENT ON COLUMN analytics.session_usage.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.session_usage.session_id IS 'Session that holds the responses.';
COMMENT ON COLUMN analytics.session_usage.is_shared IS 'Whether another session is credited with it.';
COMMENT ON COLUMN analytics.session_usage.responses IS 'API responses.';
COMMENT ON COLUMN analytics.session_usage.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN analytics.session_usage.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN analytics.session_usage.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN analytics.session_usage.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN analytics.session_usage.cost_usd IS 'US dollars of the responses that have a price; null where none has.';
COMMENT ON COLUMN analytics.session_usage.unpriced_responses IS 'Responses of models without a price.';
COMMENT ON COLUMN analytics.session_usage.unfinalised_responses IS 'Responses whose output count is a placeholder.';
COMMENT ON COLUMN analytics.session_usage.unfinalised_tokens_out IS 'Their output tokens, which tokens_out contains.';
COMMENT ON COLUMN analytics.session_usage.web_search_requests IS 'Web searches made by the provider.';
--> statement-breakpoint
CREATE VIEW analytics.sessions AS
SELECT
  workspace_id, session_id, agent, is_subagent, parent_session_id, agent_id, primary_transcript_id, transcript_count,
  total_messages, user_messages, assistant_messages, tool_use_count, thinking_blocks, subagent_count,
  tokens_in, tokens_out, cache_read, cache_write, cost_estimate_usd, duration_ms,
  initial_prompt, project, git_branch, agent_version, title, models, first_timestamp, last_timestamp, metadata,
  created_at, updated_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd, uploader_key_id, other_uploader_count, machine, person, output_only_count,
  repository, commit_hash
FROM recount.sessions;
COMMENT ON VIEW analytics.sessions IS 'One row for each session, with the figures of its primary transcript. Sub-agents are sessions of their own. Sessions that copied history from another both count it: for totals use daily_usage or api_responses.';
COMMENT ON COLUMN analytics.sessions.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.sessions.session_id IS 'Id that the agent gave the session; a sub-agent''s is made of its parent''s and its own.';
COMMENT ON COLUMN analytics.sessions.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
COMMENT ON COLUMN analytics.sessions.is_subagent IS 'Whether the whole session is a sub-agent''s.';
COMMENT ON COLUMN analytics.sessions.parent_session_id IS 'Session that started the sub-agent; null for main sessions and where it is not known.';
COMMENT ON COLUMN analytics.sessions.agent_id IS 'Id of the sub-agent; null for main sessions and where it is not known.';
COMMENT ON COLUMN analytics.sessions.primary_transcript_id IS 'Longest ingested transcript of the session.';
COMMENT ON COLUMN analytics.sessions.transcript_count IS 'Ingested transcripts, the primary one included; more than 1 where versions diverged.';
COMMENT ON COLUMN analytics.sessions.total_messages IS 'Messages of all types.';
COMMENT ON COLUMN analytics.sessions.user_messages IS 'Messages of type user, tool results included.';
COMMENT ON COLUMN analytics.sessions.assistant_messages IS 'Messages of type assistant: one for each API response.';
COMMENT ON COLUMN analytics.sessions.tool_use_count IS 'Content blocks of type tool_use.';
COMMENT ON COLUMN analytics.sessions.thinking_blocks IS 'Content blocks of type thinking or redacted_thinking.';
COMMENT ON COLUMN analytics.sessions.subagent_count IS 'Tool uses that start a sub-agent.';
COMMENT ON COLUMN analytics.sessions.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN analytics.sessions.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN analytics.sessions.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN analytics.sessions.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN analytics.sessions.cost_estimate_usd IS 'US dollars of the API responses that have a price: 0 without any response, null where none of them has one, and until a transcript is ingested. unpriced_count says how many it lacks.';
COMMENT ON COLUMN analytics.sessions.duration_ms IS 'Milliseconds from first_timestamp to last_timestamp, pauses included; 0 where there are none.';
COMMENT ON COLUMN analytics.sessions.initial_prompt IS 'First real user text, 1,000 characters at most, then "..."; null where there is none.';
COMMENT ON COLUMN analytics.sessions.project IS 'Working directory of the first line that names one; null where none does.';
COMMENT ON COLUMN analytics.sessions.git_branch IS 'Git branch of the first line that names one; null where none does.';
COMMENT ON COLUMN analytics.sessions.agent_version IS 'Version of the agent of the first line that names one; null where none does.';
COMMENT ON COLUMN analytics.sessions.title IS 'Set by the user, else generated, else the first summary; null where there is none.';
COMMENT ON COLUMN analytics.sessions.models IS 'Distinct models in order of appearance, without <synthetic>.';
COMMENT ON COLUMN analytics.sessions.first_timestamp IS 'Earliest timestamp of any line; null where no line has one.';
COMMENT ON COLUMN analytics.sessions.last_timestamp IS 'Latest timestamp of any line; null where no line has one.';
COMMENT ON COLUMN analytics.sessions.metadata IS 'What else the lines tell of the session: entrypoint, permissionMode, pullRequests, forkedFromSessionId, lineTypes (lines by type), ….';
COMMENT ON COLUMN analytics.sessions.created_at IS 'When the session''s first transcript was ingested.';
COMMENT ON COLUMN analytics.sessions.updated_at IS 'When the row was last made from the session''s transcripts.';
COMMENT ON COLUMN analytics.sessions.api_response_count IS 'API responses, each once: messages, those that progress lines tell of, advisors. Tokens and cost are theirs.';
COMMENT ON COLUMN analytics.sessions.unfinalised_count IS 'API responses whose output count is a placeholder.';
COMMENT ON COLUMN analytics.sessions.unpriced_count IS 'API responses without a price, which cost_estimate_usd lacks.';
COMMENT ON COLUMN analytics.sessions.web_search_count IS 'Web searches made by the provider.';
COMMENT ON COLUMN analytics.sessions.prompt_count IS 'Prompts that a person gave in the main conversation.';
COMMENT ON COLUMN analytics.sessions.turn_count IS 'Prompts that were answered by at least one API response.';
COMMENT ON COLUMN analytics.sessions.active_ms IS 'Milliseconds between messages, pauses of more than five minutes left out.';
COMMENT ON COLUMN analytics.sessions.reported_cost_usd IS 'US dollars that the agent itself reports for the session, to compare with; null where it does not.';
COMMENT ON COLUMN analytics.sessions.uploader_key_id IS 'API key that brought the primary transcript first; operator: by direct access to the database; null: unknown.';
COMMENT ON COLUMN analytics.sessions.other_uploader_count IS 'Transcripts that diverge from the primary one and that another uploader than the owner of the session brought.';
COMMENT ON COLUMN analytics.sessions.machine IS 'Machine that the primary transcript came from, as its uploader named it; null: unknown.';
COMMENT ON COLUMN analytics.sessions.person IS 'Whose work it is: the person of the API key that brought the primary transcript, else whom the upload named; null: unknown.';
COMMENT ON COLUMN analytics.sessions.output_only_count IS 'API responses whose input no figure has, as a run of the agent was cut off before it said: tokens and cost are lower bounds.';
COMMENT ON COLUMN analytics.sessions.repository IS 'Remote repository as the agent has it, mostly a URL, without credentials; null: the transcript does not say.';
COMMENT ON COLUMN analytics.sessions.commit_hash IS 'Commit that was checked out as the session began; null: the transcript does not say.';
--> statement-breakpoint
-- By a window and not by a join: planners take the join of two parts of content_blocks for tiny, and loop over them.
CREATE VIEW analytics.tool_calls AS
SELECT
  c.workspace_id, c.session_id, c.transcript_id, c.message_id, c.block_order, c.is_primary,
  c.tool_use_id, c.tool_name, c.tool_input, c.is_error, c.result_text, c.result_bytes,
  c.result_message_id, c.result_block_order, m."timestamp" AS started_at, rm."timestamp" AS ended_at,
  round(extract(epoch FROM rm."timestamp" - m."timestamp") * 1000)::bigint AS duration_ms,
  c.project, c.is_subagent, m.is_sidechain, c.tool_kind
FROM (
  SELECT
    t.workspace_id, t.session_id, t.id AS transcript_id, t.row_set_id, NOT t.is_diverged AS is_primary, t.project, t.is_subagent,
    b.message_id, b.block_order, b.block_type, b.tool_use_id, b.tool_name, b.tool_kind, b.tool_input,
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
  JOIN recount.content_blocks AS b ON b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id
  WHERE t.ingested_at IS NOT NULL AND b.block_type IN ('tool_use', 'tool_result')
  -- The first result, where there is one; without any it is the tool use, which has no result's columns.
  WINDOW call AS (
    PARTITION BY t.workspace_id, t.session_id, t.id, coalesce(b.tool_use_id, b.tool_result_id, b.id)
    ORDER BY b.block_type, b.message_id, b.block_order
  )
) AS c
LEFT JOIN recount.transcript_messages AS m
  ON m.workspace_id = c.workspace_id AND m.row_set_id = c.row_set_id AND m.id = c.message_id
LEFT JOIN recount.transcript_messages AS rm
  ON rm.workspace_id = c.workspace_id AND rm.row_set_id = c.row_set_id AND rm.id = c.result_message_id
WHERE c.block_type = 'tool_use';
COMMENT ON VIEW analytics.tool_calls IS 'One row for each tool use of each ingested transcript, with its result where the same transcript has one. With is_primary, one for each tool use of each session.';
COMMENT ON COLUMN analytics.tool_calls.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.tool_calls.session_id IS 'Session that the transcript is of.';
COMMENT ON COLUMN analytics.tool_calls.transcript_id IS 'Transcript that the row was made from.';
COMMENT ON COLUMN analytics.tool_calls.message_id IS 'Message of the same transcript that the block is part of.';
COMMENT ON COLUMN analytics.tool_calls.block_order IS 'Position within the message, from 0 without gaps, in the order of its lines.';
COMMENT ON COLUMN analytics.tool_calls.is_primary IS 'Whether the row is of its session''s primary transcript.';
COMMENT ON COLUMN analytics.tool_calls.tool_use_id IS 'Id of a tool use, which its result refers to; null for types without one.';
COMMENT ON COLUMN analytics.tool_calls.tool_name IS 'Tool of a tool use; null for types that name none.';
COMMENT ON COLUMN analytics.tool_calls.tool_input IS 'Input of a tool use. Where truncated, a string with the beginning of its JSON, or null where it was nested too deep.';
COMMENT ON COLUMN analytics.tool_calls.is_error IS 'Whether the result tells of a failure; null where there is no result.';
COMMENT ON COLUMN analytics.tool_calls.result_text IS 'Text of the result, cut where it was large; null where there is no result, or none with text.';
COMMENT ON COLUMN analytics.tool_calls.result_bytes IS 'Size of the result''s text in UTF-8 bytes, before it was cut; null where there is none.';
COMMENT ON COLUMN analytics.tool_calls.result_message_id IS 'Message of the same transcript that holds the result; null where there is none.';
COMMENT ON COLUMN analytics.tool_calls.result_block_order IS 'Position of the result within that message; null where there is none.';
COMMENT ON COLUMN analytics.tool_calls.started_at IS 'Timestamp of the message that holds the tool use: when its response began. Null where it has none.';
COMMENT ON COLUMN analytics.tool_calls.ended_at IS 'Timestamp of the message that holds the result; null where there is none.';
COMMENT ON COLUMN analytics.tool_calls.duration_ms IS 'Milliseconds from started_at to ended_at: also the rest of the response, and the wait for a permission. Null where one is missing.';
COMMENT ON COLUMN analytics.tool_calls.project IS 'Working directory of the first line that names one; null where none does.';
COMMENT ON COLUMN analytics.tool_calls.is_subagent IS 'Whether the whole transcript is a sub-agent''s.';
COMMENT ON COLUMN analytics.tool_calls.is_sidechain IS 'Whether a sub-agent called the tool, also within a main transcript.';
COMMENT ON COLUMN analytics.tool_calls.tool_kind IS 'What the tool does, whatever its agent calls it: read, edit, shell, search, web, agent, skill, mcp, plan, question, other. Null for blocks that call no tool.';
--> statement-breakpoint
CREATE VIEW analytics.tool_usage AS
SELECT
  r.workspace_id, (r.first_bucket_start AT TIME ZONE 'UTC')::date AS day, s.project, r.tool_name, r.mcp_server, r.is_subagent,
  sum(r.calls)::bigint AS calls, sum(r.results)::bigint AS results, sum(r.errors)::bigint AS errors,
  sum(r.denied)::bigint AS denied, sum(r.input_bytes)::bigint AS input_bytes,
  sum(r.output_bytes)::bigint AS output_bytes, sum(r.duration_ms)::bigint AS duration_ms,
  sum(r.timed_calls)::bigint AS timed_calls, r.tool_kind
FROM recount.tool_day_rollup AS r
LEFT JOIN recount.sessions AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
GROUP BY r.workspace_id, day, s.project, r.tool_name, r.tool_kind, r.mcp_server, r.is_subagent;
COMMENT ON VIEW analytics.tool_usage IS 'Tool calls of each UTC day, project and tool, every call counted once however many transcripts hold a copy. Read from roll-ups.';
COMMENT ON COLUMN analytics.tool_usage.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.tool_usage.day IS 'UTC day; null for calls without a timestamp.';
COMMENT ON COLUMN analytics.tool_usage.project IS 'Working directory of the session''s first line that names one; null where none does.';
COMMENT ON COLUMN analytics.tool_usage.tool_name IS 'Name of the tool.';
COMMENT ON COLUMN analytics.tool_usage.mcp_server IS 'Server of an MCP tool; null for others.';
COMMENT ON COLUMN analytics.tool_usage.is_subagent IS 'Whether a sub-agent did it, also within the transcript of its parent.';
COMMENT ON COLUMN analytics.tool_usage.calls IS 'Tool calls.';
COMMENT ON COLUMN analytics.tool_usage.results IS 'Calls that have a result.';
COMMENT ON COLUMN analytics.tool_usage.errors IS 'Calls whose result tells of a failure.';
COMMENT ON COLUMN analytics.tool_usage.denied IS 'Calls that were refused.';
COMMENT ON COLUMN analytics.tool_usage.input_bytes IS 'Size of the input as JSON.';
COMMENT ON COLUMN analytics.tool_usage.output_bytes IS 'Size of the result''s text; null without a result.';
COMMENT ON COLUMN analytics.tool_usage.duration_ms IS 'Milliseconds of all timed_calls together.';
COMMENT ON COLUMN analytics.tool_usage.timed_calls IS 'Calls that duration_ms adds up.';
COMMENT ON COLUMN analytics.tool_usage.tool_kind IS 'What the tool does, whatever its agent calls it: read, edit, shell, search, web, agent, skill, mcp, plan, question, other. Null for blocks that call no tool.';
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
  created_at, ingested_at,
  api_response_count, unfinalised_count, unpriced_count, web_search_count, prompt_count, turn_count, active_ms,
  reported_cost_usd, uploader_key_id, format, is_stream, machine, person
FROM recount.transcripts;
COMMENT ON VIEW analytics.transcripts IS 'One row for each uploaded file, in whatever state. Only those with is_primary add up to the figures of sessions: diverged ones repeat much of what the primary one holds.';
COMMENT ON COLUMN analytics.transcripts.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN analytics.transcripts.transcript_id IS 'ULID, ascending with the time of the upload.';
COMMENT ON COLUMN analytics.transcripts.session_id IS 'Session that the transcript is of; a session has several transcripts where it was uploaded as it grew, or diverged.';
COMMENT ON COLUMN analytics.transcripts.agent IS 'Agent that wrote the transcript, e.g. claude-code.';
COMMENT ON COLUMN analytics.transcripts.path IS 'Original path as the uploader gave it; null where none was given.';
COMMENT ON COLUMN analytics.transcripts.is_subagent IS 'Whether the whole transcript is a sub-agent''s.';
COMMENT ON COLUMN analytics.transcripts.parent_session_id IS 'Session that started the sub-agent; null for main sessions and where it is not known.';
COMMENT ON COLUMN analytics.transcripts.agent_id IS 'Id of the sub-agent; null for main sessions and where it is not known.';
COMMENT ON COLUMN analytics.transcripts.sha256 IS 'SHA-256 of the raw bytes, hex.';
COMMENT ON COLUMN analytics.transcripts.size_bytes IS 'Size of the raw bytes, decompressed.';
COMMENT ON COLUMN analytics.transcripts.status IS 'queued: waits for a worker. processing: a worker has it. ingested: its rows are there. superseded: its bytes are the beginning of a longer transcript of the session, whose rows contain its own. failed: given up, see failure_reason.';
COMMENT ON COLUMN analytics.transcripts.is_primary IS 'Whether the session''s figures are this transcript''s: the longest ingested one.';
COMMENT ON COLUMN analytics.transcripts.is_diverged IS 'Whether it is ingested beside the primary transcript of its session, neither of them being the beginning of the other.';
COMMENT ON COLUMN analytics.transcripts.superseded_by IS 'A longer transcript that contains this one, itself perhaps superseded by now; null unless superseded.';
COMMENT ON COLUMN analytics.transcripts.attempt_count IS 'Attempts at ingesting it since it was last enqueued.';
COMMENT ON COLUMN analytics.transcripts.failure_reason IS 'Why the last attempt failed, without any transcript text; null where it did not.';
COMMENT ON COLUMN analytics.transcripts.parser_version IS 'Version of the parser that made the rows; null until ingested.';
COMMENT ON COLUMN analytics.transcripts.price_version IS 'Version of the price table that made the costs; null until ingested.';
COMMENT ON COLUMN analytics.transcripts.line_count IS 'Lines in the file, empty ones included.';
COMMENT ON COLUMN analytics.transcripts.content_block_count IS 'Content blocks of all messages.';
COMMENT ON COLUMN analytics.transcripts.error_count IS 'Issues that lost something of a line.';
COMMENT ON COLUMN analytics.transcripts.warning_count IS 'Issues that were repaired or merely noted.';
COMMENT ON COLUMN analytics.transcripts.issue_counts IS 'Occurrences of every issue by its code, also of those beyond the first that ingest_issues keeps.';
COMMENT ON COLUMN analytics.transcripts.total_messages IS 'Messages of all types.';
COMMENT ON COLUMN analytics.transcripts.user_messages IS 'Messages of type user, tool results included.';
COMMENT ON COLUMN analytics.transcripts.assistant_messages IS 'Messages of type assistant: one for each API response.';
COMMENT ON COLUMN analytics.transcripts.tool_use_count IS 'Content blocks of type tool_use.';
COMMENT ON COLUMN analytics.transcripts.thinking_blocks IS 'Content blocks of type thinking or redacted_thinking.';
COMMENT ON COLUMN analytics.transcripts.subagent_count IS 'Tool uses that start a sub-agent.';
COMMENT ON COLUMN analytics.transcripts.tokens_in IS 'Input tokens, without cached ones.';
COMMENT ON COLUMN analytics.transcripts.tokens_out IS 'Output tokens.';
COMMENT ON COLUMN analytics.transcripts.cache_read IS 'Tokens read from the prompt cache.';
COMMENT ON COLUMN analytics.transcripts.cache_write IS 'Tokens written to the prompt cache.';
COMMENT ON COLUMN analytics.transcripts.cost_estimate_usd IS 'US dollars of the API responses that have a price: 0 without any response, null where none of them has one, and until a transcript is ingested. unpriced_count says how many it lacks.';
COMMENT ON COLUMN analytics.transcripts.duration_ms IS 'Milliseconds from first_timestamp to last_timestamp, pauses included; 0 where there are none.';
COMMENT ON COLUMN analytics.transcripts.initial_prompt IS 'First real user text, 1,000 characters at most, then "..."; null where there is none.';
COMMENT ON COLUMN analytics.transcripts.project IS 'Working directory of the first line that names one; null where none does.';
COMMENT ON COLUMN analytics.transcripts.git_branch IS 'Git branch of the first line that names one; null where none does.';
COMMENT ON COLUMN analytics.transcripts.agent_version IS 'Version of the agent of the first line that names one; null where none does.';
COMMENT ON COLUMN analytics.transcripts.title IS 'Set by the user, else generated, else the first summary; null where there is none.';
COMMENT ON COLUMN analytics.transcripts.models IS 'Distinct models in order of appearance, without <synthetic>.';
COMMENT ON COLUMN analytics.transcripts.first_timestamp IS 'Earliest timestamp of any line; null where no line has one.';
COMMENT ON COLUMN analytics.transcripts.last_timestamp IS 'Latest timestamp of any line; null where no line has one.';
COMMENT ON COLUMN analytics.transcripts.metadata IS 'What else the lines tell of the session: entrypoint, permissionMode, pullRequests, forkedFromSessionId, lineTypes (lines by type), ….';
COMMENT ON COLUMN analytics.transcripts.created_at IS 'When it was uploaded.';
COMMENT ON COLUMN analytics.transcripts.ingested_at IS 'When its rows were written; null where it has none. It stays while the transcript waits to be parsed anew.';
COMMENT ON COLUMN analytics.transcripts.api_response_count IS 'API responses, each once: messages, those that progress lines tell of, advisors. Tokens and cost are theirs.';
COMMENT ON COLUMN analytics.transcripts.unfinalised_count IS 'API responses whose output count is a placeholder.';
COMMENT ON COLUMN analytics.transcripts.unpriced_count IS 'API responses without a price, which cost_estimate_usd lacks.';
COMMENT ON COLUMN analytics.transcripts.web_search_count IS 'Web searches made by the provider.';
COMMENT ON COLUMN analytics.transcripts.prompt_count IS 'Prompts that a person gave in the main conversation.';
COMMENT ON COLUMN analytics.transcripts.turn_count IS 'Prompts that were answered by at least one API response.';
COMMENT ON COLUMN analytics.transcripts.active_ms IS 'Milliseconds between messages, pauses of more than five minutes left out.';
COMMENT ON COLUMN analytics.transcripts.reported_cost_usd IS 'US dollars that the agent itself reports for the session, to compare with; null where it does not.';
COMMENT ON COLUMN analytics.transcripts.uploader_key_id IS 'API key that brought these bytes first; operator: by direct access to the database; null: unknown.';
COMMENT ON COLUMN analytics.transcripts.format IS 'Format of the agent''s transcripts that this one is of.';
COMMENT ON COLUMN analytics.transcripts.is_stream IS 'Whether it is the output of a run. A session takes its figures from the agent''s own file where it has one.';
COMMENT ON COLUMN analytics.transcripts.machine IS 'Machine that the transcript came from, as its uploader named it; null: unknown.';
COMMENT ON COLUMN analytics.transcripts.person IS 'Whose work it is: the person of the API key that brought the transcript, else whom the upload named; null: unknown.';
