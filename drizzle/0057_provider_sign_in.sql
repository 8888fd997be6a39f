ALTER TABLE "recount"."api_keys" ADD COLUMN "issuer" text;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD COLUMN "subject" text;--> statement-breakpoint
ALTER TABLE "recount"."sign_ins" ADD COLUMN "provider" text;--> statement-breakpoint
ALTER TABLE "recount"."sign_ins" ADD COLUMN "sealed_tokens" text;--> statement-breakpoint
ALTER TABLE "recount"."sign_ins" ADD COLUMN "checked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "recount"."sign_ins" ADD COLUMN "check_started_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "recount"."api_keys" ADD CONSTRAINT "api_keys_account_unique" UNIQUE("workspace_id","issuer","subject");
--> statement-breakpoint
COMMENT ON COLUMN "recount"."api_keys"."issuer" IS 'OpenID provider of the account that signs in with this key; null for keys whose secret someone has.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."api_keys"."subject" IS 'Id of the account at its OpenID provider; null for keys whose secret someone has.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."sign_ins"."provider" IS 'Id of the OpenID provider in the settings; null for a sign-in with a key or a link.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."sign_ins"."sealed_tokens" IS 'Tokens of the OpenID provider, encrypted with RECOUNT_SECRET_KEY; null if there are none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."sign_ins"."checked_at" IS 'Time when the OpenID provider last confirmed the account; null if it cannot be asked.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."sign_ins"."check_started_at" IS 'Start of a check with the OpenID provider that is under way; null otherwise.';
