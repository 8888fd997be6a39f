CREATE SCHEMA "recount";
--> statement-breakpoint
CREATE TABLE "recount"."content_blocks" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"transcript_id" text COLLATE "C" NOT NULL,
	"message_id" text COLLATE "C" NOT NULL,
	"block_order" integer NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"block_type" text NOT NULL,
	"content_text" text,
	"thinking_text" text,
	"tool_name" text,
	"tool_use_id" text,
	"tool_input" jsonb,
	"tool_result_id" text,
	"is_error" boolean,
	"result_text" text,
	"metadata" jsonb NOT NULL,
	"line_number" integer NOT NULL,
	"byte_offset" bigint NOT NULL,
	"byte_length" integer NOT NULL,
	CONSTRAINT "content_blocks_pk" PRIMARY KEY("workspace_id","transcript_id","message_id","block_order")
);
--> statement-breakpoint
CREATE TABLE "recount"."ingest_issues" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"transcript_id" text COLLATE "C" NOT NULL,
	"issue_number" integer NOT NULL,
	"code" text NOT NULL,
	"severity" text NOT NULL,
	"message" text NOT NULL,
	"line_number" integer NOT NULL,
	"byte_offset" bigint NOT NULL,
	"occurrence_count" integer NOT NULL,
	CONSTRAINT "ingest_issues_pk" PRIMARY KEY("workspace_id","transcript_id","issue_number")
);
--> statement-breakpoint
CREATE TABLE "recount"."transcript_messages" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"transcript_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"line_number" integer NOT NULL,
	"ordinal" integer NOT NULL,
	"message_type" text NOT NULL,
	"role" text,
	"model" text,
	"tokens_in" bigint,
	"tokens_out" bigint,
	"cache_read" bigint,
	"cache_write" bigint,
	"cost_usd" numeric(20, 10),
	"timestamp" timestamp (3) with time zone,
	"has_text" boolean NOT NULL,
	"has_thinking" boolean NOT NULL,
	"has_tool_use" boolean NOT NULL,
	"has_tool_result" boolean NOT NULL,
	"metadata" jsonb NOT NULL,
	"provider_message_id" text,
	"request_id" text,
	"uuid" text,
	"parent_uuid" text,
	"is_sidechain" boolean NOT NULL,
	"agent_id" text,
	"stop_reason" text,
	"byte_offset" bigint NOT NULL,
	"byte_length" integer NOT NULL,
	CONSTRAINT "transcript_messages_pk" PRIMARY KEY("workspace_id","transcript_id","id")
);
--> statement-breakpoint
CREATE TABLE "recount"."sessions" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"agent" text NOT NULL,
	"is_subagent" boolean DEFAULT false NOT NULL,
	"parent_session_id" text COLLATE "C",
	"agent_id" text,
	"primary_transcript_id" text COLLATE "C" NOT NULL,
	"transcript_count" integer DEFAULT 1 NOT NULL,
	"total_messages" integer DEFAULT 0 NOT NULL,
	"user_messages" integer DEFAULT 0 NOT NULL,
	"assistant_messages" integer DEFAULT 0 NOT NULL,
	"tool_use_count" integer DEFAULT 0 NOT NULL,
	"thinking_blocks" integer DEFAULT 0 NOT NULL,
	"subagent_count" integer DEFAULT 0 NOT NULL,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"cost_estimate_usd" numeric(20, 10) DEFAULT 0 NOT NULL,
	"duration_ms" bigint DEFAULT 0 NOT NULL,
	"initial_prompt" text,
	"project" text,
	"git_branch" text,
	"agent_version" text,
	"title" text,
	"models" text[] DEFAULT '{}' NOT NULL,
	"first_timestamp" timestamp (3) with time zone,
	"last_timestamp" timestamp (3) with time zone,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "sessions_workspace_id_session_id_pk" PRIMARY KEY("workspace_id","session_id")
);
--> statement-breakpoint
CREATE TABLE "recount"."transcripts" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"agent" text NOT NULL,
	"path" text,
	"is_subagent" boolean DEFAULT false NOT NULL,
	"parent_session_id" text COLLATE "C",
	"agent_id" text,
	"sha256" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	"object_key" text NOT NULL,
	"status" text DEFAULT 'queued' NOT NULL,
	"is_diverged" boolean DEFAULT false NOT NULL,
	"superseded_by" text COLLATE "C",
	"attempt_count" integer DEFAULT 0 NOT NULL,
	"failure_reason" text,
	"parser_version" text,
	"price_version" text,
	"line_count" integer DEFAULT 0 NOT NULL,
	"content_block_count" integer DEFAULT 0 NOT NULL,
	"error_count" integer DEFAULT 0 NOT NULL,
	"warning_count" integer DEFAULT 0 NOT NULL,
	"issue_counts" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"total_messages" integer DEFAULT 0 NOT NULL,
	"user_messages" integer DEFAULT 0 NOT NULL,
	"assistant_messages" integer DEFAULT 0 NOT NULL,
	"tool_use_count" integer DEFAULT 0 NOT NULL,
	"thinking_blocks" integer DEFAULT 0 NOT NULL,
	"subagent_count" integer DEFAULT 0 NOT NULL,
	"tokens_in" bigint DEFAULT 0 NOT NULL,
	"tokens_out" bigint DEFAULT 0 NOT NULL,
	"cache_read" bigint DEFAULT 0 NOT NULL,
	"cache_write" bigint DEFAULT 0 NOT NULL,
	"cost_estimate_usd" numeric(20, 10) DEFAULT 0 NOT NULL,
	"duration_ms" bigint DEFAULT 0 NOT NULL,
	"initial_prompt" text,
	"project" text,
	"git_branch" text,
	"agent_version" text,
	"title" text,
	"models" text[] DEFAULT '{}' NOT NULL,
	"first_timestamp" timestamp (3) with time zone,
	"last_timestamp" timestamp (3) with time zone,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ingested_at" timestamp (3) with time zone,
	CONSTRAINT "transcripts_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "transcripts_session_content_unique" UNIQUE("workspace_id","session_id","sha256")
);
--> statement-breakpoint
CREATE TABLE "recount"."api_keys" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"name" text NOT NULL,
	"key_hash" text NOT NULL,
	"hint" text NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "api_keys_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "api_keys_key_hash_unique" UNIQUE("key_hash")
);
--> statement-breakpoint
CREATE TABLE "recount"."workspaces" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "workspaces_name_unique" UNIQUE("name")
);
--> statement-breakpoint
ALTER TABLE "recount"."sessions" ADD CONSTRAINT "sessions_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "recount"."transcripts" ADD CONSTRAINT "transcripts_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD CONSTRAINT "api_keys_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sessions_last_activity" ON "recount"."sessions" USING btree ("workspace_id",coalesce("last_timestamp", '1970-01-01Z'),"session_id");--> statement-breakpoint
CREATE INDEX "sessions_cost" ON "recount"."sessions" USING btree ("workspace_id","cost_estimate_usd","session_id");--> statement-breakpoint
CREATE INDEX "sessions_parent" ON "recount"."sessions" USING btree ("workspace_id","parent_session_id");--> statement-breakpoint
CREATE INDEX "sessions_project" ON "recount"."sessions" USING btree ("workspace_id","project");--> statement-breakpoint
CREATE INDEX "transcripts_sha256" ON "recount"."transcripts" USING btree ("workspace_id","sha256");--> statement-breakpoint
CREATE INDEX "transcripts_status" ON "recount"."transcripts" USING btree ("workspace_id","status","id");--> statement-breakpoint
CREATE INDEX "api_keys_workspace_name" ON "recount"."api_keys" USING btree ("workspace_id","name");