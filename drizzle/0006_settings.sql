CREATE TABLE "recount"."workspace_settings" (
	"workspace_id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"redaction" text DEFAULT 'off' NOT NULL,
	"rows_max_age_days" integer,
	"raw_max_age_days" integer,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "secret_counts" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "stored_sha256" text;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "rows_deleted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "raw_deleted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "recount"."workspace_settings" ADD CONSTRAINT "workspace_settings_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
COMMENT ON TABLE recount.workspace_settings IS 'What a workspace chose on secrets and retention; without a row, the defaults.';
--> statement-breakpoint
COMMENT ON COLUMN recount.workspace_settings.workspace_id IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN recount.workspace_settings.redaction IS 'off: secrets stay where they are. rows: rows are free of them, raw objects are not. rows-and-raw: redacted copies take the place of raw objects.';
--> statement-breakpoint
COMMENT ON COLUMN recount.workspace_settings.rows_max_age_days IS 'Days after the last activity of a session until its messages and texts are deleted; null: never.';
--> statement-breakpoint
COMMENT ON COLUMN recount.workspace_settings.raw_max_age_days IS 'Days after the last activity in a transcript until its raw object is deleted; null: never.';
--> statement-breakpoint
COMMENT ON COLUMN recount.workspace_settings.updated_at IS 'When a setting was changed last.';
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.secret_counts IS 'Secrets taken out of the rows, by the rule that found them.';
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.stored_sha256 IS 'SHA-256 of the raw object where that is a redacted copy, of as many bytes as were uploaded; else null.';
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.rows_deleted_at IS 'When retention deleted messages, content blocks and texts; figures, usage and tool calls stay.';
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.raw_deleted_at IS 'When retention deleted the raw object.';
