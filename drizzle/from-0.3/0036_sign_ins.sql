CREATE TABLE "recount"."sign_ins" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"key_id" text COLLATE "C" NOT NULL,
	"key_hash" text NOT NULL,
	"cookie_hash" text NOT NULL,
	"page_hash" text NOT NULL,
	"browser" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "sign_ins_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "sign_ins_cookie_hash_unique" UNIQUE("cookie_hash")
);
--> statement-breakpoint
ALTER TABLE "recount"."sign_ins" ADD CONSTRAINT "sign_ins_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
COMMENT ON TABLE recount.sign_ins IS 'Browsers that are signed in to the dashboard. Only hashes of their secrets are stored.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.workspace_id IS 'Workspace of the key.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.id IS 'ULID.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.key_id IS 'Key that the browser signed in with.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.key_hash IS 'Hash of the key''s secret at that time: the sign-in ends with that secret.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.cookie_hash IS 'SHA-256 of the cookie, hex.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.page_hash IS 'SHA-256 of the secret in the path of each request, hex.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.browser IS 'Name of the browser, shortened; null: it has none.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.created_at IS 'When the browser signed in.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.last_used_at IS 'Exact to a minute. The sign-in ends seven days later.';--> statement-breakpoint
COMMENT ON COLUMN recount.sign_ins.expires_at IS 'When the sign-in ends at the latest.';
