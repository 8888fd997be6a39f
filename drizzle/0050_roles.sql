ALTER TABLE "recount"."workspaces" ADD COLUMN "text_readers" text DEFAULT 'readers' NOT NULL;--> statement-breakpoint
ALTER TABLE "recount"."workspaces" ADD COLUMN "names_from_people" integer;--> statement-breakpoint
ALTER TABLE "recount"."workspaces" ADD COLUMN "pseudonym_salt" text;--> statement-breakpoint
COMMENT ON COLUMN "recount"."workspaces"."text_readers" IS 'readers: all who read may see the texts of others; auditors: only keys with the scope texts.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."workspaces"."names_from_people" IS 'Names of people are shown only if the workspace has at least this many; null: always.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."workspaces"."pseudonym_salt" IS 'Secret that pseudonyms of people are made with; null until they are switched on.';
