ALTER TABLE "recount"."transcript_checkpoints" ADD COLUMN "derived_state" "bytea";
--> statement-breakpoint
COMMENT ON COLUMN "recount"."transcript_checkpoints"."derived_state" IS 'What was derived from the transcript up to the checkpoint, compressed with zstd, so that the derivation can continue; null if it could not be kept.';
