CREATE TABLE "recount"."ingest_jobs" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"transcript_id" text COLLATE "C" NOT NULL,
	"size_bytes" bigint NOT NULL,
	"priority" integer DEFAULT 0 NOT NULL,
	"is_alone" boolean NOT NULL,
	"taken_at" timestamp (3) with time zone,
	"not_before" timestamp (3) with time zone,
	"outage_count" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "ingest_jobs_pk" PRIMARY KEY("workspace_id","transcript_id")
);
--> statement-breakpoint
CREATE INDEX "ingest_jobs_order" ON "recount"."ingest_jobs" USING btree ("is_alone","priority" DESC NULLS FIRST,"created_at","transcript_id");
--> statement-breakpoint
COMMENT ON TABLE "recount"."ingest_jobs" IS 'Transcripts to be ingested: a row is inserted with its transcript''s, and deleted in the transaction that ingests it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."ingest_jobs"."workspace_id" IS 'The workspace of the transcript.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."ingest_jobs"."transcript_id" IS 'The transcript to ingest.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."ingest_jobs"."size_bytes" IS 'Its size, by which batches are chosen.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."ingest_jobs"."priority" IS 'Higher ones go first.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."ingest_jobs"."is_alone" IS 'Not for a batch, because the transcript is large or a stream, or was tried before.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."ingest_jobs"."taken_at" IS 'The time that a worker took it; null if none has it. Another may take it five seconds later, unless the row is locked.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."ingest_jobs"."not_before" IS 'The end of its pause after a failed attempt or an outage.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."ingest_jobs"."outage_count" IS 'Outages that ended an attempt while others continued.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."ingest_jobs"."created_at" IS 'The time that it was enqueued.';
--> statement-breakpoint
-- pg-boss had the jobs before. Its attempts are not comparable, so everything that waits begins again.
INSERT INTO "recount"."ingest_jobs" ("workspace_id", "transcript_id", "size_bytes", "is_alone", "created_at")
SELECT "workspace_id", "id", "size_bytes", "is_stream" OR "attempt_count" > 0 OR "ingested_at" IS NOT NULL OR "size_bytes" > 33554432, "created_at"
FROM "recount"."transcripts" WHERE "status" IN ('queued', 'processing');
--> statement-breakpoint
UPDATE "recount"."transcripts" SET "attempt_count" = 0 WHERE "status" IN ('queued', 'processing') AND "attempt_count" > 0;
--> statement-breakpoint
-- Another program may have queues of its own in the same schema, which stay.
DO $$
DECLARE
  has_others boolean;
BEGIN
  IF to_regclass('pgboss.queue') IS NULL THEN RETURN; END IF;
  EXECUTE $q$SELECT EXISTS (SELECT FROM pgboss.queue WHERE name NOT LIKE 'ingest-transcript%' AND name NOT LIKE '\_\_pgboss\_\_%')$q$
    INTO has_others;
  IF has_others THEN
    EXECUTE $q$SELECT pgboss.delete_queue(name) FROM pgboss.queue WHERE name LIKE 'ingest-transcript%'$q$;
  ELSE
    DROP SCHEMA pgboss CASCADE;
  END IF;
END $$;
