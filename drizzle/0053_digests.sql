CREATE TABLE "recount"."digests" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"name" text NOT NULL,
	"period" text NOT NULL,
	"time_zone" text NOT NULL,
	"filters" jsonb NOT NULL,
	"destination_ids" text[],
	"sent_period" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "digests_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "digests_name_unique" UNIQUE("workspace_id","name")
);
--> statement-breakpoint
COMMENT ON TABLE "recount"."digests" IS 'Reports that are sent when a week or month is over.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."digests"."workspace_id" IS 'Workspace whose use is reported.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."digests"."id" IS 'ULID.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."digests"."name" IS 'Name that people gave it, unique in the workspace.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."digests"."period" IS 'week (from Monday) or month.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."digests"."time_zone" IS 'IANA time zone in which periods begin.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."digests"."filters" IS 'Filters of reports, as a request has them.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."digests"."destination_ids" IS 'Destinations that get it; null for all.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."digests"."sent_period" IS 'First day of the latest period that was sent; null if none was.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."digests"."created_at" IS 'Time of its creation.';
