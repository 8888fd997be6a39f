CREATE TABLE "recount"."telemetry_records" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"agent" text NOT NULL,
	"record_key" text COLLATE "C" NOT NULL,
	"kind" text NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"request_id" text,
	"model" text,
	"purpose" text,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"reported_cost_usd" numeric(20, 10),
	"person" text,
	"machine" text,
	"received_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "telemetry_records_pk" PRIMARY KEY("workspace_id","agent","record_key")
);
--> statement-breakpoint
CREATE INDEX "telemetry_records_session" ON "recount"."telemetry_records" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "telemetry_records_time" ON "recount"."telemetry_records" USING btree ("workspace_id","timestamp");--> statement-breakpoint
COMMENT ON TABLE "recount"."telemetry_records" IS 'What agents say by OTLP about their API responses; compared with the ledger, and never part of it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."workspace_id" IS 'Workspace of the key that sent it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."agent" IS 'Agent that exported it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."record_key" IS 'Digest of what identifies the record; an export that is repeated adds nothing.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."kind" IS 'request: one API response; sum: a part of a session''s sums.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."session_id" IS 'Session, as the agent names it; of the main conversation if it does not name the sub-agent''s own.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."request_id" IS 'Id of the request or the response; null if the agent states none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."model" IS 'Model, as the agent names it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."purpose" IS 'What the agent made the request for, in its own word; null if it does not say.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."timestamp" IS 'When the response, or the part of the sum, ended.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."tokens_in" IS 'Input without cache; the four classes do not overlap.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."tokens_out" IS 'Output, reasoning included.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."cache_read" IS 'Input read from the cache.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."cache_write" IS 'Input written to the cache.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."reported_cost_usd" IS 'Cost as the agent states it; null if it states none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."person" IS 'Person of the key, or as the agent names it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."machine" IS 'Host name, as the agent names it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."telemetry_records"."received_at" IS 'When it was first received.';
