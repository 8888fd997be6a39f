CREATE TABLE "recount"."repository_renames" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"name" text NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"new_name" text,
	"shown_name" text NOT NULL,
	"actor" text NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"applied_at" timestamp (3) with time zone,
	"checked_count" bigint,
	"session_count" bigint,
	CONSTRAINT "repository_renames_workspace_id_name_pk" PRIMARY KEY("workspace_id","name")
);

--> statement-breakpoint
COMMENT ON TABLE "recount"."repository_renames" IS 'Names that admins gave to repositories; also in the workspace''s record in the raw store.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."workspace_id" IS 'Workspace of the repository.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."name" IS 'Name that transcripts tell, or that another repository was renamed to.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."id" IS 'ULID; another one after each change of the new name.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."new_name" IS 'Name that an admin chose; null if that was undone and stored sessions do not have their names back yet.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."shown_name" IS 'Repository of sessions: the new name, or what that one is renamed to in turn.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."actor" IS 'Who renamed it, as in the audit log.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."changed_at" IS 'Time of the renaming.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."applied_at" IS 'Time when all stored sessions had the shown name; null before that.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."checked_count" IS 'Stored sessions that were looked at since the change; null before that.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."repository_renames"."session_count" IS 'Stored sessions of the workspace when the renaming was applied; null before that.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."transcripts"."repository" IS 'Name of the repository as the transcript and its upload tell it, the same in all of its worktrees and clones: host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it. Sessions have the name that an admin gave it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."sessions"."repository" IS 'Name of the repository, the same in all of its worktrees and clones: as an admin named it, else host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.sessions.repository IS 'Name of the repository, the same in all of its worktrees and clones: as an admin named it, else host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.transcripts.repository IS 'Name of the repository as the transcript and its upload tell it, the same in all of its worktrees and clones: host/owner/name if a remote is known, otherwise from the working directory; null if neither tells it. analytics.sessions has the name that an admin gave it.';
