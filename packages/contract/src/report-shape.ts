import { TOOL_KINDS } from '@recount/core';
import { z } from 'zod';
import { GROUP_KEYS, reportFilterFields, reportLimitField, SUBAGENT_FILTERS } from './analytics-query.ts';
import { countField, timestampField } from './fields.ts';
import { costField, usageFiguresSchema } from './usage-figures.ts';

export { CALL_KEYS, EVENT_KEYS, SESSION_KEYS, USAGE_KEYS } from './choices.ts';

export const name = z.string().nullable();
export const ratio = z.number().min(0).max(1).nullable();
export const milliseconds = z.number().min(0).nullable();

/** The subject of a row, with exactly the keys of `group_by`. */
export const groupFields = {
  hour: name.optional().describe('Its beginning in the time zone, with the offset: `2026-03-29T03:00:00+02:00`'),
  day: name.optional().describe('Date in the time zone; null, as in all times, for what has no timestamp'),
  week: name.optional().describe('Date of its Monday'),
  month: name.optional().describe('`2026-03`'),
  model: name.optional(),
  project: name.optional(),
  git_branch: name.optional(),
  agent: name.optional(),
  agent_version: name.optional(),
  person: name.optional(),
  machine: name.optional(),
  session: z.string().optional().describe('Session id'),
  tool: z.string().optional(),
  tool_kind: z
    .string()
    .optional()
    .describe(`What the tool does, whatever its agent calls it: ${TOOL_KINDS.join(', ')}`),
};

/** Responses whose copies disagree. */
export const disagreementFields = {
  responses: countField,
  cost_usd: costField.describe('What they are counted with'),
  lowest_cost_usd: costField.describe('By the cheapest copy of each'),
  highest_cost_usd: costField.describe('By the most expensive copy of each'),
};

const filtersSchema = z
  .object({
    from: timestampField.nullable().describe('As the moment that it means'),
    to: timestampField.nullable(),
    time_zone: z.string(),
    agent: name,
    project: name,
    git_branch: name,
    machine: name,
    person: name,
    model: name,
    session_id: name,
    subagents: z.enum(SUBAGENT_FILTERS),
    group_by: z.array(z.enum(GROUP_KEYS)),
    limit: countField,
  })
  .meta({ id: 'ReportFilters', description: 'What the report was made for' });

const caveatsSchema = z
  .object({
    unfinalised: usageFiguresSchema.shape.unfinalised,
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

/** A report's answer, rows, and what accompanies them in every report. */
export function reportSchema<
  Row extends z.ZodRawShape,
  Totals extends z.ZodRawShape,
  Rest extends z.ZodRawShape = Record<never, never>,
>(id: string, description: string, row: Row, totals: Totals, rest: Rest = {} as Rest) {
  return z
    .object({
      filters: filtersSchema,
      currency_label: z.string().describe('What the workspace calls its currency; nothing is converted'),
      caveats: caveatsSchema,
      rows: z.array(z.object(row).meta({ id: `${id}Row` })),
      totals: z.object(totals).describe('Totals of all rows, those beyond `limit` included'),
      truncated: z.boolean().describe('Whether there are more rows than `limit`'),
      data_range: dataRangeSchema.nullable().describe('If there are no rows, when there are data. Null with rows'),
      ...rest,
    })
    .meta({ id: `${id}Report`, description });
}

export const querySchema = <Extra extends z.ZodRawShape>(extra: Extra) =>
  z.strictObject({ ...reportFilterFields, ...extra, limit: reportLimitField });
