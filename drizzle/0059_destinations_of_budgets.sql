ALTER TABLE "recount"."budgets" ADD COLUMN "destination_ids" text[];--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."destination_ids" IS 'Ids of the destinations that get its warnings; null for all.';
