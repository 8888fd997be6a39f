-- Lines that are stored already get an empty one, as theirs is unknown.
ALTER TABLE "recount"."bill_rows" ADD COLUMN "scope" text DEFAULT '';--> statement-breakpoint
ALTER TABLE "recount"."bill_rows" ALTER COLUMN "scope" DROP DEFAULT;--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."scope" IS 'Ids of the workspace, project, user or key that the line is of; null if its report has a line for all of them; empty if it is unknown, because the line was imported before it was stored.';
