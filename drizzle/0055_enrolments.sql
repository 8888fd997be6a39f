ALTER TABLE "recount"."api_keys" ADD COLUMN "machine_limit" integer;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "enrolled_by" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "machine_id" text;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD CONSTRAINT "api_keys_machine_unique" UNIQUE("workspace_id","enrolled_by","machine_id");
--> statement-breakpoint
COMMENT ON COLUMN "recount"."api_keys"."machine_limit" IS 'For an enrolment key: machines that may exchange it for a key of their own.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."api_keys"."enrolled_by" IS 'For a machine''s own key: the enrolment key that it was exchanged for.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."api_keys"."machine_id" IS 'For a machine''s own key: a hash of its ids, by which it gets the same key id again.';
