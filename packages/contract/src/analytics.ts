import { z } from 'zod';
import { GROUP_KEYS, groupByField, reportFilterFields, reportLimitField, SUBAGENT_FILTERS } from './analytics-query.ts';
import { countField, sessionIdField, timestampField } from './fields.ts';
import { costField, ownAndSharedUsageFields, usageFiguresSchema } from './usage-figures.ts';

const TIMES = ['hour', 'day', 'week', 'month'] as const;
const SESSION_KEYS = [...TIMES, 'project', 'git_branch', 'agent', 'agent_version'] as const;
const EVENT_KEYS = [...SESSION_KEYS, 'session'] as const;
const USAGE_KEYS = [...TIMES, 'model', 'project', 'git_branch', 'agent', 'agent_version', 'session'] as const;
const CALL_KEYS = [...USAGE_KEYS, 'tool'] as const;
const MAX_TOP_SESSIONS = 100;
const MAX_IDLE_THRESHOLD_MS = 24 * 60 * 60_000;

const name = z.string().nullable();
const ratio = z.number().min(0).max(1).nullable();
const milliseconds = z.number().min(0).nullable();

/** What a row is about: the keys of `group_by`, and no others. */
const groupFields = {
  hour: name.optional().describe('Its beginning in the time zone, with the offset: `2026-03-29T03:00:00+02:00`'),
  day: name.optional().describe('Date in the time zone; null, as in all times, for what has no timestamp'),
  week: name.optional().describe('Date of its Monday'),
  month: name.optional().describe('`2026-03`'),
  model: name.optional(),
  project: name.optional(),
  git_branch: name.optional(),
  agent: name.optional(),
  agent_version: name.optional(),
  session: z.string().optional().describe('Session id'),
  tool: z.string().optional(),
};

const filtersSchema = z
  .object({
    from: timestampField.nullable().describe('As the moment that it stands for'),
    to: timestampField.nullable(),
    time_zone: z.string(),
    agent: name,
    project: name,
    git_branch: name,
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
      models: z.array(z.string()).describe('At most 100, those with most tokens first'),
    }),
    default_priced_responses: usageFiguresSchema.shape.default_priced_responses,
    without_timestamp: countField.describe('Responses without a timestamp: left out where `from` or `to` is given'),
  })
  .meta({
    id: 'ReportCaveats',
    description: 'What the usage that passes the filters is less than exact about, credited responses only',
  });

export type ReportFilters = z.infer<typeof filtersSchema>;
export type ReportCaveats = z.infer<typeof caveatsSchema>;

/** A report's answer: rows, and what stands around them in every report. */
function reportSchema<
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
      totals: z.object(totals).describe('Of all rows, also those beyond `limit`'),
      truncated: z.boolean().describe('Whether there are more rows than `limit`'),
      ...rest,
    })
    .meta({ id: `${id}Report`, description });
}

const querySchema = <Extra extends z.ZodRawShape>(extra: Extra) =>
  z.strictObject({ ...reportFilterFields, ...extra, limit: reportLimitField });

// Usage

export const usageReportQuerySchema = querySchema({ group_by: groupByField(USAGE_KEYS, ['day']) });

const usageRowFields = {
  sessions: countField.describe('Sessions that hold a response'),
  messages: countField
    .nullable()
    .describe(
      'Messages in the sessions, copies included; null where responses are grouped or filtered by model, branch or version, which not every message has',
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
  sessions: countField,
  first_used: timestampField.nullable().describe('To a quarter of an hour'),
  last_used: timestampField.nullable().describe('To a quarter of an hour'),
  ...usageFiguresSchema.shape,
};

export const modelsReportSchema = reportSchema(
  'Models',
  'Models in use, the most expensive first',
  {
    model: name.describe('As the transcripts name it; null where they name none'),
    is_priced: z.boolean().describe('Whether all of its responses have a price'),
    ...modelRowFields,
  },
  { models: countField, ...usageFiguresSchema.shape },
);

// Sessions

export const sessionsReportQuerySchema = querySchema({
  subagents: z
    .enum(SUBAGENT_FILTERS)
    .default('exclude')
    .describe('Sessions of sub-agents: with the rest, left out, or alone'),
  group_by: groupByField(SESSION_KEYS),
  idle_threshold_ms: z.coerce
    .number()
    .int()
    .min(1000)
    .max(MAX_IDLE_THRESHOLD_MS)
    .default(5 * 60_000)
    .describe('Longer pauses between messages are no active time; other than 300000, it is computed from all messages'),
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
  .meta({ id: 'Distribution', description: 'Over sessions: percentiles are figures of a session; null without one' });

const sessionRowFields = {
  sessions: countField.describe('That began in the time asked for'),
  prompts: countField.describe('That a person gave in the main conversation'),
  turns: countField.describe('Prompts that were answered'),
  messages: countField,
  tool_uses: countField,
  duration_ms: countField.describe('First to last timestamp, all sessions together'),
  active_ms: countField.describe('The same without pauses longer than the idle threshold'),
  cost_usd: costField.describe('Of all sessions; what they share with others is in each of them'),
  own_cost_usd: costField.describe('The same with every response counted once'),
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
          cost_usd: costField,
          own_cost_usd: costField,
          shared_cost_usd: costField,
        })
        .meta({ id: 'ExpensiveSession' }),
    ),
  },
);

export const reconciliationReportQuerySchema = querySchema({});

const reconciliationFields = {
  reported_cost_usd: costField.describe('The agent’s own last total'),
  computed_cost_usd: costField.describe('Ours: of the session and of its sub-agents'),
  subagent_cost_usd: costField.describe('Part of `computed_cost_usd`'),
  difference_usd: costField.describe('`computed_cost_usd` − `reported_cost_usd`'),
  difference_ratio: z.number().nullable().describe('`difference_usd` / `reported_cost_usd`; null where that is 0'),
  unfinalised_responses: countField,
  unpriced_responses: countField,
};

export const reconciliationReportSchema = reportSchema(
  'Reconciliation',
  'Sessions whose transcript holds the agent’s own total, beside ours; the largest difference first',
  {
    session_id: sessionIdField,
    title: name,
    project: name,
    first_timestamp: timestampField.nullable(),
    ...reconciliationFields,
  },
  { sessions: countField, sessions_within_one_percent: countField, ...reconciliationFields },
);

// Tools

const callFields = {
  calls: countField,
  sessions: countField,
  results: countField.describe('Calls that have a result'),
  errors: countField.describe('Calls whose result tells of a failure'),
  error_rate: ratio.describe('`errors` / `results`; null without results'),
  denied: countField.describe('Refused by the user, a rule or a hook'),
  output_bytes: countField.describe('Of the results’ texts'),
  estimated_tokens: countField.describe(
    'Estimate of what the results brought into the context: a quarter of their bytes',
  ),
};

const durationFields = {
  duration_p50_ms: milliseconds.describe('From the tool use to its result; null where none is timed'),
  duration_p95_ms: milliseconds,
};

export const toolsReportQuerySchema = querySchema({
  group_by: groupByField(CALL_KEYS, ['tool']),
  percentiles: z
    .enum(['true', 'false'])
    .default('true')
    .transform((value) => value === 'true')
    .describe(
      'Whether durations are computed, from every single call; without, they are null and the answer is faster',
    ),
});

export const toolsReportSchema = reportSchema(
  'Tools',
  'Tool calls, each once however many transcripts hold a copy; most calls first',
  {
    ...groupFields,
    ...callFields,
    input_bytes: countField,
    duration_mean_ms: milliseconds,
    timed_calls: countField,
    ...durationFields,
  },
  {
    ...callFields,
    input_bytes: countField,
    duration_mean_ms: milliseconds,
    timed_calls: countField,
    ...durationFields,
  },
);

export const filesReportQuerySchema = querySchema({
  sort: z.enum(['calls', 'reads', 'edits']).default('calls').describe('What there is most of comes first'),
});

const fileFields = {
  calls: countField,
  reads: countField,
  edits: countField.describe('Edits and writes that did not fail'),
  errors: countField,
  sessions: countField,
  output_bytes: countField,
  estimated_tokens: callFields.estimated_tokens,
};

export const filesReportSchema = reportSchema(
  'Files',
  'Files that tools read and edited',
  { file_path: z.string(), project: name, ...fileFields },
  { files: countField, ...fileFields },
);

export const programsReportQuerySchema = querySchema({});

export const programsReportSchema = reportSchema(
  'Programs',
  'Shell commands by their first program, most calls first',
  { program: z.string(), ...callFields, ...durationFields },
  { programs: countField, ...callFields, ...durationFields },
);

export const mcpServersReportQuerySchema = querySchema({});

export const mcpServersReportSchema = reportSchema(
  'McpServers',
  'Calls to MCP servers, most calls first',
  { mcp_server: z.string(), tools: countField.describe('Different tools called'), ...callFields },
  { mcp_servers: countField, ...callFields },
);

export const skillsReportQuerySchema = querySchema({});

export const skillsReportSchema = reportSchema(
  'Skills',
  'Skills loaded, most calls first',
  { skill_name: z.string(), ...callFields },
  { skills: countField, ...callFields },
);

export const permissionDenialsReportQuerySchema = querySchema({});

const denialFields = {
  denied: countField,
  calls: countField.describe('All calls of the kind'),
  denial_rate: ratio,
  sessions: countField.describe('In which one was denied'),
};

export const permissionDenialsReportSchema = reportSchema(
  'PermissionDenials',
  'Tool calls refused by the user, a rule or a hook; most denials first',
  { tool: z.string(), program: name.describe('Of shell commands'), ...denialFields },
  denialFields,
);

// Sub-agents and events

const { subagents: _subagents, ...parentFilterFields } = reportFilterFields;

export const subagentsReportQuerySchema = z.strictObject({
  ...parentFilterFields,
  group_by: groupByField(['project', 'agent', 'session']),
  limit: reportLimitField,
});

const subagentFields = {
  calls: countField.describe('Tool uses that start one'),
  errors: countField,
  denied: countField,
  parents: countField.describe('Sessions that started one'),
  subagents: countField.describe('Sub-agents that made a response'),
  ...usageFiguresSchema.shape,
};

export const subagentsReportSchema = reportSchema(
  'Subagents',
  'Sub-agents by type with what they used; the most expensive first. Project, agent and session are their parent’s',
  {
    project: groupFields.project,
    agent: groupFields.agent,
    session: groupFields.session,
    subagent_type: name.describe('Null where no call tells it'),
    ...subagentFields,
    mean_cost_usd: costField.nullable().describe('For each of `subagents`'),
  },
  subagentFields,
);

export const compactionsReportQuerySchema = querySchema({ group_by: groupByField(EVENT_KEYS) });

const compactionFields = {
  compactions: countField,
  sessions: countField,
  pre_tokens_p50: z.number().nullable().describe('Tokens in the context before; null where no line tells'),
  pre_tokens_max: z.number().nullable(),
};

export const compactionsReportSchema = reportSchema(
  'Compactions',
  'Compactions of the context by what triggered them',
  { ...groupFields, trigger: name, ...compactionFields },
  compactionFields,
);

export const apiErrorsReportQuerySchema = querySchema({ group_by: groupByField(EVENT_KEYS) });

const apiErrorFields = {
  errors: countField,
  retries: countField,
  sessions: countField,
  retry_wait_ms: z.number().describe('Pauses before retries, as far as the lines tell'),
};

export const apiErrorsReportSchema = reportSchema(
  'ApiErrors',
  'Errors of the model’s API and retries, by what the line names',
  { ...groupFields, error: name, ...apiErrorFields },
  apiErrorFields,
);

export const pullRequestsReportQuerySchema = querySchema({});

const pullRequestCostFields = {
  sessions: countField,
  responses: countField,
  total_tokens: countField,
  cost_usd: costField.describe('Of the sessions and their sub-agents, from beginning to end, each response once'),
};

export const pullRequestsReportSchema = reportSchema(
  'PullRequests',
  'Pull requests that sessions are linked to, newest link first. A session linked to several is in each; in the totals once',
  {
    url: z.string(),
    repository: name,
    number: z.number().nullable(),
    first_linked: timestampField.nullable(),
    last_linked: timestampField.nullable(),
    ...pullRequestCostFields,
  },
  { pull_requests: countField, mean_cost_usd: costField.nullable(), ...pullRequestCostFields },
);

// Blocks

export const blocksReportQuerySchema = querySchema({});

export const blocksReportSchema = reportSchema(
  'Blocks',
  'Blocks of five hours, as the vendor’s limits have them, in the order of time. One starts at the full hour (UTC) of the first response after the end of the one before, whatever the filters but `agent`; the others choose what is counted in it',
  {
    start: timestampField,
    end: timestampField.describe('Five hours later'),
    is_active: z.boolean().describe('Whether it is not over yet'),
    sessions: countField,
    models: z.array(z.string()),
    ...usageFiguresSchema.shape,
  },
  { blocks: countField, ...usageFiguresSchema.shape },
);

export type UsageReport = z.infer<typeof usageReportSchema>;
export type ModelsReport = z.infer<typeof modelsReportSchema>;
export type SessionsReport = z.infer<typeof sessionsReportSchema>;
export type ReconciliationReport = z.infer<typeof reconciliationReportSchema>;
export type ToolsReport = z.infer<typeof toolsReportSchema>;
export type FilesReport = z.infer<typeof filesReportSchema>;
export type ProgramsReport = z.infer<typeof programsReportSchema>;
export type McpServersReport = z.infer<typeof mcpServersReportSchema>;
export type SkillsReport = z.infer<typeof skillsReportSchema>;
export type PermissionDenialsReport = z.infer<typeof permissionDenialsReportSchema>;
export type SubagentsReport = z.infer<typeof subagentsReportSchema>;
export type CompactionsReport = z.infer<typeof compactionsReportSchema>;
export type ApiErrorsReport = z.infer<typeof apiErrorsReportSchema>;
export type PullRequestsReport = z.infer<typeof pullRequestsReportSchema>;
export type BlocksReport = z.infer<typeof blocksReportSchema>;
