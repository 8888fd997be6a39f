CREATE TABLE "recount"."audit_log" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"subjects" text[] NOT NULL,
	"details" jsonb NOT NULL,
	CONSTRAINT "audit_log_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "expires_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "previous_key_hash" text;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "previous_expires_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD CONSTRAINT "api_keys_previous_key_hash_unique" UNIQUE("previous_key_hash");--> statement-breakpoint
CREATE FUNCTION recount.keep_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Deleting a workspace says in its transaction which one.
  IF TG_OP = 'DELETE' AND OLD.workspace_id = current_setting('recount.deleted_workspace', true) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'Entries of the audit log are neither changed nor deleted' USING ERRCODE = 'insufficient_privilege';
END $$;
--> statement-breakpoint
CREATE TRIGGER keep_audit_log_rows BEFORE UPDATE OR DELETE ON recount.audit_log
  FOR EACH ROW EXECUTE FUNCTION recount.keep_audit_log();
--> statement-breakpoint
CREATE TRIGGER keep_audit_log BEFORE TRUNCATE ON recount.audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION recount.keep_audit_log();
--> statement-breakpoint
COMMENT ON TABLE recount.audit_log IS 'Who changed what: keys, settings, prices, deletions, runs over all transcripts. Only grows; goes with its workspace.';
--> statement-breakpoint
COMMENT ON COLUMN recount.audit_log.workspace_id IS 'Workspace that was changed; empty for what is of none (any more).';
--> statement-breakpoint
COMMENT ON COLUMN recount.audit_log.id IS 'ULID.';
--> statement-breakpoint
COMMENT ON COLUMN recount.audit_log.at IS 'When the change was made.';
--> statement-breakpoint
COMMENT ON COLUMN recount.audit_log.actor IS 'key:<id>, operator:<name on the operating system> of who has the database itself, or system.';
--> statement-breakpoint
COMMENT ON COLUMN recount.audit_log.action IS '<noun>.<verb>, such as key.create, settings.change, session.delete.';
--> statement-breakpoint
COMMENT ON COLUMN recount.audit_log.subjects IS 'Ids of what was changed.';
--> statement-breakpoint
COMMENT ON COLUMN recount.audit_log.details IS 'Counts, names and values of settings; never text of transcripts, nor secrets.';
--> statement-breakpoint
COMMENT ON COLUMN recount.api_keys.expires_at IS 'From then on the key is refused; null: never.';
--> statement-breakpoint
COMMENT ON COLUMN recount.api_keys.previous_key_hash IS 'SHA-256 of the secret before the key was rotated, hex; null where that is not valid any more.';
--> statement-breakpoint
COMMENT ON COLUMN recount.api_keys.previous_expires_at IS 'Until when the secret before the rotation is valid.';
