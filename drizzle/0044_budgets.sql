CREATE TABLE "recount"."budget_crossings" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"budget_id" text COLLATE "C" NOT NULL,
	"period_start" text NOT NULL,
	"kind" text NOT NULL,
	"threshold" integer NOT NULL,
	"crossed_at" timestamp (3) with time zone NOT NULL,
	"is_late" boolean NOT NULL,
	"figure" numeric(30, 10) NOT NULL,
	"amount" numeric(30, 10) NOT NULL,
	"unit" text NOT NULL,
	"low" numeric(30, 10),
	"high" numeric(30, 10),
	"median" numeric(30, 10),
	CONSTRAINT "budget_crossings_pk" PRIMARY KEY("workspace_id","budget_id","period_start","kind","threshold")
);
--> statement-breakpoint
CREATE TABLE "recount"."budgets" (
	"workspace_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"name" text NOT NULL,
	"period" text NOT NULL,
	"time_zone" text NOT NULL,
	"unit" text NOT NULL,
	"amount" numeric(30, 10) NOT NULL,
	"filters" jsonb NOT NULL,
	"thresholds" integer[] NOT NULL,
	"forecast_percent" integer,
	"anomaly_factor" numeric(30, 10),
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "budgets_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "budgets_name_unique" UNIQUE("workspace_id","name")
);
--> statement-breakpoint
COMMENT ON TABLE "recount"."budgets" IS 'Limits of what is spent in each period, which workers compare with reports.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."workspace_id" IS 'Workspace whose use is counted.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."id" IS 'ULID.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."name" IS 'Name that people gave it, unique in the workspace.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."period" IS 'day, week (from Monday) or month.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."time_zone" IS 'IANA time zone in which periods begin.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."unit" IS 'usd (at list prices) or tokens.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."amount" IS 'Dollars or tokens of a period.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."filters" IS 'Filters of reports, as a request has them.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."thresholds" IS 'Percent of the amount that it warns at, each once, in ascending order.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."forecast_percent" IS 'Percent of the amount that a forecast must reach for a warning; null for no such warning.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."anomaly_factor" IS 'How many times its median a day must exceed for a warning; null for no such warning.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."created_at" IS 'Time of its creation; earlier periods are not looked at.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budgets"."updated_at" IS 'Time of the latest change.';
--> statement-breakpoint
COMMENT ON TABLE "recount"."budget_crossings" IS 'What budgets have warned of, each once; also kept in the raw store.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."workspace_id" IS 'Workspace of the budget.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."budget_id" IS 'Budget that warned.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."period_start" IS 'First day of the period; for an anomaly, the day.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."kind" IS 'threshold, forecast or anomaly.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."threshold" IS 'Percent of the amount that was reached; 0 for an anomaly.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."crossed_at" IS 'Time at which a worker found it.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."is_late" IS 'True if the period, or the day of an anomaly, was over by then.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."figure" IS 'What was spent by then, or is forecast.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."amount" IS 'Amount of the budget at that time.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."unit" IS 'usd or tokens.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."low" IS 'Lower end of the range of a forecast.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."high" IS 'Upper end of the range of a forecast.';
--> statement-breakpoint
COMMENT ON COLUMN "recount"."budget_crossings"."median" IS 'Median of the days before, which an anomaly exceeds.';
