CREATE TABLE "recount"."attachments" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"agent" text NOT NULL,
	"path" text COLLATE "C" NOT NULL,
	"kind" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	"sha256" text NOT NULL,
	"stored_sha256" text,
	"object_key" text NOT NULL,
	"modified_at" timestamp (3) with time zone NOT NULL,
	"uploader_key_id" text COLLATE "C",
	"machine" text,
	"person" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "attachments_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "attachments_object_key_unique" UNIQUE("workspace_id","object_key")
);
--> statement-breakpoint
ALTER TABLE "recount"."attachments" ADD CONSTRAINT "attachments_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "attachments_session" ON "recount"."attachments" USING btree ("workspace_id","session_id","path");--> statement-breakpoint
CREATE INDEX "attachments_modified_at" ON "recount"."attachments" USING btree ("workspace_id","modified_at");
--> statement-breakpoint
COMMENT ON TABLE recount.attachments IS 'Files that agents keep beside transcripts, such as results too large for them.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.workspace_id IS 'Whose session it is.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.id IS 'ULID.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.session_id IS 'Session in whose folder the file lies; it need not have a transcript.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.agent IS 'Agent that keeps it.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.path IS 'Path in the sessions folder.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.kind IS 'tool_result, subagent or workflow.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.size_bytes IS 'Size of the file.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.sha256 IS 'SHA-256 of what was uploaded, hex.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.stored_sha256 IS 'SHA-256 of the raw object, if that is a redacted copy; else null.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.object_key IS 'Key of the raw object.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.modified_at IS 'When the file was written, never later than it was received.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.uploader_key_id IS 'API key that brought it, or operator.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.machine IS 'Machine that it came from, if that is known.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.person IS 'Whose work it is, if that is known.';
--> statement-breakpoint
COMMENT ON COLUMN recount.attachments.created_at IS 'When it was received.';
