import { FORECAST_DAYS } from '../choices.ts';
import { cost, count, ratio, text } from './report-columns.ts';
import { defineReport } from './report-entry.ts';

/** The periods of the report `forecast`, in its order. */
const MONTH_PERIODS = ['today', 'month-to-date', 'same-days-last-month', 'last-month', 'forecast'] as const;

/** Reports on how spending develops. */
export const SPEND_REPORTS = {
  forecast: defineReport({
    description:
      'The current month: today, so far, the same days of last month, and a forecast. It ends at `to`, or now: only what happened before counts, so an earlier forecast can be repeated',
    shapes: ({ z, costField, countField, knownCostField }) => ({
      row: {
        period: z.enum(MONTH_PERIODS),
        from: z.iso.date(),
        to: z.iso.date().describe('The day after the last one'),
        cost_usd: knownCostField.describe(
          'For `forecast`, of the whole month, and null without enough history. Otherwise 0 without any response, null if no response has a price',
        ),
        low_usd: costField
          .nullable()
          .describe('For `forecast`: four of five months are meant to end between this and `high_usd`'),
        high_usd: costField.nullable(),
        total_tokens: countField.nullable().describe('Null for `forecast`'),
        sessions: countField.nullable().describe('Null for `forecast`'),
        unpriced_responses: countField
          .nullable()
          .describe('Responses without a price, which the cost lacks; null for `forecast`'),
      },
      totals: {
        month: z.string().describe('`2026-03`'),
        days: countField.describe('Days in the month'),
        days_left: countField.describe('Days after today'),
        history_days: countField.describe(
          `Complete days before today that the forecast is made from, those without use included: at least ${FORECAST_DAYS.least}, at most ${FORECAST_DAYS.most}`,
        ),
      },
    }),
    commands: [
      {
        name: 'forecast',
        help: 'This month so far, against the last one, with a forecast',
        title: 'This month',
        columns: [
          { ...text('PERIOD', 'period'), minWidth: 20 },
          text('FROM', 'from', 3),
          text('BEFORE', 'to', 2),
          { ...count('TOKENS', 'total_tokens', 1), isOfRowsOnly: true },
          { ...cost('cost_usd'), format: 'amount', isOfRowsOnly: true },
          { ...cost('low_usd', 'LOW'), format: 'amount', isOfRowsOnly: true },
          { ...cost('high_usd', 'HIGH'), format: 'amount', isOfRowsOnly: true },
        ],
      },
    ],
  }),

  plans: defineReport({
    description:
      'Subscriptions with what was used of them at list prices: this month so far and its forecast, as the report `forecast` has them, the last seven days, and, for a plan of one seat, its current window of five hours. With a filter by person, plans of these people, and plans of the workspace with a seat for each. It ends at `to`, or now',
    shapes: ({ z, countField, costField, knownCostField, name, timestampField }) => {
      const window = z
        .object({ from: timestampField, to: timestampField, cost_usd: knownCostField, total_tokens: countField })
        .meta({ id: 'PlanWindow', description: 'Use between two moments' });
      return {
        row: {
          plan: z.string(),
          person: name.describe('Null for a plan of the workspace, which counts everyone'),
          agent: name.describe('Null for all'),
          seats: countField,
          price_usd: costField.describe('Of these seats in a month'),
          month_usd: knownCostField.describe('This month so far; null if no response has a price'),
          month_share: z.number().min(0).nullable().describe('`month_usd` / `price_usd`; null without either'),
          forecast_usd: costField.nullable().describe('Of the whole month; null without enough history'),
          last_month_usd: knownCostField,
          unpriced_responses: countField.describe('Of this month; `month_usd` lacks them'),
          week: window.describe('The last seven days'),
          block: window
            .nullable()
            .describe(
              'Five hours from the full hour (UTC) of the first response after the end of the window before, by the responses of the agent and the person alone; null if none is running, or if the plan has several seats',
            ),
        },
        totals: { month: z.string().describe('`2026-03`'), plans: countField },
      };
    },
    commands: [
      {
        name: 'plans',
        help: 'Subscriptions, with what was used of them at list prices',
        title: 'Plans',
        columns: [
          { ...text('PLAN', 'plan'), minWidth: 12 },
          text('PERSON', 'person', 6),
          text('AGENT', 'agent', 5),
          { ...count('SEATS', 'seats', 4), isOfRowsOnly: true },
          { ...cost('price_usd', 'PRICE'), format: 'amount', isOfRowsOnly: true },
          { ...cost('month_usd', 'MONTH'), format: 'amount', isOfRowsOnly: true },
          { ...cost('forecast_usd', 'FORECAST'), format: 'amount', isOfRowsOnly: true, rank: 8 },
          { ...cost('week.cost_usd', '7 DAYS'), format: 'amount', isOfRowsOnly: true, rank: 7 },
          { ...cost('block.cost_usd', '5 HOURS'), format: 'amount', isOfRowsOnly: true },
        ],
      },
    ],
  }),

  changes: defineReport({
    description:
      'Tokens and cost compared with an earlier period; the largest differences of cost first. Without `from` there is no earlier period, and everything is new',
    groupBy: {
      keys: [
        'repository',
        'model',
        'person',
        'team',
        'cost_centre',
        'agent',
        'project',
        'machine',
        'git_branch',
        'kind_of_work',
      ],
      fallback: ['repository'],
    },
    shapes: ({ z, costField, countField, groupFields, knownCostField, reportMomentField, timestampField }) => {
      const { repository, model, person, team, cost_centre, agent, project, machine, git_branch, kind_of_work } =
        groupFields;
      const figures = {
        cost_usd: knownCostField,
        previous_cost_usd: knownCostField,
        change_usd: costField.nullable().describe('Null if the cost of either period is unknown'),
        total_tokens: countField,
        previous_total_tokens: countField,
        sessions: countField,
        previous_sessions: countField,
      };
      return {
        query: {
          previous_from: reportMomentField
            .optional()
            .describe(
              'Beginning of the earlier period; by default, as long before `from` as `to` (or now) is after it',
            ),
          previous_to: reportMomentField.optional().describe('End of the earlier period; by default `from`'),
        },
        row: {
          ...{ repository, model, person, team, cost_centre, agent, project, machine, git_branch, kind_of_work },
          ...figures,
        },
        totals: figures,
        rest: {
          previous: z.object({ from: timestampField, to: timestampField }).nullable().describe('The earlier period'),
        },
      };
    },
    commands: [
      {
        name: 'changes',
        help: 'What costs more, and what less, than in the period before',
        title: 'Changes against the period before',
        columns: [
          count('SESSIONS', 'sessions', 3),
          count('BEFORE', 'previous_sessions', 2),
          count('TOKENS', 'total_tokens', 1),
          cost('cost_usd'),
          cost('previous_cost_usd', 'COST BEFORE'),
          { ...cost('change_usd', 'CHANGE'), format: 'amount' },
        ],
      },
    ],
  }),

  waste: defineReport({
    description:
      'Potential waste (expired caches, repeated calls, errors and reads) as a share of cost; by time in its order, then most waste first. Each response counts once, at the time of its finding. Dismissed findings are left out, and counted apart',
    groupBy: {
      keys: ['day', 'week', 'month', 'repository', 'project', 'agent', 'person', 'team', 'cost_centre', 'machine'],
      fallback: ['week'],
    },
    shapes: ({ countField, costField, groupFields, knownCostField, z }) => {
      const { day, week, month, repository, project, agent, person, team, cost_centre, machine } = groupFields;
      const figures = {
        findings: countField,
        waste_usd: costField.describe('Cost of the responses that repeated a call, and the extra cost of cold caches'),
        cost_usd: knownCostField.describe('All that was spent in this time'),
        waste_share: z.number().min(0).nullable().describe('`waste_usd` / `cost_usd`; null if that is 0 or unknown'),
        dismissed_findings: countField,
        dismissed_usd: costField.describe('What `waste_usd` would have in addition if nothing were dismissed'),
      };
      return {
        row: { ...{ day, week, month, repository, project, agent, person, team, cost_centre, machine }, ...figures },
        totals: figures,
      };
    },
    commands: [
      {
        name: 'waste',
        help: 'Potential waste as a share of cost',
        title: 'Potential waste',
        columns: [
          count('FINDINGS', 'findings', 1),
          cost('waste_usd', 'WASTE'),
          cost('cost_usd'),
          ratio('SHARE', 'waste_share'),
        ],
      },
    ],
  }),
};
