CREATE TABLE "recount"."maintenance_checks" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"kind" text NOT NULL,
	"run_id" text COLLATE "C" NOT NULL,
	"state" text NOT NULL,
	"is_fix" boolean NOT NULL,
	"actor" text NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"step" text NOT NULL,
	"done_count" bigint DEFAULT 0 NOT NULL,
	"total_count" bigint,
	"failure_reason" text,
	"report" jsonb,
	"report_at" timestamp (3) with time zone,
	"report_is_fix" boolean,
	CONSTRAINT "maintenance_checks_workspace_id_kind_pk" PRIMARY KEY("workspace_id","kind")
);
--> statement-breakpoint
COMMENT ON TABLE recount.maintenance_checks IS 'Checks of the doctor and of figures that a request started: the last of each kind and workspace.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.workspace_id IS 'Workspace that is looked at; empty: all of them.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.kind IS 'doctor or verify.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.run_id IS 'ULID of the run.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.state IS 'running, done, failed, interrupted; one that runs and was not seen for 30 seconds was interrupted.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.is_fix IS 'Whether it mends what it finds.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.actor IS 'Who started it, as in the audit log.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.started_at IS 'When it was started.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.seen_at IS 'When its process last noted that it goes on.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.ended_at IS 'When it ended; null while it runs.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.step IS 'What is looked at.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.done_count IS 'How much of the step is done.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.total_count IS 'How much there is to do in the step; null: not known.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.failure_reason IS 'Why it failed or was interrupted.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.report IS 'What the last run that was done found.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.report_at IS 'When that run ended.';
--> statement-breakpoint
COMMENT ON COLUMN recount.maintenance_checks.report_is_fix IS 'Whether that run mended what it found.';
