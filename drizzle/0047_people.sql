CREATE TABLE "recount"."people" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"display_name" text NOT NULL,
	"email" text,
	"merged_into" text COLLATE "C",
	"joined_on" date,
	"left_on" date,
	"notes" text,
	"source" text DEFAULT 'manual' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "people_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "recount"."person_names" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"name_key" text COLLATE "C" NOT NULL,
	"name" text NOT NULL,
	"person_id" text COLLATE "C" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "person_names_workspace_id_name_key_pk" PRIMARY KEY("workspace_id","name_key")
);
--> statement-breakpoint
CREATE TABLE "recount"."team_memberships" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"person_id" text COLLATE "C" NOT NULL,
	"starts_on" date DEFAULT '-infinity' NOT NULL,
	"team_id" text COLLATE "C",
	"cost_centre" text,
	"source" text DEFAULT 'manual' NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "team_memberships_workspace_id_person_id_starts_on_pk" PRIMARY KEY("workspace_id","person_id","starts_on")
);
--> statement-breakpoint
CREATE TABLE "recount"."teams" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"name" text NOT NULL,
	"name_key" text COLLATE "C" NOT NULL,
	"cost_centre" text,
	"lead_id" text COLLATE "C",
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "teams_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "teams_name_unique" UNIQUE("workspace_id","name_key")
);
--> statement-breakpoint
ALTER TABLE "recount"."people" ADD CONSTRAINT "people_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "recount"."person_names" ADD CONSTRAINT "person_names_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "recount"."team_memberships" ADD CONSTRAINT "team_memberships_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "recount"."teams" ADD CONSTRAINT "teams_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "recount"."workspaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "person_names_person" ON "recount"."person_names" USING btree ("workspace_id","person_id");
--> statement-breakpoint
COMMENT ON TABLE "recount"."people" IS 'People whose sessions the workspace has; also kept in the raw store.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."workspace_id" IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."id" IS 'ULID.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."display_name" IS 'Name in reports; also one of the names of the person.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."email" IS 'E-mail address, also one of the names of the person; null if unknown.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."merged_into" IS 'Person that this one was merged into; null if none. Names and teams stay those of the merged person, so that the merge can be undone.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."joined_on" IS 'First day; null if unknown.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."left_on" IS 'Last day; null if unknown or still there.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."notes" IS 'Text of an admin; null if none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."source" IS 'Who said it: manual (an admin), csv (a file), or claim (an identity provider).';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."created_at" IS 'Time when the row was added.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."people"."updated_at" IS 'Time of the latest change.';
--> statement-breakpoint
COMMENT ON TABLE "recount"."person_names" IS 'Names under which sessions of people arrive. A session belongs to the person who has its name, ignoring case.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."person_names"."workspace_id" IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."person_names"."name_key" IS 'The name in lower case.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."person_names"."name" IS 'The name as someone wrote it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."person_names"."person_id" IS 'Person who has the name.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."person_names"."created_at" IS 'Time when the row was added.';
--> statement-breakpoint
COMMENT ON TABLE "recount"."teams" IS 'Teams of people.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."teams"."workspace_id" IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."teams"."id" IS 'ULID.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."teams"."name" IS 'Name in reports.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."teams"."name_key" IS 'The name in lower case, which is unique.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."teams"."cost_centre" IS 'Cost centre of all members that have none of their own; null if none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."teams"."lead_id" IS 'Person who leads the team; null if none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."teams"."created_at" IS 'Time when the row was added.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."teams"."updated_at" IS 'Time of the latest change.';
--> statement-breakpoint
COMMENT ON TABLE "recount"."team_memberships" IS 'Team of a person from a day on. A period ends where the next one of the person begins.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."team_memberships"."workspace_id" IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."team_memberships"."person_id" IS 'Person who belongs to the team.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."team_memberships"."starts_on" IS 'First day (UTC); -infinity if it was always so.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."team_memberships"."team_id" IS 'Team; null for none.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."team_memberships"."cost_centre" IS 'Cost centre of the person; null if the one of the team counts.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."team_memberships"."source" IS 'Who said it: manual (an admin), csv (a file), or claim (an identity provider).';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."team_memberships"."updated_at" IS 'Time of the latest change.';
--> statement-breakpoint
CREATE VIEW analytics.person_names AS
SELECT n.workspace_id, n.name, p.id AS person_id, p.display_name AS person
FROM recount.person_names AS n
JOIN recount.people AS o ON o.workspace_id = n.workspace_id AND o.id = n.person_id
JOIN recount.people AS p ON p.workspace_id = o.workspace_id AND p.id = coalesce(o.merged_into, o.id);
--> statement-breakpoint
COMMENT ON VIEW analytics.person_names IS 'Names under which sessions arrive, with the person who has each. Compare them with lower(name) = lower(sessions.person).';
--> statement-breakpoint
COMMENT ON COLUMN analytics.person_names.workspace_id IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.person_names.name IS 'Name of sessions, in any case.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.person_names.person_id IS 'Person who has it, or whom that one was merged into.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.person_names.person IS 'Name of this person in reports.';
--> statement-breakpoint
CREATE VIEW analytics.team_memberships AS
SELECT m.workspace_id, m.person_id, t.name AS team, coalesce(m.cost_centre, t.cost_centre) AS cost_centre, m.starts_on,
  lead(m.starts_on, 1, 'infinity') OVER (PARTITION BY m.workspace_id, m.person_id ORDER BY m.starts_on) AS ends_before
FROM recount.team_memberships AS m
LEFT JOIN recount.teams AS t ON t.workspace_id = m.workspace_id AND t.id = m.team_id;
--> statement-breakpoint
COMMENT ON VIEW analytics.team_memberships IS 'Teams and cost centres of people, from a day to another. Periods of a person do not overlap.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.team_memberships.workspace_id IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.team_memberships.person_id IS 'Person, see person_names.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.team_memberships.team IS 'Team; null for none.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.team_memberships.cost_centre IS 'Cost centre of the person, else of the team; null if neither has one.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.team_memberships.starts_on IS 'First day (UTC); -infinity if it was always so.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.team_memberships.ends_before IS 'Day (UTC) after the last one; infinity if it is still so.';
--> statement-breakpoint
CREATE OR REPLACE VIEW analytics.daily_usage AS
SELECT
  r.workspace_id, (r.bucket_start AT TIME ZONE 'UTC')::date AS day, s.project, r.model,
  sum(r.responses)::bigint AS responses, sum(r.tokens_in)::bigint AS tokens_in, sum(r.tokens_out)::bigint AS tokens_out,
  sum(r.cache_read)::bigint AS cache_read, sum(r.cache_write)::bigint AS cache_write,
  CASE WHEN sum(r.responses - r.unpriced_responses) > 0 THEN sum(r.cost_units) / 1e10 END AS cost_usd,
  sum(r.unpriced_responses)::bigint AS unpriced_responses,
  sum(r.unfinalised_responses)::bigint AS unfinalised_responses,
  sum(r.unfinalised_tokens_out)::bigint AS unfinalised_tokens_out, r.is_subagent,
  s.repository, coalesce(n.person, s.person) AS person, s.machine, s.agent, m.team, m.cost_centre
FROM recount.usage_rollup AS r
LEFT JOIN recount.sessions AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
LEFT JOIN analytics.person_names AS n ON n.workspace_id = r.workspace_id AND lower(n.name) = lower(s.person)
LEFT JOIN analytics.team_memberships AS m ON m.workspace_id = r.workspace_id AND m.person_id = n.person_id
  AND CASE
    WHEN r.bucket_start IS NULL THEN m.ends_before = 'infinity'
    ELSE (r.bucket_start AT TIME ZONE 'UTC')::date >= m.starts_on AND (r.bucket_start AT TIME ZONE 'UTC')::date < m.ends_before
  END
WHERE NOT r.is_shared
GROUP BY r.workspace_id, day, s.project, r.model, r.is_subagent, s.repository, coalesce(n.person, s.person), s.machine, s.agent,
  m.team, m.cost_centre;
--> statement-breakpoint
COMMENT ON VIEW analytics.daily_usage IS 'Usage of each UTC day, repository, folder, person, team, cost centre, machine, agent and model, sub-agents apart, with every API response counted once. Read from roll-ups.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.daily_usage.person IS 'Whose work it is: the person who has the name of the session (person_names), else that name: of the API key that brought the session, else whom the upload named; null: unknown.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.daily_usage.team IS 'Team of the person on that day; null if none.';
--> statement-breakpoint
COMMENT ON COLUMN analytics.daily_usage.cost_centre IS 'Cost centre of the person on that day, else of the team; null if neither has one.';
