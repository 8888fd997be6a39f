import { USAGE_KEYS } from '../choices.ts';
import { figure, usageFigures } from './page-figures.ts';
import { cost, count, ratio, text, time, usageColumns } from './report-columns.ts';
import { defineReport, type ReportCommand, type ReportPage } from './report-entry.ts';
import { SESSIONS_REPORT } from './sessions-report.ts';

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

const byKey = (
  key: 'repository' | 'project' | 'agent' | 'person' | 'team' | 'cost_centre' | 'machine' | 'kind_of_work',
  label: string,
  noun: string,
): ReportPage => ({
  ...{
    page: ['person', 'team', 'cost_centre', 'machine'].includes(key) ? 'people' : 'projects',
    id: key,
    label,
    noun,
    name: key,
  },
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
        help: 'Tokens and cost, grouped by --by',
        title: 'Usage',
        columns: [...usageColumns('own.'), count('SHARED', 'shared.responses', 0)],
        by: 'repository',
      },
      byTime('daily', 'day'),
      byTime('weekly', 'week'),
      byTime('monthly', 'month'),
    ],
    pages: [
      byKey('repository', 'Repositories', 'Repository'),
      byKey('project', 'Folders', 'Folder'),
      byKey('agent', 'Agents', 'Agent'),
      byKey('person', 'People', 'Person'),
      byKey('team', 'Teams', 'Team'),
      byKey('cost_centre', 'Cost centres', 'Cost centre'),
      byKey('machine', 'Machines', 'Machine'),
      byKey('kind_of_work', 'Kinds of work', 'Kind of work'),
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

  sessions: SESSIONS_REPORT,

  blocks: defineReport({
    description:
      'Blocks of five hours, the provider’s rate-limit window, in order of time. One starts at the full hour (UTC) of the first response after the end of the previous one; of the filters only `agent` affects that, the others select what is counted',
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
    shapes: ({ z, costField, countField, knownCostField, name, sessionIdField, timestampField, titleField }) => {
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
          title: titleField,
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
          time('STARTED', 'first_timestamp', 2),
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
