CREATE TABLE "recount"."search_documents" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"message_id" text COLLATE "C" NOT NULL,
	"block_order" integer NOT NULL,
	"kind" text NOT NULL,
	"timestamp" timestamp (3) with time zone,
	"is_subagent" boolean NOT NULL,
	"line_number" integer NOT NULL,
	"byte_offset" bigint NOT NULL,
	"copy_key" bigint NOT NULL,
	"is_cut" boolean NOT NULL,
	"text" text NOT NULL,
	"words" "tsvector" NOT NULL,
	"grams" smallint[] NOT NULL,
	CONSTRAINT "search_documents_pk" PRIMARY KEY("workspace_id","session_id","message_id","block_order")
);
--> statement-breakpoint
CREATE TABLE "recount"."search_index_state" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"transcript_id" text COLLATE "C" NOT NULL,
	"parser_version" text,
	"after_message_id" text COLLATE "C" DEFAULT '' NOT NULL,
	"after_block_order" integer DEFAULT -1 NOT NULL,
	"failure_count" integer DEFAULT 0 NOT NULL,
	"waiting_since" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"next_attempt_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"indexed_at" timestamp (3) with time zone,
	CONSTRAINT "search_index_state_pk" PRIMARY KEY("workspace_id","session_id")
);
--> statement-breakpoint
CREATE INDEX "search_documents_content" ON "recount"."search_documents" USING gin ("words","grams");--> statement-breakpoint
CREATE INDEX "search_index_state_waiting" ON "recount"."search_index_state" USING btree ("next_attempt_at") WHERE indexed_at IS NULL;--> statement-breakpoint
-- Hand-written from here on: comments, compression, and the sessions that are there already, which wait to be indexed.
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

COMMENT ON TABLE recount.search_index_state IS 'How far the primary transcript of each session is indexed for search.';
COMMENT ON COLUMN recount.search_index_state.workspace_id IS 'Workspace that the row belongs to.';
COMMENT ON COLUMN recount.search_index_state.session_id IS 'Session, also one without any text.';
COMMENT ON COLUMN recount.search_index_state.transcript_id IS 'Primary transcript that is indexed.';
COMMENT ON COLUMN recount.search_index_state.parser_version IS 'Version of the parser that made its rows: those of another one may differ.';
COMMENT ON COLUMN recount.search_index_state.after_message_id IS 'Message of the last block that was looked at; empty before the first.';
COMMENT ON COLUMN recount.search_index_state.after_block_order IS 'Position of that block within its message.';
COMMENT ON COLUMN recount.search_index_state.failure_count IS 'Failed attempts since the session began to wait.';
COMMENT ON COLUMN recount.search_index_state.waiting_since IS 'When the session was last ingested, or changed its primary transcript.';
COMMENT ON COLUMN recount.search_index_state.next_attempt_at IS 'When a worker may take it up, while it waits.';
COMMENT ON COLUMN recount.search_index_state.indexed_at IS 'When all of it was indexed; null while it waits.';
--> statement-breakpoint
DO $$
BEGIN
  ALTER TABLE recount.search_documents ALTER COLUMN "text" SET COMPRESSION lz4, ALTER COLUMN words SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'This server is built without lz4: large columns keep its default compression';
END
$$;
--> statement-breakpoint
INSERT INTO recount.search_index_state (workspace_id, session_id, transcript_id, parser_version)
SELECT s.workspace_id, s.session_id, s.primary_transcript_id, t.parser_version
FROM recount.sessions AS s
JOIN recount.transcripts AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id;
