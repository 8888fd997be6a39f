CREATE TABLE "recount"."session_shares" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"secret_hash" text NOT NULL,
	"page" "bytea",
	"from_line" integer,
	"to_line" integer,
	"is_sanitized" boolean NOT NULL,
	"actor" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"revoked_at" timestamp (3) with time zone,
	"opened_count" integer DEFAULT 0 NOT NULL,
	"last_opened_at" timestamp (3) with time zone,
	CONSTRAINT "session_shares_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE INDEX "session_shares_session" ON "recount"."session_shares" USING btree ("workspace_id","session_id");--> statement-breakpoint
COMMENT ON TABLE recount.session_shares IS 'Read-only links to sessions; a page is kept until its link ends.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.workspace_id IS 'Whose session it is.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.id IS 'ULID of the link.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.session_id IS 'Session that is shown.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.secret_hash IS 'SHA-256 of the link''s secret, hex.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.page IS 'gzip of the HTML page; null once the link has ended.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.from_line IS 'First line that is shown; null: from the beginning.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.to_line IS 'Last line that is shown; null: to the end.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.is_sanitized IS 'Whether only the structure is shown, without texts.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.actor IS 'Who shared it, as in the audit log.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.created_at IS 'When it was shared.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.expires_at IS 'From then on the link leads nowhere.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.revoked_at IS 'When it was revoked; null: never.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.opened_count IS 'How often the page was opened.';
--> statement-breakpoint
COMMENT ON COLUMN recount.session_shares.last_opened_at IS 'When it was opened last; null: never.';
