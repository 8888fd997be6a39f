import { z } from 'zod';
import { groupByField, reportFilterFields, reportLimitField } from './analytics-query.ts';
import { countField, timestampField } from './fields.ts';
import { EVENT_KEYS, groupFields, name, querySchema, reportSchema } from './report-shape.ts';
import { costField, knownCostField, usageFiguresSchema } from './usage-figures.ts';

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
    subagent_type: name.describe('Null if no call says'),
    ...subagentFields,
    mean_cost_usd: costField.nullable().describe('For each of `subagents` that has a cost; null if none has'),
  },
  subagentFields,
);

export const compactionsReportQuerySchema = querySchema({ group_by: groupByField(EVENT_KEYS) });

const compactionFields = {
  compactions: countField,
  sessions: countField,
  pre_tokens_p50: z.number().nullable().describe('Tokens in the context before; null if no line tells'),
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
  retry_wait_ms: z.number().describe('Pauses before retries, if the lines have them'),
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
  cost_usd: knownCostField.describe(
    'Cost of the sessions and their sub-agents, from beginning to end, each response once; null if there are responses and none has a price',
  ),
  unpriced_responses: countField.describe('Responses that `cost_usd` lacks'),
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
  {
    pull_requests: countField,
    mean_cost_usd: costField.nullable().describe('For each pull request that has a cost'),
    ...pullRequestCostFields,
  },
);

export const blocksReportQuerySchema = querySchema({});

export const blocksReportSchema = reportSchema(
  'Blocks',
  'Blocks of five hours, the window of the vendor’s limits, in order of time. One starts at the full hour (UTC) of the first response after the end of the previous one; of the filters only `agent` affects that, the others select what is counted',
  {
    start: timestampField,
    end: timestampField.describe('Five hours later; 9999-12-31T23:59:59.999Z at most'),
    is_active: z.boolean().describe('Whether it is not over yet'),
    sessions: countField.describe('Credited with a response, because copies use nothing of a limit'),
    models: z.array(z.string()),
    ...usageFiguresSchema.shape,
  },
  { blocks: countField, ...usageFiguresSchema.shape },
);

export type SubagentsReport = z.infer<typeof subagentsReportSchema>;
export type PullRequestsReport = z.infer<typeof pullRequestsReportSchema>;
