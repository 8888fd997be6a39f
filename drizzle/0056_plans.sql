ALTER TABLE "recount"."workspace_settings" ADD COLUMN "plans" jsonb DEFAULT '[]'::jsonb NOT NULL;
--> statement-breakpoint
COMMENT ON COLUMN "recount"."workspace_settings"."plans" IS 'Subscriptions that use is compared with: a list of objects with name, person (null for the workspace), agent (null for all), monthly_usd of a seat, and seats.';
