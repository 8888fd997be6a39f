CREATE TABLE "recount"."device_requests" (
	"user_code" text PRIMARY KEY NOT NULL,
	"device_code_hash" text NOT NULL,
	"machine" text NOT NULL,
	"scopes" text[] NOT NULL,
	"requested_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"last_polled_at" timestamp (3) with time zone,
	"workspace_id" text COLLATE "C",
	"person" text,
	"key_expires_at" timestamp (3) with time zone,
	"approved_by" text,
	CONSTRAINT "device_requests_device_code_hash_unique" UNIQUE("device_code_hash")
);
--> statement-breakpoint
ALTER TABLE "recount"."device_requests" ADD CONSTRAINT "device_requests_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
COMMENT ON TABLE recount.device_requests IS 'Machines that ask for a key by a code, which an admin approves within ten minutes.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.user_code IS 'What the admin types, eight letters.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.device_code_hash IS 'SHA-256 of what the machine fetches its key with, hex.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.machine IS 'Name of the machine, which becomes that of its key.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.scopes IS 'What the key may do: ingest, read.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.requested_at IS 'When it asked.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.expires_at IS 'From then on the codes are refused; the row is deleted when another machine asks.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.last_polled_at IS 'When the machine last asked for its key.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.workspace_id IS 'Workspace of the key; null until the code is approved.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.person IS 'Whose key it becomes; null: of nobody in particular.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.key_expires_at IS 'When the key ends; null: never.';
--> statement-breakpoint
COMMENT ON COLUMN recount.device_requests.approved_by IS 'Who approved the code, as in the audit log.';
