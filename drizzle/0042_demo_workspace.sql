ALTER TABLE "recount"."workspaces" ADD COLUMN "demo_ends_at" timestamp (3) with time zone;
--> statement-breakpoint
COMMENT ON COLUMN "recount"."workspaces"."demo_ends_at" IS 'For a demo, the moment that its generated transcripts end at; null for any other workspace.';