ALTER TABLE "recount"."transcripts" ADD COLUMN "grown_from" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "tail_sha256" text;
--> statement-breakpoint
COMMENT ON COLUMN recount.transcripts.grown_from IS 'Transcript of the session whose bytes are the beginning of this one''s, as seen when this one was received; null where there was none, or where it is small.';
COMMENT ON COLUMN recount.transcripts.tail_sha256 IS 'SHA-256 (hex) of the bytes that follow those of grown_from.';
