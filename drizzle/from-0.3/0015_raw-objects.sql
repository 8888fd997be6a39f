CREATE TABLE "recount"."raw_object_deletions" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"object_key" text NOT NULL,
	"recorded_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "raw_object_deletions_pk" PRIMARY KEY("workspace_id","object_key")
);
--> statement-breakpoint
ALTER TABLE "recount"."live_streams" ADD COLUMN "sha256" text;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "raw_damaged_at" timestamp (3) with time zone;
--> statement-breakpoint
COMMENT ON TABLE recount.raw_object_deletions IS 'Raw objects that are to be deleted: recorded in the transaction after which nothing names them, forgotten once they are gone.';
COMMENT ON COLUMN recount.raw_object_deletions.workspace_id IS 'Whose objects they are; it may be gone itself.';
COMMENT ON COLUMN recount.raw_object_deletions.object_key IS 'A key in the raw store; with a slash at its end, all keys that begin with it.';
COMMENT ON COLUMN recount.raw_object_deletions.recorded_at IS 'When the deletion was asked for.';
COMMENT ON COLUMN recount.live_streams.sha256 IS 'SHA-256 (hex) of the object; null where there is none, or where it was stored before checksums were kept.';
COMMENT ON COLUMN recount.transcripts.raw_damaged_at IS 'When the doctor found the raw object lost or damaged; null again once the same bytes were uploaded again.';
