ALTER TABLE "recount"."session_shares" ALTER COLUMN "session_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."session_shares" ADD COLUMN "view" jsonb;--> statement-breakpoint
ALTER TABLE "recount"."session_shares" ADD COLUMN "page_at" timestamp (3) with time zone;--> statement-breakpoint
COMMENT ON TABLE "recount"."session_shares" IS 'Links that show a session, or a view of figures, to anyone who has them.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_shares"."session_id" IS 'Session that is shown; null for a view.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_shares"."view" IS 'View of figures that is shown; null for a session.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_shares"."page_at" IS 'Time of the figures of a view; null for a session.';
