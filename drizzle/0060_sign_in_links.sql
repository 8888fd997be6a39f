ALTER TABLE "recount"."api_keys" ADD COLUMN "sign_in_link_hash" text;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "sign_in_link_expires_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "sign_in_link_by" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "sign_in_link_ends_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "recount"."sign_ins" ADD COLUMN "linked_by" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD CONSTRAINT "api_keys_sign_in_link_unique" UNIQUE("sign_in_link_hash");
--> statement-breakpoint
COMMENT ON COLUMN "recount"."api_keys"."sign_in_link_hash" IS 'SHA-256 of the code of the link that signs a browser in with this key, once; null if there is none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."api_keys"."sign_in_link_expires_at" IS 'End of that link; null if there is none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."api_keys"."sign_in_link_by" IS 'Key that made that link; null if a command on the server did.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."api_keys"."sign_in_link_ends_at" IS 'End of the sign-ins by that link, which is the end of the secret of the key that made it; null if it has none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."sign_ins"."linked_by" IS 'Key that made the link of this sign-in, whose revocation ends it; null without a link of a key.';
