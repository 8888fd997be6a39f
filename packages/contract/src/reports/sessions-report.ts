import { SESSION_KEYS, SUBAGENT_FILTERS } from '../choices.ts';
import { cost, count, duration } from './report-columns.ts';
import { defineReport, type Fields } from './report-entry.ts';

const MAX_TOP_SESSIONS = 100;
const DEFAULT_TOP_SESSIONS = 10;
const MAX_IDLE_THRESHOLD_MS = 24 * 60 * 60_000;

function toFigures({ z, countField, knownCostField }: Fields) {
  const distribution = z
    .object({ p50: z.number(), p90: z.number(), p99: z.number(), max: z.number(), mean: z.number() })
    .nullable()
    .meta({
      id: 'Distribution',
      description: 'Over sessions. Percentiles are figures of a session; null without one',
    });
  return {
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
      total_tokens: distribution,
      cost_usd: distribution,
      duration_ms: distribution,
      active_ms: distribution,
    }),
  };
}

const toRest = ({
  z,
  costField,
  countField,
  knownCostField,
  name,
  sessionIdField,
  timestampField,
  titleField,
}: Fields) => ({
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
        title: titleField,
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
});

/** The report on sessions as a whole. */
export const SESSIONS_REPORT = defineReport({
  description: 'Sessions by their beginning, with figures of the whole of each',
  groupBy: { keys: SESSION_KEYS, fallback: [] },
  shapes: (fields) => {
    const { z } = fields;
    const figures = toFigures(fields);
    return {
      query: {
        subagents: z
          .enum(SUBAGENT_FILTERS)
          .default('exclude')
          .describe('Sessions of sub-agents with the rest, left out, or alone'),
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
          .default(DEFAULT_TOP_SESSIONS)
          .describe('How many of the most expensive sessions to list'),
      },
      row: { ...fields.groupFields, ...figures },
      totals: figures,
      rest: toRest(fields),
    };
  },
  commands: [
    {
      name: 'sessions',
      help: 'Number, duration and cost of sessions; the most expensive',
      title: 'Sessions',
      columns: [
        count('SESSIONS', 'sessions'),
        count('PROMPTS', 'prompts', 6),
        count('TURNS', 'turns', 4),
        count('MESSAGES', 'messages', 2),
        count('TOOL USES', 'tool_uses', 1),
        duration('DURATION', 'duration_ms', 3),
        duration('ACTIVE', 'active_ms', 7),
        { ...cost('own_cost_usd', 'OWN COST'), rank: 5 },
        cost('cost_usd'),
        count('UNPRICED', 'unpriced_responses', 0),
      ],
      options: [
        {
          flags: '--with-subagents',
          help: 'count sub-agents as sessions, too',
          sets: { parameter: 'subagents', value: 'include' },
        },
        {
          flags: '--top <n>',
          help: 'most expensive sessions',
          range: [0, MAX_TOP_SESSIONS],
          fallback: DEFAULT_TOP_SESSIONS,
        },
      ],
    },
  ],
});
