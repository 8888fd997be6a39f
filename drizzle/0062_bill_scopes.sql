ALTER TABLE "recount"."bill_rows" ADD COLUMN "scope" text;--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."scope" IS 'Ids of the workspace, project, user or key that the line is of; null if its report has a line for all of them.';
