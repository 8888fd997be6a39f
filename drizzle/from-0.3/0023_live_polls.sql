ALTER TABLE "recount"."live_chunks" ADD COLUMN "polled_at" timestamp (3) with time zone;
--> statement-breakpoint
COMMENT ON COLUMN recount.live_chunks.polled_at IS 'When events that had waited were last told between these bytes and the next; null if none were.';
