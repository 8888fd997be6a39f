CREATE TABLE "recount"."message_rollup" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"bucket_start" timestamp (3) with time zone,
	"model" text,
	"is_subagent" boolean NOT NULL,
	"messages" integer NOT NULL,
	"user_messages" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recount"."price_overrides" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"model" text NOT NULL,
	"starts_at" text DEFAULT '' NOT NULL,
	"rates" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "price_overrides_workspace_id_model_starts_at_pk" PRIMARY KEY("workspace_id","model","starts_at")
);
--> statement-breakpoint
CREATE TABLE "recount"."session_events" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"transcript_id" text COLLATE "C" NOT NULL,
	"event_number" integer NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"event_key" text COLLATE "C" NOT NULL,
	"kind" text NOT NULL,
	"timestamp" timestamp (3) with time zone,
	"is_subagent" boolean NOT NULL,
	"name" text,
	"details" jsonb NOT NULL,
	"line_number" integer NOT NULL,
	CONSTRAINT "session_events_pk" PRIMARY KEY("workspace_id","transcript_id","event_number")
);
--> statement-breakpoint
CREATE TABLE "recount"."tool_calls" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"transcript_id" text COLLATE "C" NOT NULL,
	"call_number" integer NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"call_key" text COLLATE "C" NOT NULL,
	"response_key" text COLLATE "C",
	"message_id" text COLLATE "C" NOT NULL,
	"is_own" boolean DEFAULT true NOT NULL,
	"tool_name" text NOT NULL,
	"mcp_server" text,
	"program" text,
	"file_path" text,
	"subagent_type" text,
	"subagent_id" text,
	"skill_name" text,
	"model" text,
	"timestamp" timestamp (3) with time zone,
	"is_subagent" boolean NOT NULL,
	"duration_ms" bigint,
	"is_error" boolean,
	"is_denied" boolean NOT NULL,
	"input_bytes" bigint NOT NULL,
	"output_bytes" bigint,
	"line_number" integer NOT NULL,
	CONSTRAINT "tool_calls_pk" PRIMARY KEY("workspace_id","transcript_id","call_number")
);
--> statement-breakpoint
CREATE TABLE "recount"."tool_rollup" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"bucket_start" timestamp (3) with time zone,
	"model" text,
	"is_subagent" boolean NOT NULL,
	"tool_name" text NOT NULL,
	"mcp_server" text,
	"calls" integer NOT NULL,
	"results" integer NOT NULL,
	"errors" integer NOT NULL,
	"denied" integer NOT NULL,
	"input_bytes" bigint DEFAULT 0 NOT NULL,
	"output_bytes" bigint DEFAULT 0 NOT NULL,
	"duration_ms" bigint DEFAULT 0 NOT NULL,
	"timed_calls" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recount"."usage_entries" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"transcript_id" text COLLATE "C" NOT NULL,
	"message_id" text COLLATE "C",
	"source" text NOT NULL,
	"timestamp" timestamp (3) with time zone,
	"is_subagent" boolean NOT NULL,
	"agent_id" text,
	"git_branch" text,
	"agent_version" text,
	"entry_number" integer NOT NULL,
	"agent" text NOT NULL,
	"response_key" text COLLATE "C" NOT NULL,
	"is_marked_copy" boolean NOT NULL,
	"line_number" integer NOT NULL,
	"provider_message_id" text,
	"request_id" text,
	"model" text,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"cache_write_5m" bigint DEFAULT 0 NOT NULL,
	"cache_write_1h" bigint DEFAULT 0 NOT NULL,
	"thinking_tokens" bigint DEFAULT 0 NOT NULL,
	"web_search_requests" integer DEFAULT 0 NOT NULL,
	"web_fetch_requests" integer DEFAULT 0 NOT NULL,
	"service_tier" text,
	"speed" text,
	"inference_geo" text,
	"is_unfinalised" boolean DEFAULT false NOT NULL,
	"estimated_tokens_out" bigint,
	"reported_cost_usd" numeric(20, 10),
	"cost_usd" numeric(20, 10),
	"cost_input_usd" numeric(20, 10),
	"cost_output_usd" numeric(20, 10),
	"cost_cache_read_usd" numeric(20, 10),
	"cost_cache_write_usd" numeric(20, 10),
	"cost_web_search_usd" numeric(20, 10),
	"price_basis" text NOT NULL,
	"price_version" text NOT NULL,
	CONSTRAINT "usage_entries_pk" PRIMARY KEY("workspace_id","transcript_id","entry_number")
);
--> statement-breakpoint
CREATE TABLE "recount"."usage_ledger" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"agent" text NOT NULL,
	"response_key" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"transcript_id" text COLLATE "C" NOT NULL,
	"message_id" text COLLATE "C",
	"source" text NOT NULL,
	"timestamp" timestamp (3) with time zone,
	"is_subagent" boolean NOT NULL,
	"agent_id" text,
	"git_branch" text,
	"agent_version" text,
	"copy_count" integer NOT NULL,
	"provider_message_id" text,
	"request_id" text,
	"model" text,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"cache_write_5m" bigint DEFAULT 0 NOT NULL,
	"cache_write_1h" bigint DEFAULT 0 NOT NULL,
	"thinking_tokens" bigint DEFAULT 0 NOT NULL,
	"web_search_requests" integer DEFAULT 0 NOT NULL,
	"web_fetch_requests" integer DEFAULT 0 NOT NULL,
	"service_tier" text,
	"speed" text,
	"inference_geo" text,
	"is_unfinalised" boolean DEFAULT false NOT NULL,
	"estimated_tokens_out" bigint,
	"reported_cost_usd" numeric(20, 10),
	"cost_usd" numeric(20, 10),
	"cost_input_usd" numeric(20, 10),
	"cost_output_usd" numeric(20, 10),
	"cost_cache_read_usd" numeric(20, 10),
	"cost_cache_write_usd" numeric(20, 10),
	"cost_web_search_usd" numeric(20, 10),
	"price_basis" text NOT NULL,
	"price_version" text NOT NULL,
	CONSTRAINT "usage_ledger_pk" PRIMARY KEY("workspace_id","agent","response_key")
);
--> statement-breakpoint
CREATE TABLE "recount"."usage_rollup" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"bucket_start" timestamp (3) with time zone,
	"model" text,
	"is_subagent" boolean NOT NULL,
	"git_branch" text,
	"agent_version" text,
	"is_shared" boolean NOT NULL,
	"responses" integer NOT NULL,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"cache_write_1h" bigint DEFAULT 0 NOT NULL,
	"thinking_tokens" bigint DEFAULT 0 NOT NULL,
	"web_search_requests" integer NOT NULL,
	"cost_units" bigint DEFAULT 0 NOT NULL,
	"cost_input_units" bigint DEFAULT 0 NOT NULL,
	"cost_output_units" bigint DEFAULT 0 NOT NULL,
	"cost_cache_read_units" bigint DEFAULT 0 NOT NULL,
	"cost_cache_write_units" bigint DEFAULT 0 NOT NULL,
	"cost_web_search_units" bigint DEFAULT 0 NOT NULL,
	"unfinalised_responses" integer NOT NULL,
	"unfinalised_tokens_out" bigint DEFAULT 0 NOT NULL,
	"estimated_tokens_out" bigint DEFAULT 0 NOT NULL,
	"unpriced_responses" integer NOT NULL,
	"unpriced_tokens" bigint DEFAULT 0 NOT NULL,
	"default_priced_responses" integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "api_response_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "unfinalised_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "unpriced_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "web_search_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "prompt_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "turn_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "active_ms" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD COLUMN "reported_cost_usd" numeric(20, 10);--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "api_response_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "unfinalised_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "unpriced_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "web_search_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "prompt_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "turn_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "active_ms" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD COLUMN "reported_cost_usd" numeric(20, 10);--> statement-breakpoint
ALTER TABLE "recount"."workspaces" ADD COLUMN "currency_label" text DEFAULT 'USD' NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."price_overrides" ADD CONSTRAINT "price_overrides_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "message_rollup_session" ON "recount"."message_rollup" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "session_events_kind" ON "recount"."session_events" USING btree ("workspace_id","kind");--> statement-breakpoint
CREATE INDEX "tool_calls_response" ON "recount"."tool_calls" USING btree ("workspace_id","response_key");--> statement-breakpoint
CREATE INDEX "tool_calls_session" ON "recount"."tool_calls" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "tool_rollup_session" ON "recount"."tool_rollup" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "usage_entries_response" ON "recount"."usage_entries" USING btree ("workspace_id","agent","response_key");--> statement-breakpoint
CREATE INDEX "usage_ledger_session" ON "recount"."usage_ledger" USING btree ("workspace_id","session_id");--> statement-breakpoint
CREATE INDEX "usage_rollup_session" ON "recount"."usage_rollup" USING btree ("workspace_id","session_id");