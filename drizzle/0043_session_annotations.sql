CREATE TABLE "recount"."session_annotations" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"given_title" text,
	"is_starred" boolean DEFAULT false NOT NULL,
	"tags" text[] DEFAULT '{}' NOT NULL,
	"note" text,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "session_annotations_workspace_id_session_id_pk" PRIMARY KEY("workspace_id","session_id")
);
--> statement-breakpoint
COMMENT ON TABLE "recount"."session_annotations" IS 'Names, stars, tags and notes that people give to sessions; also kept in the raw store.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_annotations"."given_title" IS 'Shown instead of the title that the agent states; null if not renamed.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_annotations"."tags" IS 'Each once, in alphabetical order.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_annotations"."workspace_id" IS 'Workspace of the session.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_annotations"."session_id" IS 'Session that has them.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_annotations"."is_starred" IS 'True if someone has starred the session.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_annotations"."note" IS 'Text that someone wrote about the session; null if none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."session_annotations"."updated_at" IS 'Time of the latest change.';
