import { figure } from './page-figures.ts';
import { cost, count, text } from './report-columns.ts';
import { defineReport, type Fields, type ReportPage } from './report-entry.ts';

const KEYS = [
  ...(['day', 'week', 'month', 'agent', 'person', 'team', 'cost_centre', 'machine', 'model'] as const),
  ...(['repository', 'project', 'session'] as const),
] as const;

const toFigures = ({ countField, knownCostField }: Fields) => ({
  telemetry_sessions: countField.describe('Sessions that telemetry names'),
  missing_sessions: countField.describe('Part of these: no transcript of the session, or of a sub-agent, is stored'),
  requests: countField.describe('API requests that telemetry has'),
  matched_requests: countField.describe('Part of these: a transcript has the same request'),
  differing_requests: countField.describe(
    'Part of the matched ones: the transcript has the same id with other tokens. Agents without ids of requests are matched by tokens',
  ),
  telemetry_only_requests: countField.describe('Requests that no transcript has, including all of missing sessions'),
  transcript_only_requests: countField.describe(
    'API responses in transcripts of sessions that telemetry names, without a request in it',
  ),
  unseen_sessions: countField.describe(
    'Sessions with transcripts that telemetry does not name, of agents that send telemetry',
  ),
  unseen_responses: countField.describe('API responses of these'),
  telemetry_tokens: countField.describe('All classes. Of metrics, if a session sends no events'),
  transcript_tokens: countField.describe('All classes, in transcripts of sessions that telemetry names'),
  telemetry_cost_usd: knownCostField.describe('As the agents state it; null if none does'),
  transcript_cost_usd: knownCostField.describe('Our estimate for the sessions that telemetry names'),
  missing_cost_usd: knownCostField.describe('Part of `telemetry_cost_usd`, of missing sessions'),
  telemetry_only_cost_usd: knownCostField.describe('Part of `telemetry_cost_usd`, of requests that no transcript has'),
  transcript_only_cost_usd: knownCostField.describe('Part of `transcript_cost_usd`, of responses without a request'),
  unseen_cost_usd: knownCostField.describe('Our estimate for the sessions that telemetry does not name'),
});

const byKey = (key: (typeof KEYS)[number], label: string, noun: string, filter?: string): ReportPage => ({
  ...{ page: 'reconciliation', isForeign: true, id: key, label, noun, name: key },
  source: 'Agents send telemetry once they are set up for it (docs/telemetry.md).',
  query: { group_by: key },
  filters: filter === undefined ? {} : { [filter]: key },
  figures: [
    {
      ...figure('count', 'Sessions', 'telemetry_sessions'),
      hint: 'Sessions that telemetry names. Transcripts of a session may be stored without it, see “Not in telemetry”.',
    },
    {
      ...figure('count', 'Missing', 'missing_sessions'),
      hint: 'Sessions that telemetry names, and whose transcripts were never uploaded',
    },
    figure('count', 'Requests', 'requests'),
    { ...figure('count', 'In both', 'matched_requests'), hint: 'Requests that telemetry and transcripts have' },
    {
      ...figure('count', 'Differ', 'differing_requests'),
      hint: 'Requests that both have under the same id, with other tokens',
    },
    { ...figure('count', 'Only telemetry', 'telemetry_only_requests'), hint: 'Requests that no transcript has' },
    {
      ...figure('count', 'Only transcripts', 'transcript_only_requests'),
      hint: 'Responses in transcripts of these sessions that telemetry does not have',
    },
    figure('tokens', 'Tokens, telemetry', 'telemetry_tokens'),
    figure('tokens', 'Tokens, transcripts', 'transcript_tokens'),
    { ...figure('amount', 'Cost, telemetry', 'telemetry_cost_usd'), hint: 'As the agents state it' },
    { ...figure('money', 'Cost, transcripts', 'transcript_cost_usd'), hint: 'Our estimate, of the same sessions' },
    {
      ...figure('count', 'Not in telemetry', 'unseen_sessions'),
      hint: 'Sessions with transcripts that telemetry does not name, of agents that send telemetry',
    },
    {
      ...figure('money', 'Cost, not in telemetry', 'unseen_cost_usd'),
      hint: 'Our estimate for the sessions not in telemetry',
    },
  ],
});

const toBillFigures = ({ z, countField, knownCostField }: Fields) => {
  const signed = z.number();
  return {
    bill_usd: signed.describe('On the vendor’s bill, credits and other items included'),
    telemetry_usd: knownCostField.describe('As the agents state it; null if none does'),
    transcript_usd: knownCostField.describe('Our estimate from the transcripts; null if no response has a price'),
    bill_tokens: countField.nullable().describe('All classes; null if no usage report is imported'),
    transcript_tokens: countField,
    difference_usd: signed.describe('`bill_usd` − `transcript_usd`; the seven figures that follow add up to it'),
    other_items_usd: signed.describe('Seats, searches and other items that are not tokens of a model'),
    credits_usd: signed.describe('Credits and discounts; negative'),
    missing_sessions_usd: signed.describe('Sessions that telemetry names and no one uploaded, as the agents state it'),
    only_telemetry_usd: signed.describe('Requests that telemetry has and the transcripts of their sessions have not'),
    no_transcripts_usd: signed.describe(
      'Models on the bill that no transcript of the period has: other programs with the same account, or machines without telemetry',
    ),
    not_billed_usd: signed.describe(
      'Transcripts of models that the bill does not have: used in a subscription, or under another account; negative',
    ),
    unexplained_usd: signed.describe('What remains of the difference'),
    other_tier_usd: signed.describe(
      'Part of `bill_usd` at another tier than the standard one, such as batch or priority',
    ),
    unpriced_responses: countField.describe('Responses without a price, which `transcript_usd` lacks'),
  };
};

const BILL_KEYS = ['day', 'week', 'month', 'model'] as const;

const toBillPage = (key: (typeof BILL_KEYS)[number], label: string, noun: string): ReportPage => ({
  ...{ page: 'reconciliation', isForeign: true, id: `bill-${key}`, label, noun, name: key, detail: 'vendor' },
  source: '“recount bill pull” imports the vendors’ bills (docs/bills.md).',
  query: { group_by: key },
  filters: key === 'model' ? { model: 'model' } : {},
  figures: [
    figure('amount', 'Bill', 'bill_usd'),
    { ...figure('amount', 'Telemetry', 'telemetry_usd'), hint: 'As the agents state it' },
    { ...figure('money', 'Transcripts', 'transcript_usd'), hint: 'Our estimate' },
    {
      ...figure('amount', 'Difference', 'difference_usd'),
      hint: 'Bill − transcripts; the columns after it explain it',
    },
    { ...figure('amount', 'Missing sessions', 'missing_sessions_usd'), hint: 'Named by telemetry, never uploaded' },
    {
      ...figure('amount', 'Only telemetry', 'only_telemetry_usd'),
      hint: 'Requests that the transcripts of their sessions do not have',
    },
    { ...figure('amount', 'No transcripts', 'no_transcripts_usd'), hint: 'Models that no transcript has' },
    { ...figure('amount', 'Not billed', 'not_billed_usd'), hint: 'In transcripts, and not on the bill' },
    { ...figure('amount', 'Other items', 'other_items_usd'), hint: 'Seats, searches and other items' },
    { ...figure('amount', 'Credits', 'credits_usd'), hint: 'Credits and discounts' },
    { ...figure('amount', 'Unexplained', 'unexplained_usd'), hint: 'The remaining difference' },
    { ...figure('count', 'Unpriced', 'unpriced_responses'), hint: 'Responses without a price' },
  ],
});

/** Reports that compare transcripts with what others say about the same usage. */
export const WITNESS_REPORTS = {
  telemetry: defineReport({
    description:
      'What agents said by OTLP (`POST /v1/otlp/v1/logs`), compared with the transcripts: sessions and requests in one and not in the other, with tokens and cost. By time in its order, then the most telemetry cost first. No figure of telemetry is part of any other report',
    groupBy: { keys: KEYS, fallback: ['day'] },
    shapes: (fields) => {
      const { day, week, month, agent, person, team, cost_centre, machine, model } = fields.groupFields;
      const { repository, project, session, session_title, session_start, is_subagent } = fields.groupFields;
      const figures = toFigures(fields);
      return {
        row: {
          ...{ day, week, month, agent, person, team, cost_centre, machine, model, repository, project },
          ...{ session, session_title, session_start, is_subagent },
          ...figures,
        },
        totals: figures,
        rest: {
          only_in_telemetry: fields.z
            .array(
              fields.z
                .object({
                  agent: fields.name,
                  purpose: fields.name.describe('In the agent’s own word, for example `compact`'),
                  requests: fields.countField,
                  cost_usd: fields.knownCostField,
                })
                .meta({ id: 'TelemetryPurpose' }),
            )
            .describe(
              'Requests that no transcript has, of sessions that have transcripts, by their purpose: some agents write no line about a request that summarises a conversation. At most 100, the most requests first',
            ),
        },
      };
    },
    commands: [
      {
        name: 'telemetry',
        help: 'Sessions and requests that agents’ telemetry has, compared with transcripts',
        title: 'Telemetry compared with transcripts',
        by: 'day',
        columns: [
          count('SESSIONS', 'telemetry_sessions', 5),
          count('MISSING', 'missing_sessions', 12),
          count('REQUESTS', 'requests', 6),
          count('IN BOTH', 'matched_requests', 11),
          count('DIFFER', 'differing_requests', 7),
          count('ONLY TELEMETRY', 'telemetry_only_requests', 10),
          count('ONLY TRANSCRIPTS', 'transcript_only_requests', 9),
          count('TOKENS', 'telemetry_tokens', 3),
          count('IN TRANSCRIPTS', 'transcript_tokens', 2),
          { ...cost('telemetry_cost_usd', 'SAID COST'), format: 'amount' },
          { ...cost('transcript_cost_usd'), format: 'amount' },
          count('UNSEEN', 'unseen_sessions', 8),
          { ...cost('unseen_cost_usd', 'THEIR COST'), format: 'amount' },
        ],
      },
    ],
    pages: [
      byKey('day', 'Telemetry by day', 'Day'),
      byKey('person', 'By person', 'Person', 'person'),
      byKey('team', 'By team', 'Team', 'team'),
      byKey('machine', 'By machine', 'Machine', 'machine'),
      byKey('model', 'By model', 'Model', 'model'),
      byKey('agent', 'By agent', 'Agent', 'agent'),
      { ...byKey('session', 'By session', 'Session'), detail: 'session_title' },
    ],
  }),

  bills: defineReport({
    description:
      'The vendors’ bills (`POST /v1/bills`) beside telemetry and transcripts, with the known reasons of the difference; by time, then the largest amount first. On the days between the first and the last of a vendor’s bill, which are in UTC. Bills know the filters of time and model only; others apply to telemetry and transcripts. No figure of a bill is part of any other report',
    groupBy: { keys: BILL_KEYS, fallback: ['month', 'model'] },
    shapes: (fields) => {
      const { day, week, month, model } = fields.groupFields;
      const figures = toBillFigures(fields);
      return { row: { ...{ day, week, month, model }, vendor: fields.z.string(), ...figures }, totals: figures };
    },
    commands: [
      {
        name: 'bills',
        help: 'Vendors’ bills beside telemetry and transcripts, with the difference explained',
        title: 'Bills compared with telemetry and transcripts',
        by: 'month',
        columns: [
          text('VENDOR', 'vendor'),
          ...(
            [
              ['BILL', 'bill_usd', 20],
              ['TELEMETRY', 'telemetry_usd', 8],
              ['TRANSCRIPTS', 'transcript_usd', 19],
              ['DIFFERENCE', 'difference_usd', 18],
              ['MISSING', 'missing_sessions_usd', 15],
              ['ONLY TELEMETRY', 'only_telemetry_usd', 12],
              ['NO TRANSCRIPTS', 'no_transcripts_usd', 14],
              ['NOT BILLED', 'not_billed_usd', 13],
              ['OTHER ITEMS', 'other_items_usd', 11],
              ['CREDITS', 'credits_usd', 10],
              ['UNEXPLAINED', 'unexplained_usd', 17],
            ] as const
          ).map(([header, path, rank]) => ({ ...cost(path, header), format: 'amount' as const, rank })),
          count('UNPRICED', 'unpriced_responses', 6),
        ],
      },
    ],
    pages: [
      toBillPage('month', 'Bills by month', 'Month'),
      toBillPage('day', 'Bills by day', 'Day'),
      toBillPage('model', 'Bills by model', 'Model'),
    ],
  }),
};
