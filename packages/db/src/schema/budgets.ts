import type { BUDGET_PERIODS, BUDGET_UNITS, CROSSING_KINDS } from '@recount/contract/choices';
import { boolean, integer, numeric, primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp, jsonObject, recountSchema } from './column-types.ts';

export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

export type BudgetUnit = (typeof BUDGET_UNITS)[number];

/** Dollars to 1e-10, or tokens. A large team uses more than 1e10 a month. */
const amount = () => numeric({ precision: 30, scale: 10, mode: 'number' });

/** Limits of what is spent in each period, which workers compare with reports. */
export const budgets = recountSchema.table(
  'budgets',
  {
    workspace_id: identifier().notNull(),
    id: identifier().notNull(),
    name: text().notNull(),
    period: text().$type<BudgetPeriod>().notNull(),
    time_zone: text().notNull(),
    unit: text().$type<BudgetUnit>().notNull(),
    amount: amount().notNull(),
    /** The filters of reports, as a request has them. */
    filters: jsonObject().notNull(),
    /** Percent of the amount, each once, in ascending order. */
    thresholds: integer().array().notNull(),
    /** Percent of the amount that a forecast of the month must reach; null for no warning. */
    forecast_percent: integer(),
    /** A day must exceed its median this many times; null for no warning. */
    anomaly_factor: amount(),
    /** Destinations that get its warnings; null for all. */
    destination_ids: text().array(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
    updated_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('budgets_name_unique').on(table.workspace_id, table.name),
  ],
);

export type CrossingKind = (typeof CROSSING_KINDS)[number];

/** Warnings of budgets. The primary key lets each warning happen once, whatever becomes of the figure. */
export const budgetCrossings = recountSchema.table(
  'budget_crossings',
  {
    workspace_id: identifier().notNull(),
    budget_id: identifier().notNull(),
    /** First day of the period, as `2026-03-01`; for an anomaly, the day. */
    period_start: text().notNull(),
    kind: text().$type<CrossingKind>().notNull(),
    /** Percent of the amount; 0 for an anomaly. */
    threshold: integer().notNull(),
    crossed_at: isoTimestamp().notNull(),
    /** True if the period, or the day of an anomaly, was over by then. */
    is_late: boolean().notNull(),
    /** Spent by then, or forecast. */
    figure: amount().notNull(),
    /** The budget's amount at that time. */
    amount: amount().notNull(),
    unit: text().$type<BudgetUnit>().notNull(),
    /** The range of a forecast. */
    low: amount(),
    high: amount(),
    /** The median that an anomaly exceeds. */
    median: amount(),
  },
  (table) => [
    primaryKey({
      name: 'budget_crossings_pk',
      columns: [table.workspace_id, table.budget_id, table.period_start, table.kind, table.threshold],
    }),
  ],
);
