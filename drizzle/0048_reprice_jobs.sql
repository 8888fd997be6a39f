ALTER TABLE "recount"."maintenance_checks" ADD COLUMN "task" jsonb;--> statement-breakpoint
COMMENT ON TABLE "recount"."maintenance_checks" IS 'Checks of the doctor and of figures, and runs that reprice usage, that a request started: the last of each kind and workspace.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."maintenance_checks"."kind" IS 'doctor, verify or reprice.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."maintenance_checks"."state" IS 'queued, running, done, failed, interrupted, cancelled; a check that runs and was not seen for 30 seconds was interrupted.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."maintenance_checks"."task" IS 'For reprice, the models, who runs it, and the sums before; null for checks.';
