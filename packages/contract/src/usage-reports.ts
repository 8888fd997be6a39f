import { z } from 'zod';
import { groupByField, SUBAGENT_FILTERS } from './analytics-query.ts';
import { countField, sessionIdField, timestampField, transcriptIdField, uploaderField } from './fields.ts';
import {
  disagreementFields,
  groupFields,
  name,
  querySchema,
  reportSchema,
  SESSION_KEYS,
  USAGE_KEYS,
} from './report-shape.ts';
import { costField, knownCostField, ownAndSharedUsageFields, usageFiguresSchema } from './usage-figures.ts';

const MAX_TOP_SESSIONS = 100;
const MAX_IDLE_THRESHOLD_MS = 24 * 60 * 60_000;

export const usageReportQuerySchema = querySchema({ group_by: groupByField(USAGE_KEYS, ['day']) });

/** One count in every report of usage; see docs/accuracy.md. */
const sessionCountField = countField.describe('Sessions that contain a response, own or shared; in totals each once');

const usageRowFields = {
  sessions: sessionCountField,
  messages: countField
    .nullable()
    .describe(
      'Messages in the sessions, copies included; null if responses are grouped or filtered by model, branch or version, which not every message has',
    ),
  user_messages: countField.nullable().describe('Part of `messages`, tool results included'),
  ...ownAndSharedUsageFields,
};

export const usageReportSchema = reportSchema(
  'Usage',
  'Tokens and cost. In the order of time, then the most expensive first',
  { ...groupFields, ...usageRowFields },
  usageRowFields,
);

export const modelsReportQuerySchema = querySchema({});

const modelRowFields = {
  sessions: sessionCountField,
  first_used: timestampField.nullable().describe('In multiples of 15 minutes'),
  last_used: timestampField.nullable().describe('In multiples of 15 minutes'),
  ...usageFiguresSchema.shape,
};

export const modelsReportSchema = reportSchema(
  'Models',
  'Models in use, the most expensive first',
  {
    model: name.describe('As the transcripts name it; null if they name none'),
    is_priced: z.boolean().describe('Whether all of its responses have a price'),
    ...modelRowFields,
  },
  { models: countField, sessions: sessionCountField, ...usageFiguresSchema.shape },
);

export const sessionsReportQuerySchema = querySchema({
  subagents: z
    .enum(SUBAGENT_FILTERS)
    .default('exclude')
    .describe('Sessions of sub-agents with the rest, left out, or alone'),
  group_by: groupByField(SESSION_KEYS),
  idle_threshold_ms: z.coerce
    .number()
    .int()
    .min(1000)
    .max(MAX_IDLE_THRESHOLD_MS)
    .default(5 * 60_000)
    .describe(
      'Longer pauses between messages are not active time; other than 300000, it is computed from all messages',
    ),
  top: z.coerce
    .number()
    .int()
    .min(0)
    .max(MAX_TOP_SESSIONS)
    .default(10)
    .describe('How many of the most expensive sessions to list'),
});

const distributionSchema = z
  .object({ p50: z.number(), p90: z.number(), p99: z.number(), max: z.number(), mean: z.number() })
  .nullable()
  .meta({ id: 'Distribution', description: 'Over sessions. Percentiles are figures of a session; null without one' });

const sessionRowFields = {
  sessions: countField.describe('That began in the time asked for'),
  prompts: countField.describe('That a person gave in the main conversation'),
  turns: countField.describe('Prompts that were answered'),
  messages: countField,
  tool_uses: countField,
  duration_ms: countField.describe('First to last timestamp, all sessions together'),
  active_ms: countField.describe('The same without pauses longer than the idle threshold'),
  cost_usd: knownCostField.describe(
    'Cost of all sessions that have one; shared usage is in each session. Null if no session has one',
  ),
  unpriced_responses: countField.describe('Responses that `cost_usd` lacks'),
  unpriced_sessions: countField.describe(
    'Sessions with responses but without any price. `cost_usd` and its distribution are of the others',
  ),
  own_cost_usd: knownCostField.describe('The same with every response counted once'),
  own_unpriced_responses: countField.describe('Responses that `own_cost_usd` lacks'),
  distribution: z.object({
    total_tokens: distributionSchema,
    cost_usd: distributionSchema,
    duration_ms: distributionSchema,
    active_ms: distributionSchema,
  }),
};

export const sessionsReportSchema = reportSchema(
  'Sessions',
  'Sessions by their beginning, with figures of the whole of each',
  { ...groupFields, ...sessionRowFields },
  sessionRowFields,
  {
    idle_threshold_ms: countField,
    usage: z
      .object({
        cost_usd: knownCostField.describe('The usage report’s total for the same filters, sub-agents included'),
        left_out_cost_usd: knownCostField.describe(
          'Own cost of the sessions that the filter of sub-agents leaves out (with `exclude`, of sub-agents)',
        ),
        beyond_filters_cost_usd: costField
          .nullable()
          .describe(
            'The remaining difference. Sessions count whole, usage only the responses that pass the filters, such as those in the requested time. Null if a cost is unknown',
          ),
      })
      .describe('How `own_cost_usd` of the totals relates to the usage report, as own + left out + beyond = usage'),
    most_expensive: z.array(
      z
        .object({
          session_id: sessionIdField,
          title: name.describe('Or else the beginning of the first prompt'),
          project: name,
          git_branch: name,
          agent: z.string(),
          is_subagent: z.boolean(),
          first_timestamp: timestampField.nullable(),
          duration_ms: countField,
          active_ms: countField,
          prompts: countField,
          total_tokens: countField,
          cost_usd: knownCostField,
          own_cost_usd: knownCostField,
          shared_cost_usd: knownCostField,
          unpriced_responses: countField.describe('Own and shared ones, which the costs lack'),
        })
        .meta({ id: 'ExpensiveSession' }),
    ),
  },
);

export const reconciliationReportQuerySchema = querySchema({});

const reconciliationFields = {
  reported_cost_usd: costField.describe('The agent’s own last total'),
  computed_cost_usd: knownCostField.describe(
    'Our figure for the session and its sub-agents; null if there are responses and none has a price',
  ),
  subagent_cost_usd: knownCostField.describe('Part of `computed_cost_usd`'),
  difference_usd: costField
    .nullable()
    .describe('`computed_cost_usd` − `reported_cost_usd`; in totals, of the sessions that have both'),
  difference_ratio: z
    .number()
    .nullable()
    .describe('`difference_usd` / `reported_cost_usd`, of the same sessions; null if that is 0'),
  unfinalised_responses: countField,
  unpriced_responses: countField,
};

export const reconciliationReportSchema = reportSchema(
  'Reconciliation',
  'Sessions whose transcript has the agent’s own total, with ours; the largest difference first',
  {
    session_id: sessionIdField,
    title: name,
    project: name,
    first_timestamp: timestampField.nullable(),
    ...reconciliationFields,
  },
  { sessions: countField, sessions_within_one_percent: countField, ...reconciliationFields },
);

export const disagreementsReportQuerySchema = querySchema({});

export const disagreementsReportSchema = reportSchema(
  'Disagreements',
  'Copies of API responses that disagree, with their places and uploaders; the largest range of costs first. A response is listed, with all of its copies, if any of them passes the filters',
  {
    response_id: z.string().describe('The same in all of its copies'),
    disagreements: z
      .array(z.enum(['model', 'time', 'figures']))
      .describe(
        '`model` means they name different ones. `time` means they are more than 15 minutes apart. `figures` means tokens or terms of price differ by more than a streaming placeholder does',
      ),
    cost_range_usd: costField.describe('Between the cheapest and the most expensive copy of the response'),
    session_id: sessionIdField,
    transcript_id: transcriptIdField,
    line_number: countField,
    uploader_key_id: uploaderField,
    is_credited: z.boolean().describe('Whether the session of this copy is credited with the response'),
    has_figures: z.boolean().describe('Whether the figures that count are this copy’s'),
    model: name,
    timestamp: timestampField.nullable(),
    is_unfinalised: z.boolean(),
    tokens_in: countField,
    tokens_out: countField,
    cache_read: countField,
    cache_write: countField,
    cost_usd: costField.nullable(),
  },
  disagreementFields,
);

export type UsageReport = z.infer<typeof usageReportSchema>;
export type ModelsReport = z.infer<typeof modelsReportSchema>;
export type SessionsReport = z.infer<typeof sessionsReportSchema>;
export type DisagreementsReport = z.infer<typeof disagreementsReportSchema>;
export type ReconciliationReport = z.infer<typeof reconciliationReportSchema>;
