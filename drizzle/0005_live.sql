CREATE TABLE "recount"."live_chunks" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"stream_id" text COLLATE "C" NOT NULL,
	"byte_offset" bigint NOT NULL,
	"bytes" "bytea" NOT NULL,
	"received_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "live_chunks_pk" PRIMARY KEY("workspace_id","stream_id","byte_offset")
);
--> statement-breakpoint
CREATE TABLE "recount"."live_events" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"id" bigint NOT NULL,
	"stream_id" text COLLATE "C" NOT NULL,
	"name" text NOT NULL,
	"data" text NOT NULL,
	CONSTRAINT "live_events_pk" PRIMARY KEY("workspace_id","session_id","id")
);
--> statement-breakpoint
CREATE TABLE "recount"."live_sessions" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"last_event_id" bigint DEFAULT 0 NOT NULL,
	"checkpoints" text[] DEFAULT '{}' NOT NULL,
	"stream_count" integer DEFAULT 0 NOT NULL,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"cost_usd" numeric(20, 10),
	"model" text,
	CONSTRAINT "live_sessions_pk" PRIMARY KEY("workspace_id","session_id")
);
--> statement-breakpoint
CREATE TABLE "recount"."live_streams" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"agent" text NOT NULL,
	"source_format" text,
	"path" text,
	"state" text DEFAULT 'open' NOT NULL,
	"writer_id" text NOT NULL,
	"stored_bytes" bigint DEFAULT 0 NOT NULL,
	"line_count" integer DEFAULT 0 NOT NULL,
	"warning_count" integer DEFAULT 0 NOT NULL,
	"agent_session_id" text,
	"model" text,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"cost_usd" numeric(20, 10),
	"stop_reason" text,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_received_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"success" boolean,
	"aborted" boolean,
	"error" text,
	"transcript_id" text COLLATE "C",
	"object_key" text,
	"arrivals" jsonb,
	"has_events" boolean DEFAULT true NOT NULL,
	CONSTRAINT "live_streams_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "format" text DEFAULT 'claude-code' NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."live_sessions" ADD CONSTRAINT "live_sessions_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "recount"."live_streams" ADD CONSTRAINT "live_streams_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "live_streams_session" ON "recount"."live_streams" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "live_streams_transcript" ON "recount"."live_streams" USING btree ("workspace_id","transcript_id");--> statement-breakpoint
CREATE INDEX "live_streams_unfinished" ON "recount"."live_streams" USING btree ("workspace_id","last_received_at") WHERE state <> 'closed';--> statement-breakpoint
CREATE INDEX "live_streams_prunable" ON "recount"."live_streams" USING btree ("ended_at") WHERE has_events;--> statement-breakpoint
-- Hand-written from here on: comments.
COMMENT ON COLUMN recount.transcripts.format IS 'claude-code: a session file. claude-stream-json: the output of a run; a session takes its figures from a session file where it has one.';

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

COMMENT ON TABLE recount.live_streams IS 'One row for each run of an agent whose output came while it ran.';
COMMENT ON COLUMN recount.live_streams.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.live_streams.id IS 'ULID made by the client.';
COMMENT ON COLUMN recount.live_streams.session_id IS 'Session that the client named.';
COMMENT ON COLUMN recount.live_streams.agent IS 'claude-code, codex or amp.';
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

COMMENT ON TABLE recount.live_chunks IS 'Bytes of open streams as they came; deleted once the whole is in the raw store.';
COMMENT ON COLUMN recount.live_chunks.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.live_chunks.stream_id IS 'Stream that they are of.';
COMMENT ON COLUMN recount.live_chunks.byte_offset IS 'Where in the stream they begin.';
COMMENT ON COLUMN recount.live_chunks.bytes IS 'The bytes, which may end within a line.';
COMMENT ON COLUMN recount.live_chunks.received_at IS 'When the last of them came.';

COMMENT ON TABLE recount.live_events IS 'What the streams of a session tell, for those who follow it; pruned some time after the stream has ended.';
COMMENT ON COLUMN recount.live_events.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.live_events.session_id IS 'Session that is followed.';
COMMENT ON COLUMN recount.live_events.id IS 'Number of the event within its session, from 1, in the order of commits.';
COMMENT ON COLUMN recount.live_events.stream_id IS 'Stream that tells it.';
COMMENT ON COLUMN recount.live_events.name IS 'stream:init, stream:chunk, stream:tool, stream:prompt, stream:progress, stream:warning, stream:result or stream:end.';
COMMENT ON COLUMN recount.live_events.data IS 'JSON, as readers get it.';
