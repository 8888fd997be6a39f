import { EVENT_KEYS } from '../choices.ts';
import { figure } from './page-figures.ts';
import { cost, count, duration, text, time, usageColumns } from './report-columns.ts';
import { defineReport } from './report-entry.ts';

/** Reports on what happens in sessions. */
export const SESSION_REPORTS = {
  subagents: defineReport({
    description:
      'Sub-agents by type with what they used; the most expensive first. Repository, project, agent and session are their parent’s',
    groupBy: { keys: ['repository', 'project', 'agent', 'session'], fallback: [] },
    isOfParents: true,
    shapes: ({ costField, countField, groupFields, name, usageFiguresSchema }) => {
      const figures = {
        calls: countField.describe('Tool uses that start one'),
        errors: countField,
        denied: countField,
        parents: countField.describe('Sessions that started one'),
        subagents: countField.describe('Sub-agents that made a response'),
        ...usageFiguresSchema.shape,
      };
      return {
        row: {
          repository: groupFields.repository,
          project: groupFields.project,
          agent: groupFields.agent,
          session: groupFields.session,
          subagent_type: name.describe('Null if no call says'),
          ...figures,
          mean_cost_usd: costField.nullable().describe('For each of `subagents` that has a cost; null if none has'),
        },
        totals: figures,
      };
    },
    commands: [
      {
        name: 'subagents',
        help: 'Sub-agents by type, with their cost',
        title: 'Sub-agents by type',
        columns: [
          text('TYPE', 'subagent_type'),
          count('CALLS', 'calls'),
          count('ERRORS', 'errors', 4),
          count('PARENTS', 'parents', 5),
          count('SUB-AGENTS', 'subagents', 6),
          ...usageColumns().filter(({ header }) => header !== 'RESPONSES'),
          { ...cost('mean_cost_usd', 'MEAN COST'), isOfRowsOnly: true, rank: 7 },
        ],
      },
    ],
    pages: [
      {
        ...{ page: 'subagents', id: 'subagents', label: 'Sub-agents', noun: 'Type', name: 'subagent_type' },
        filters: { subagent_type: 'subagent_type' },
        figures: [
          figure('money', 'Cost', 'cost_usd'),
          { ...figure('money', 'Avg. cost', 'mean_cost_usd'), isOfRowsOnly: true },
          figure('count', 'Calls', 'calls'),
          figure('count', 'Failed', 'errors'),
          figure('count', 'Parent sessions', 'parents'),
          figure('count', 'Sub-agents', 'subagents'),
          figure('tokens', 'Tokens', 'total_tokens'),
          figure('percent', 'Cache hit rate', 'cache_hit_ratio'),
        ],
      },
    ],
  }),

  compactions: defineReport({
    description: 'Compactions of the context by what triggered them',
    groupBy: { keys: EVENT_KEYS, fallback: [] },
    shapes: ({ z, countField, groupFields, name }) => {
      const figures = {
        compactions: countField,
        sessions: countField,
        pre_tokens_p50: z.number().nullable().describe('Tokens in the context before; null if no line tells'),
        pre_tokens_max: z.number().nullable(),
      };
      return { row: { ...groupFields, trigger: name, ...figures }, totals: figures };
    },
    commands: [
      {
        name: 'compactions',
        help: 'Compactions of the context',
        title: 'Compactions',
        columns: [
          text('TRIGGER', 'trigger'),
          count('COMPACTIONS', 'compactions'),
          count('SESSIONS', 'sessions'),
          count('TOKENS BEFORE, MEDIAN', 'pre_tokens_p50', 2),
          count('MOST', 'pre_tokens_max', 1),
        ],
      },
    ],
  }),

  'api-errors': defineReport({
    description: 'Errors of the model’s API and retries, by what the line names',
    groupBy: { keys: EVENT_KEYS, fallback: [] },
    shapes: ({ z, countField, groupFields, name }) => {
      const figures = {
        errors: countField,
        retries: countField,
        sessions: countField,
        retry_wait_ms: z.number().describe('Pauses before retries, if the lines have them'),
      };
      return { row: { ...groupFields, error: name, ...figures }, totals: figures };
    },
    commands: [
      {
        name: 'errors',
        help: 'Errors of the model’s API, and retries',
        title: 'API errors and retries',
        columns: [
          text('ERROR', 'error'),
          count('ERRORS', 'errors'),
          count('RETRIES', 'retries'),
          count('SESSIONS', 'sessions'),
          duration('WAITED', 'retry_wait_ms', 1),
        ],
      },
    ],
  }),

  'pull-requests': defineReport({
    description:
      'Pull requests that sessions are linked to, newest link first. A session linked to several is in each; in the totals once',
    shapes: ({ z, costField, countField, knownCostField, name, timestampField }) => {
      const figures = {
        sessions: countField,
        responses: countField,
        total_tokens: countField,
        cost_usd: knownCostField.describe(
          'Cost of the sessions and their sub-agents, from beginning to end, each response once; null if there are responses and none has a price',
        ),
        unpriced_responses: countField.describe('Responses that `cost_usd` lacks'),
      };
      return {
        row: {
          url: z.string(),
          repository: name,
          number: z.number().nullable(),
          first_linked: timestampField.nullable(),
          last_linked: timestampField.nullable(),
          ...figures,
        },
        totals: {
          pull_requests: countField,
          mean_cost_usd: costField.nullable().describe('For each pull request that has a cost'),
          ...figures,
        },
      };
    },
    commands: [
      {
        name: 'prs',
        help: 'Pull requests, with the cost of their sessions',
        title: 'Pull requests',
        columns: [
          { ...text('PULL REQUEST', 'url'), format: 'path', minWidth: 30 },
          time('LINKED', 'first_linked', 1),
          count('SESSIONS', 'sessions', 3),
          count('RESPONSES', 'responses', 2),
          count('TOKENS', 'total_tokens', 4),
          cost('cost_usd'),
        ],
      },
    ],
  }),
};
