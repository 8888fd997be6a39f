import { SESSION_KEYS, SUBAGENT_FILTERS, USAGE_KEYS } from '../choices.ts';
import { figure, usageFigures } from './page-figures.ts';
import { cost, count, duration, ratio, text, time, usageColumns } from './report-columns.ts';
import { defineReport, type ReportCommand, type ReportPage } from './report-entry.ts';

const MAX_TOP_SESSIONS = 100;
const DEFAULT_TOP_SESSIONS = 10;
const MAX_IDLE_THRESHOLD_MS = 24 * 60 * 60_000;

const byTime = (name: string, by: 'day' | 'week' | 'month'): ReportCommand => ({
  name,
  alias: by,
  help: `Tokens and cost by ${by}`,
  title: `Usage by ${by}`,
  columns: usageColumns('own.'),
  by,
  isByTime: true,
  hasBreakdown: true,
});

const byKey = (key: 'project' | 'agent' | 'person' | 'machine', label: string, noun: string): ReportPage => ({
  ...{ page: key === 'project' || key === 'agent' ? 'projects' : 'people', id: key, label, noun, name: key },
  query: { group_by: key },
  ...(key === 'project' && { shortens: 'path' }),
  filters: { [key]: key },
  figures: usageFigures('own.'),
  trend: { query: { group_by: 'day' }, figure: figure('money', 'Cost', 'own.cost_usd') },
});

/** Reports on tokens and cost. */
export const USAGE_REPORTS = {
  usage: defineReport({
    description: 'Tokens and cost. In the order of time, then the most expensive first',
    groupBy: { keys: USAGE_KEYS, fallback: ['day'] },
    shapes: ({ countField, groupFields, ownAndSharedUsageFields, sessionCountField }) => {
      const figures = {
        sessions: sessionCountField,
        messages: countField
          .nullable()
          .describe(
            'Messages in the sessions, copies included; null if responses are grouped or filtered by model, branch or version, which not every message has',
          ),
        user_messages: countField.nullable().describe('Part of `messages`, tool results included'),
        ...ownAndSharedUsageFields,
      };
      return { row: { ...groupFields, ...figures }, totals: figures };
    },
    commands: [
      {
        name: 'usage',
        help: 'Tokens and cost, grouped by --group-by',
        title: 'Usage',
        columns: [...usageColumns('own.'), count('SHARED', 'shared.responses', 0)],
        by: 'project',
      },
      byTime('daily', 'day'),
      byTime('weekly', 'week'),
      byTime('monthly', 'month'),
    ],
    pages: [
      byKey('project', 'Projects', 'Project'),
      byKey('agent', 'Agents', 'Agent'),
      byKey('person', 'People', 'Person'),
      byKey('machine', 'Machines', 'Machine'),
    ],
  }),

  models: defineReport({
    description: 'Models in use, the most expensive first',
    shapes: ({ z, countField, name, sessionCountField, timestampField, usageFiguresSchema }) => ({
      row: {
        model: name.describe('As the transcripts name it; null if they name none'),
        is_priced: z.boolean().describe('Whether all of its responses have a price'),
        sessions: sessionCountField,
        first_used: timestampField.nullable().describe('In multiples of 15 minutes'),
        last_used: timestampField.nullable().describe('In multiples of 15 minutes'),
        ...usageFiguresSchema.shape,
      },
      totals: { models: countField, sessions: sessionCountField, ...usageFiguresSchema.shape },
    }),
    commands: [
      {
        name: 'models',
        help: 'Models in use, and those without a price',
        title: 'Models',
        columns: [{ ...text('MODEL', 'model'), minWidth: 26 }, ...usageColumns(), count('SESSIONS', 'sessions', 2)],
      },
    ],
    pages: [
      {
        ...{ page: 'models', id: 'models', label: 'Models', noun: 'Model', name: 'model', shortens: 'model' },
        marksUnpriced: true,
        filters: { model: 'model' },
        figures: usageFigures(),
      },
    ],
  }),

  sessions: defineReport({
    description: 'Sessions by their beginning, with figures of the whole of each',
    groupBy: { keys: SESSION_KEYS, fallback: [] },
    shapes: ({ z, costField, countField, groupFields, knownCostField, name, sessionIdField, timestampField }) => {
      const distribution = z
        .object({ p50: z.number(), p90: z.number(), p99: z.number(), max: z.number(), mean: z.number() })
        .nullable()
        .meta({
          id: 'Distribution',
          description: 'Over sessions. Percentiles are figures of a session; null without one',
        });
      const figures = {
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
        row: { ...groupFields, ...figures },
        totals: figures,
        rest: {
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
            .describe(
              'How `own_cost_usd` of the totals relates to the usage report, as own + left out + beyond = usage',
            ),
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
  }),

  blocks: defineReport({
    description:
      'Blocks of five hours, the window of the vendor’s limits, in order of time. One starts at the full hour (UTC) of the first response after the end of the previous one; of the filters only `agent` affects that, the others select what is counted',
    shapes: ({ z, countField, timestampField, usageFiguresSchema }) => ({
      row: {
        start: timestampField,
        end: timestampField.describe('Five hours later; 9999-12-31T23:59:59.999Z at most'),
        is_active: z.boolean().describe('Whether it is not over yet'),
        sessions: countField.describe('Credited with a response, because copies use nothing of a limit'),
        models: z.array(z.string()),
        ...usageFiguresSchema.shape,
      },
      totals: { blocks: countField, ...usageFiguresSchema.shape },
    }),
    commands: [
      {
        name: 'blocks',
        help: 'Five-hour blocks, the provider’s rate-limit window',
        title: 'Five-hour blocks',
        columns: [time('START', 'start'), text('MODELS', 'models', 7), ...usageColumns()],
      },
    ],
  }),

  disagreements: defineReport({
    description:
      'Copies of API responses that disagree, with their places and uploaders; the largest range of costs first. A response is listed, with all of its copies, if any of them passes the filters',
    shapes: (fields) => {
      const { z, costField, countField, name } = fields;
      return {
        row: {
          response_id: z.string().describe('The same in all of its copies'),
          disagreements: z
            .array(z.enum(['model', 'time', 'figures']))
            .describe(
              '`model` means they name different ones. `time` means they are more than 15 minutes apart. `figures` means tokens or terms of price differ by more than a streaming placeholder does',
            ),
          cost_range_usd: costField.describe('Between the cheapest and the most expensive copy of the response'),
          session_id: fields.sessionIdField,
          transcript_id: fields.transcriptIdField,
          line_number: countField,
          uploader_key_id: fields.uploaderField,
          is_credited: z.boolean().describe('Whether the session of this copy is credited with the response'),
          has_figures: z.boolean().describe('Whether the figures that count are this copy’s'),
          model: name,
          timestamp: fields.timestampField.nullable(),
          is_unfinalised: z.boolean(),
          tokens_in: countField,
          tokens_out: countField,
          cache_read: countField,
          cache_write: countField,
          cost_usd: costField.nullable(),
        },
        totals: fields.disagreementFields,
      };
    },
    commands: [
      {
        name: 'disagreements',
        help: 'Copies of a response that disagree, and who uploaded them',
        title: 'Copies of responses that disagree',
        columns: [
          { ...text('RESPONSE', 'response_id'), minWidth: 14 },
          text('ABOUT', 'disagreements', 9),
          { ...text('TRANSCRIPT', 'transcript_id'), minWidth: 26 },
          { ...count('LINE', 'line_number'), isOfRowsOnly: true },
          { ...text('UPLOADER', 'uploader_key_id', 8), minWidth: 26 },
          text('SESSION', 'session_id', 2),
          text('CREDITED', 'is_credited', 4),
          text('COUNTS', 'has_figures', 5),
          text('MODEL', 'model', 6),
          time('TIME', 'timestamp', 3),
          { ...count('OUTPUT', 'tokens_out', 7), isOfRowsOnly: true },
          cost('cost_usd'),
        ],
      },
    ],
  }),

  reconciliation: defineReport({
    description: 'Sessions whose transcript has the agent’s own total, with ours; the largest difference first',
    shapes: ({ z, costField, countField, knownCostField, name, sessionIdField, timestampField }) => {
      const figures = {
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
      return {
        row: {
          session_id: sessionIdField,
          title: name,
          project: name,
          first_timestamp: timestampField.nullable(),
          ...figures,
        },
        totals: { sessions: countField, sessions_within_one_percent: countField, ...figures },
      };
    },
    commands: [
      {
        name: 'reconciliation',
        help: 'Costs compared with the agent’s own reports',
        title: 'Our costs compared with the agent’s own',
        columns: [
          text('SESSION', 'session_id'),
          text('TITLE', 'title', 1),
          time('BEGAN', 'first_timestamp', 2),
          cost('reported_cost_usd', 'REPORTED'),
          cost('computed_cost_usd', 'COMPUTED'),
          cost('difference_usd', 'DIFFERENCE'),
          ratio('OFF BY', 'difference_ratio', 5),
          count('UNFINALISED', 'unfinalised_responses', 4),
          count('UNPRICED', 'unpriced_responses', 3),
        ],
      },
    ],
  }),
};
