ALTER TABLE "recount"."live_streams" ADD COLUMN "is_counted" boolean DEFAULT true NOT NULL;
--> statement-breakpoint
COMMENT ON COLUMN recount.live_streams.is_counted IS 'False where another stream of the session has all of its bytes, and counts in its place.';
