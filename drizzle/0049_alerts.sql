CREATE TABLE "recount"."alert_deliveries" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"destination_id" text COLLATE "C" NOT NULL,
	"event" text NOT NULL,
	"payload" jsonb NOT NULL,
	"unique_key" text NOT NULL,
	"state" text DEFAULT 'waiting' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"failure_reason" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "alert_deliveries_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "alert_deliveries_unique_key" UNIQUE("workspace_id","destination_id","unique_key")
);
--> statement-breakpoint
CREATE TABLE "recount"."alert_destinations" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"hint" text NOT NULL,
	"secret" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "alert_destinations_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "alert_destinations_name_unique" UNIQUE("workspace_id","name")
);
--> statement-breakpoint
CREATE INDEX "alert_deliveries_waiting" ON "recount"."alert_deliveries" USING btree ("workspace_id","state","next_attempt_at");--> statement-breakpoint
COMMENT ON TABLE "recount"."alert_destinations" IS 'Places that warnings are sent to.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_destinations"."workspace_id" IS 'Workspace whose warnings are sent.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_destinations"."id" IS 'ULID.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_destinations"."name" IS 'Name that people gave it, unique in the workspace.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_destinations"."kind" IS 'slack, webhook or email.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_destinations"."hint" IS 'Host of the URL, or addresses of the e-mail.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_destinations"."secret" IS 'URL and signing secret, encrypted with RECOUNT_SECRET_KEY; null for e-mail.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_destinations"."created_at" IS 'Time of its creation.';
--> statement-breakpoint
COMMENT ON TABLE "recount"."alert_deliveries" IS 'Messages to destinations: those that wait, and for 30 days those that were sent or given up.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."workspace_id" IS 'Workspace of the destination.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."id" IS 'ULID; receivers tell repeated deliveries by it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."destination_id" IS 'Destination that gets it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."event" IS 'budget.crossed or test.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."payload" IS 'Facts that the message tells.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."unique_key" IS 'Two messages with the same key to one destination are one.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."state" IS 'waiting, sent, or failed (given up).';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."attempts" IS 'Attempts so far.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."next_attempt_at" IS 'Time before which it is not tried.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."failure_reason" IS 'Reason that the latest attempt failed; null if none did.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."created_at" IS 'Time of its cause.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."alert_deliveries"."ended_at" IS 'Time at which it was sent or given up; null while it waits.';
