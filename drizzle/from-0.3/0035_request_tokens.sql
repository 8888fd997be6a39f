ALTER TABLE "recount"."usage_entries" ADD COLUMN "request_tokens" jsonb;--> statement-breakpoint
ALTER TABLE "recount"."usage_ledger" ADD COLUMN "request_tokens" jsonb;--> statement-breakpoint
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['usage_entries', 'usage_ledger'] LOOP
    EXECUTE format('COMMENT ON COLUMN recount.%I.request_tokens IS %L', name,
      'Tokens of each request if the response took several (input, output, cache reads, all cache writes, 5-minute ones, 1-hour ones): each is priced by its own size; else null.');
    EXECUTE format('COMMENT ON COLUMN recount.%I.source IS %L', name,
      'message, progress (a progress line of a sub-agent), or a request billed apart from the response that contains it: advisor (another model that it asked), fallback (an attempt that another model''s answer replaced), compaction (a summary of the context by the API), paused (a part before the answer was resumed), unknown (a kind that recount does not know).');
  END LOOP;
END $$;
