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
ALTER TABLE "recount"."sign_ins" ADD CONSTRAINT "sign_ins_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;