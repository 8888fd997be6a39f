import { z } from 'zod';
import {
  breakdownField,
  groupByField,
  meantNamesFields,
  reportFilterFields,
  reportLimitField,
} from '../analytics-query.ts';
import { GROUP_KEYS, type GroupKey, SUBAGENT_FILTERS } from '../choices.ts';
import { countField, timestampField } from '../fields.ts';
import { usageFiguresSchema } from '../usage-figures.ts';
import { REPORT_NAMES, REPORTS, type ReportName } from './registry.ts';
import type { ReportEntry } from './report-entry.ts';
import * as fields from './report-fields.ts';

const { disagreementFields, name } = fields;

const filtersSchema = z
  .object({
    from: timestampField.nullable().describe('As the moment that it means'),
    to: timestampField.nullable(),
    time_zone: z.string(),
    ...meantNamesFields,
    session_id: name,
    subagents: z.enum(SUBAGENT_FILTERS),
    group_by: z.array(z.enum(GROUP_KEYS)),
    limit: countField,
  })
  .meta({ id: 'ReportFilters', description: 'What the report was made for' });

const caveatsSchema = z
  .object({
    unfinalised: usageFiguresSchema.shape.unfinalised.extend({
      estimated_cost_usd: fields.costField
        .nullable()
        .describe(
          'What the missing output would cost by its estimate, at the average price of the output of each model; in no total. Null if it was not computed',
        ),
    }),
    unpriced: z.object({
      responses: countField,
      tokens: countField,
      models: z.array(z.string()).describe('Models without a price; at most 100, those with most tokens first'),
      terms: z
        .array(
          z.object({
            model: z.string(),
            service_tier: z.string().nullable(),
            speed: z.string().nullable(),
            has_web_search: z.boolean(),
          }),
        )
        .describe('Models that have a price, but not at this tier, at this speed, or for searches; at most 100'),
    }),
    price_date: z.iso.date().describe('Date of the newest price list'),
    default_priced_responses: usageFiguresSchema.shape.default_priced_responses,
    without_timestamp: countField.describe('Responses without a timestamp, left out if `from` or `to` is set'),
    sessions: z
      .object({
        without_usage: countField.describe('Their transcripts have no usage, so no sum has them'),
        output_only: countField.describe('Sums are too low for these, see `output_only_count` of sessions'),
      })
      .describe('Sessions that began in the requested time and whose usage is partly unknown'),
    disagreements: z
      .object(disagreementFields)
      .describe(
        'Responses whose copies disagree about model, time or figures, if any copy passes the filters, see `GET /v1/analytics/disagreements`',
      ),
  })
  .meta({
    id: 'ReportCaveats',
    description: 'Which figures of the filtered usage are not exact',
  });

const dataRangeSchema = z
  .object({
    sessions: countField,
    first_timestamp: timestampField.nullable(),
    last_timestamp: timestampField.nullable(),
  })
  .meta({ id: 'DataRange', description: 'Sessions that pass the filters, ignoring `from` and `to`, and their times' });

export type DataRange = z.infer<typeof dataRangeSchema>;
export type ReportFilters = z.infer<typeof filtersSchema>;
export type ReportCaveats = z.infer<typeof caveatsSchema>;

/** The data that accompany the rows of every report. */
interface ReportFrame {
  filters: ReportFilters;
  currency_label: string;
  caveats: ReportCaveats;
  data_range: DataRange | null;
}

type Entry<Name extends ReportName> = (typeof REPORTS)[Name];
type Shapes<Name extends ReportName> = ReturnType<Entry<Name>['shapes']>;
type Part<Whole, Key extends string> = Whole extends Record<Key, infer Value> ? Value : unknown;
type Output<Shape> = Shape extends z.ZodRawShape ? z.output<z.ZodObject<Shape>> : unknown;
type Input<Shape> = Shape extends z.ZodRawShape ? z.input<z.ZodObject<Shape>> : unknown;

type FilterShape<Of> = Of extends { isOfParents: true }
  ? Omit<typeof reportFilterFields, 'subagents'>
  : typeof reportFilterFields;
type GroupShape<Of> = Of extends { groupBy: { keys: readonly (infer Key extends GroupKey)[] } }
  ? { group_by: ReturnType<typeof groupByField<Key>>; breakdown: ReturnType<typeof breakdownField<Key>> }
  : unknown;
type QueryShape<Name extends ReportName> = Omit<FilterShape<Entry<Name>>, keyof Part<Shapes<Name>, 'query'>> &
  GroupShape<Entry<Name>> &
  Part<Shapes<Name>, 'query'> & { limit: typeof reportLimitField };

/** The query of a report, as it is requested. */
export type ReportQueryInput<Name extends ReportName> = Input<QueryShape<Name>>;
/** The same with all defaults. */
export type ReportQuery<Name extends ReportName> = Output<QueryShape<Name>>;

export type ReportRow<Name extends ReportName> = Output<Shapes<Name>['row']>;
export type ReportTotals<Name extends ReportName> = Output<Shapes<Name>['totals']>;

/** The result of a report's statement (the answer without the parts of every report). */
export type ReportBody<Name extends ReportName> = {
  rows: ReportRow<Name>[];
  totals: ReportTotals<Name>;
  truncated: boolean;
} & Output<Part<Shapes<Name>, 'rest'>>;

/** Rows by the groups of one `breakdown`. */
export interface ReportBreakdown<Name extends ReportName> {
  group_by: GroupKey[];
  rows: ReportRow<Name>[];
  truncated: boolean;
}

export type ReportAnswer<Name extends ReportName> = ReportFrame &
  ReportBody<Name> & { breakdowns?: ReportBreakdown<Name>[] | undefined };

const toPascalCase = (name: string): string =>
  name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());

function createSchemas(reportName: ReportName) {
  const { description, groupBy, isOfParents, shapes }: ReportEntry = REPORTS[reportName];
  const { query, row, totals, rest } = shapes(fields);
  const { subagents, ...others } = reportFilterFields;
  const id = toPascalCase(reportName);
  const rows = z.array(z.object(row).meta({ id: `${id}Row` }));
  return {
    query: z.strictObject({
      ...others,
      ...(!isOfParents && { subagents }),
      ...(groupBy !== undefined && {
        group_by: groupByField(groupBy.keys, groupBy.fallback),
        breakdown: breakdownField(groupBy.keys),
      }),
      ...query,
      limit: reportLimitField,
    }),
    answer: z
      .object({
        filters: filtersSchema,
        currency_label: z.string().describe('What the workspace calls its currency; nothing is converted'),
        caveats: caveatsSchema,
        rows,
        totals: z.object(totals).describe('Totals of all rows, those beyond `limit` included'),
        truncated: z.boolean().describe('Whether there are more rows than `limit`'),
        data_range: dataRangeSchema.nullable().describe('If there are no rows, when there are data. Null with rows'),
        ...(groupBy !== undefined && {
          breakdowns: z
            .array(z.object({ group_by: z.array(z.enum(GROUP_KEYS)), rows, truncated: z.boolean() }))
            .optional()
            .describe('One for each `breakdown` of the request, in its order; all are of one snapshot'),
        }),
        ...rest,
      })
      .meta({ id: `${id}Report`, description }),
  };
}

/** The schemas of each report's query and answer. */
export const REPORT_SCHEMAS = Object.fromEntries(
  REPORT_NAMES.map((each) => [each, createSchemas(each)]),
) as unknown as {
  [Name in ReportName]: {
    query: z.ZodType<ReportQuery<Name>, ReportQueryInput<Name>>;
    answer: z.ZodType<ReportAnswer<Name>>;
  };
};

export type UsageReport = ReportAnswer<'usage'>;
export type ModelsReport = ReportAnswer<'models'>;
export type SessionsReport = ReportAnswer<'sessions'>;
export type DisagreementsReport = ReportAnswer<'disagreements'>;
export type ReconciliationReport = ReportAnswer<'reconciliation'>;
export type FindingsReport = ReportAnswer<'findings'>;
export type AddressedReport = ReportAnswer<'addressed'>;
export type ForecastReport = ReportAnswer<'forecast'>;
export type ChangesReport = ReportAnswer<'changes'>;
