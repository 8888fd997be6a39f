CREATE TABLE "recount"."bill_rows" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"vendor" text NOT NULL,
	"row_key" text COLLATE "C" NOT NULL,
	"kind" text NOT NULL,
	"day" text COLLATE "C" NOT NULL,
	"model" text,
	"line_item" text,
	"service_tier" text,
	"amount_usd" numeric(20, 10),
	"tokens_in" bigint,
	"tokens_out" bigint,
	"cache_read" bigint,
	"cache_write" bigint,
	"imported_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "bill_rows_pk" PRIMARY KEY("workspace_id","vendor","row_key")
);
--> statement-breakpoint
CREATE INDEX "bill_rows_day" ON "recount"."bill_rows" USING btree ("workspace_id","day");--> statement-breakpoint
COMMENT ON TABLE "recount"."bill_rows" IS 'Lines of vendors'' usage and cost reports; compared with the ledger, and never part of it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."workspace_id" IS 'Workspace that imported it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."vendor" IS 'Vendor that wrote the report.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."row_key" IS 'Digest of what identifies the line; a later report replaces it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."kind" IS 'cost: an amount; usage: tokens without an amount.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."day" IS 'Day in UTC.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."model" IS 'Model, as the vendor names it; null for other line items.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."line_item" IS 'The vendor''s own name for what it bills.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."service_tier" IS 'Service tier; null if the report does not say.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."amount_usd" IS 'Amount; negative for credits and discounts, null for usage.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."tokens_in" IS 'Input without cache; null if the report has no tokens.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."tokens_out" IS 'Output; null if the report has no tokens.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."cache_read" IS 'Input read from the cache; null if the report has no tokens.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."cache_write" IS 'Input written to the cache; null if the report has no tokens.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."bill_rows"."imported_at" IS 'When it was last imported.';
