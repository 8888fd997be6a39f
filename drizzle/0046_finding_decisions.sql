CREATE TABLE "recount"."addressed_findings" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"kind" text NOT NULL,
	"since" date NOT NULL,
	"note" text,
	"marked_by" text NOT NULL,
	"marked_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "addressed_findings_workspace_id_kind_pk" PRIMARY KEY("workspace_id","kind")
);
--> statement-breakpoint
CREATE TABLE "recount"."finding_dismissals" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"kind" text NOT NULL,
	"subject_type" text NOT NULL,
	"subject" text NOT NULL,
	"reason" text,
	"dismissed_by" text NOT NULL,
	"dismissed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "finding_dismissals_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "finding_dismissals_subject" UNIQUE("workspace_id","kind","subject_type","subject")
);
--> statement-breakpoint
COMMENT ON TABLE "recount"."finding_dismissals" IS 'Findings that people have dismissed; also kept in the raw store, in the workspace''s record.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."finding_dismissals"."workspace_id" IS 'Workspace of the findings.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."finding_dismissals"."id" IS 'ULID of the dismissal.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."finding_dismissals"."kind" IS 'Kind of the findings, as in recount.findings, or large-result, or expensive-session.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."finding_dismissals"."subject_type" IS 'One session, or all sessions of a repository or person, or all calls of a tool.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."finding_dismissals"."subject" IS 'Id of the session, or name of the repository, person or tool.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."finding_dismissals"."reason" IS 'Text that someone wrote about it; null if none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."finding_dismissals"."dismissed_by" IS 'Who did it, as the audit log has it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."finding_dismissals"."dismissed_at" IS 'Time of the dismissal.';
--> statement-breakpoint
COMMENT ON TABLE "recount"."addressed_findings" IS 'Kinds of findings that a workspace has done something about; also kept in the raw store, in the workspace''s record.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."addressed_findings"."workspace_id" IS 'Workspace of the findings.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."addressed_findings"."kind" IS 'Kind of the findings, as in recount.findings.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."addressed_findings"."since" IS 'The first day afterwards, in the time zone of each report.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."addressed_findings"."note" IS 'Text about what was done; null if none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."addressed_findings"."marked_by" IS 'Who marked it, as the audit log has it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."addressed_findings"."marked_at" IS 'Time of the mark.';
