import { z } from 'zod';
import { destinationIdsField } from './alerts.ts';
import { reportFilterFields, timeZoneField } from './analytics-query.ts';
import {
  ANOMALY_DAYS,
  BUDGET_PERIODS,
  BUDGET_UNITS,
  CROSSING_KINDS,
  DEFAULT_ANOMALY_FACTOR,
  DEFAULT_THRESHOLDS,
  SUBAGENT_FILTERS,
} from './choices.ts';
import { countField, nextCursorField, pageQueryFields, text, timestampField, titleField } from './fields.ts';

const MAX_NAME_LENGTH = 100;
/** Far below any price, and far above what the column rounds to 0. */
const MIN_AMOUNT = 1e-6;
const MAX_AMOUNT = 1e15;
const MAX_PERCENT = 1000;
const MAX_THRESHOLDS = 10;
const MAX_FACTOR = 1000;

const amountField = z
  .number()
  .min(MIN_AMOUNT)
  .max(MAX_AMOUNT)
  .describe('Dollars at list prices, or tokens, of a period');
const percentField = z.int().min(1).max(MAX_PERCENT);
const thresholdsField = z
  .array(percentField)
  .max(MAX_THRESHOLDS)
  .refine((values) => new Set(values).size === values.length, 'Each once')
  .transform((values) => [...values].sort((a, b) => a - b))
  .describe('Percent of the amount that it warns at');
const forecastField = percentField
  .nullable()
  .describe(
    'Percent of the amount that the forecast of the month must reach for a warning; null for none. Only for dollars and months',
  );
const toDestinations = destinationIdsField.describe('Destinations that get its warnings; null for all');
const factorField = z
  .number()
  .min(1)
  .max(MAX_FACTOR)
  .nullable()
  .describe(
    `Warns of a day that exceeds this many times the median of the days with use among the ${ANOMALY_DAYS.most} before it, if there are at least ${ANOMALY_DAYS.least}, and is at least ${ANOMALY_DAYS.leastShare * 100} % of the amount; null for none`,
  );

const { from: _from, to: _to, time_zone: _timeZone, session_id: _sessionId, ...filterFields } = reportFilterFields;

/** Filters of reports that are kept, as people typed them. */
export const keptFiltersSchema = z
  .strictObject({
    ...filterFields,
    subagents: z.enum(SUBAGENT_FILTERS).describe('Sub-agents included, excluded, or only'),
  })
  .partial()
  .meta({ id: 'BudgetFilters', description: 'What counts, by the filters of reports; everything without any' });

export const budgetRequestSchema = z
  .strictObject({
    name: titleField,
    period: z.enum(BUDGET_PERIODS).default('month').describe('Weeks begin on Monday'),
    time_zone: timeZoneField,
    unit: z.enum(BUDGET_UNITS).default('usd'),
    amount: amountField,
    filters: keptFiltersSchema.default({}),
    thresholds: thresholdsField.default([...DEFAULT_THRESHOLDS]),
    forecast_percent: forecastField.optional().describe('By default 100 for dollars and months, else null'),
    anomaly_factor: factorField.default(DEFAULT_ANOMALY_FACTOR),
    destination_ids: toDestinations.default(null),
  })
  .meta({ id: 'BudgetRequest', description: 'A budget to be made' });

export type BudgetRequest = z.input<typeof budgetRequestSchema>;

export const budgetChangeSchema = z
  .strictObject({
    name: titleField,
    amount: amountField,
    thresholds: thresholdsField,
    forecast_percent: forecastField,
    anomaly_factor: factorField,
    destination_ids: toDestinations,
  })
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'Nothing to change')
  .meta({
    id: 'BudgetChange',
    description: 'Fields that are left out stay as they are. What a budget counts does not change',
  });

export type BudgetChange = z.input<typeof budgetChangeSchema>;

export const budgetParamsSchema = z.object({ budget_id: text(MAX_NAME_LENGTH).describe('Id of the budget, a ULID') });

const statusSchema = z
  .object({
    from: z.iso.date().describe('First day of the period'),
    to: z.iso.date().describe('The day after the last one'),
    spent: z.number().min(0).describe('Dollars at list prices of what has a price, or tokens'),
    spent_share: z.number().min(0).describe('`spent` / `amount`'),
    unpriced_responses: countField.describe('Responses without a price, which the dollars lack'),
    forecast: z
      .object({ cost_usd: z.number(), low_usd: z.number(), high_usd: z.number() })
      .nullable()
      .describe(
        'Of the whole month, as the report `forecast` has it, for dollars and months: four of five months are meant to end between `low_usd` and `high_usd`. Null without enough history',
      ),
    unmatched: z.array(z.string()).describe('Filters that match nothing in the workspace, in words'),
  })
  .meta({ id: 'BudgetStatus', description: 'The current period' });

export const budgetSchema = z
  .object({
    id: z.string().describe('ULID'),
    name: z.string(),
    period: z.enum(BUDGET_PERIODS),
    time_zone: z.string(),
    unit: z.enum(BUDGET_UNITS),
    amount: z.number(),
    filters: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    thresholds: z.array(z.number()),
    forecast_percent: z.number().nullable(),
    anomaly_factor: z.number().nullable(),
    destination_ids: z.array(z.string()).nullable().describe('Destinations that get its warnings; null for all'),
    created_at: timestampField,
    updated_at: timestampField,
    status: statusSchema.nullable().describe('Null if its filters can no longer be told apart from other names'),
  })
  .meta({ id: 'Budget', description: 'A limit of what is spent in each period' });

export type Budget = z.infer<typeof budgetSchema>;

export const budgetListSchema = z
  .object({ budgets: z.array(budgetSchema) })
  .meta({ id: 'BudgetList', description: 'All budgets of the workspace, by name' });

export type BudgetList = z.infer<typeof budgetListSchema>;

const crossingSchema = z
  .object({
    period_start: z.iso.date().describe('First day of the period; for an anomaly, the day'),
    kind: z.enum(CROSSING_KINDS),
    threshold: countField.describe('Percent of the amount that was reached; 0 for an anomaly'),
    crossed_at: timestampField.describe('When a worker found it'),
    is_late: z
      .boolean()
      .describe(
        'True if the period, or the day of an anomaly, was over by then, as what came later was uploaded later',
      ),
    figure: z.number().describe('What was spent by then, or is forecast'),
    amount: z.number().describe('Amount of the budget at that time'),
    unit: z.enum(BUDGET_UNITS),
    low: z.number().nullable().describe('Of a forecast: lower end of its range'),
    high: z.number().nullable(),
    median: z.number().nullable().describe('Of an anomaly: the median that the day exceeds'),
  })
  .meta({ id: 'BudgetCrossing', description: 'A warning. Each happens once, whatever becomes of the figure later' });

export const budgetHistoryQuerySchema = z.strictObject(pageQueryFields);

export const budgetHistorySchema = z
  .object({ crossings: z.array(crossingSchema), next_cursor: nextCursorField })
  .meta({ id: 'BudgetHistory', description: 'What a budget has warned of, the latest first' });

export type BudgetHistory = z.infer<typeof budgetHistorySchema>;
