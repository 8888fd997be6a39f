import { DISMISSED_FILTERS, FINDING_KINDS, WEEK_OUTCOMES } from '../choices.ts';
import { cost, count, duration, ratio, text } from './report-columns.ts';
import { defineReport, type Fields } from './report-entry.ts';

const MAX_RESULT_BYTES = 1_000_000_000;
const MAX_SESSION_COST_USD = 1_000_000;

const toFindingFigures = ({ z, costField, countField }: Fields) => ({
  kind: z
    .enum(FINDING_KINDS)
    .describe(
      [
        '`repeated-call` is a tool called with the same input three times in a row, or more often.',
        '`repeated-error` is calls of a tool that failed with the same error three times in a row, or more often.',
        '`repeated-read` is the same part of a file read three times or more in a session, without an edit of it in between.',
        '`large-result` is a tool result of `min_result_bytes` or more.',
        '`cold-cache` is a response after a pause that outlasted the cache, so that it was written again.',
        '`unfinished-session` means its last prompt has no answer, or its last tool call no result, for an hour.',
        '`expensive-session` means its own cost is `min_session_cost_usd` or more.',
      ].join(' '),
    ),
  times: countField.describe('Calls, failures or reads; 1 for other kinds'),
  estimated_tokens: countField.describe(
    'Estimated tokens that the results added to the context (a quarter of their bytes), for repeats without the first; 0 for other kinds',
  ),
  tokens: countField.describe(
    'For `cold-cache`, tokens written to the cache again. For sessions, all their own tokens. 0 for other kinds',
  ),
  cost_usd: costField
    .nullable()
    .describe(
      'For repeats, the cost of the responses that repeated a call, each response once. For `cold-cache`, the extra cost of writing over reading. For sessions, their own cost. Null if there is no price, and for `large-result`, whose cost cannot be separated from the rest of the context',
    ),
});

const toFindingsQuery = ({ z }: Fields) => ({
  kind: z.enum(FINDING_KINDS).optional().describe('Findings of this kind alone; by default of all kinds'),
  dismissed: z
    .enum(DISMISSED_FILTERS)
    .default('exclude')
    .describe('Whether to list findings that were dismissed, see `POST /v1/findings/dismissals`'),
  min_result_bytes: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_RESULT_BYTES)
    .default(40_000)
    .describe('For `large-result`, the bytes of text that make a tool result large; 40,000 are about 10,000 tokens'),
  min_session_cost_usd: z.coerce
    .number()
    .min(0)
    .max(MAX_SESSION_COST_USD)
    .default(10)
    .describe('For `expensive-session`, the own cost that makes a session expensive'),
});

/** Reports on how to spend less. */
export const FINDING_REPORTS = {
  findings: defineReport({
    description:
      'Potential waste, each finding with its place; the most expensive first, then those with most tokens. Categories can overlap, so they do not add up',
    shapes: (fields) => {
      const { z, costField, countField, milliseconds, name, sessionIdField, timestampField, titleField } = fields;
      const figures = toFindingFigures(fields);
      return {
        query: toFindingsQuery(fields),
        row: {
          ...figures,
          session_id: sessionIdField,
          title: titleField,
          project: name,
          repository: name,
          person: name,
          timestamp: timestampField
            .nullable()
            .describe('When the first call, the response after the pause, or the session was'),
          message_id: name.describe('Message where it begins; null for sessions, and if a response has no message'),
          line_number: countField.nullable().describe('Line of the session’s transcript where it begins'),
          tool: name,
          subject: name.describe('File, program or model that it is about'),
          pause_ms: milliseconds.describe('Length of the pause, for `cold-cache`'),
          is_dismissed: z.boolean(),
        },
        totals: {
          findings: countField.describe('Those that are listed, rows beyond `limit` included'),
          dismissed_findings: countField.describe('Those that were dismissed, listed or not'),
        },
        rest: {
          kinds: z
            .array(
              z
                .object({
                  ...figures,
                  findings: countField,
                  sessions: countField,
                  dismissed_findings: countField,
                  dismissed_cost_usd: costField
                    .nullable()
                    .describe('What `cost_usd` would have in addition if nothing were dismissed; null if unknown'),
                })
                .meta({ id: 'FindingKindFigures' }),
            )
            .describe('Figures of all findings that were not dismissed, by kind'),
        },
      };
    },
    commands: [
      {
        name: 'findings',
        help: 'Potential waste: repeats, large results, expired caches, …',
        title: 'Findings',
        columns: [
          { ...text('FINDING', 'kind'), minWidth: 18 },
          text('TOOL', 'tool', 5),
          { ...text('ABOUT', 'subject', 6), format: 'path' },
          { ...text('SESSION', 'session_id', 8), minWidth: 12 },
          { ...count('LINE', 'line_number', 4), isOfRowsOnly: true },
          { ...count('TIMES', 'times', 7), isOfRowsOnly: true },
          { ...duration('PAUSE', 'pause_ms', 1), isOfRowsOnly: true },
          { ...count('TOKENS', 'tokens', 2), isOfRowsOnly: true },
          { ...count('≈ TOKENS', 'estimated_tokens', 3), isOfRowsOnly: true },
          { ...cost('cost_usd'), format: 'amount', isOfRowsOnly: true },
        ],
        options: [
          {
            flags: '--kind <kind>',
            help: 'only findings of this kind',
            choices: FINDING_KINDS,
          },
          {
            flags: '--dismissed <which>',
            help: 'exclude findings that were dismissed, include them, or list only them (default: exclude)',
            choices: DISMISSED_FILTERS,
          },
        ],
      },
    ],
  }),

  addressed: defineReport({
    description:
      'Whether kinds of findings that were marked as addressed (`PUT /v1/findings/addressed/{kind}`) have a smaller share of the cost since. It compares complete weeks, at most eight before and after the day. Dismissed findings count, so that dismissing cannot make a share fall',
    shapes: ({ z, addressedFields, costField, countField, knownCostField, ratio: chance }) => {
      const share = z.number().min(0).nullable().describe('`waste_usd` / `cost_usd`; null if that is 0 or unknown');
      const figures = {
        from: z.iso.date(),
        to: z.iso.date().describe('The day after the last one'),
        findings: countField,
        waste_usd: costField.describe('Cost of the findings, each response once'),
        cost_usd: knownCostField.describe('All that was spent in this time'),
        waste_share: share,
      };
      const side = z
        .object({ ...figures, weeks: countField.describe('Complete weeks with spend') })
        .meta({ id: 'AddressedSide' });
      return {
        row: {
          ...addressedFields,
          before: side,
          after: side,
          change: z.number().nullable().describe('`after.waste_share` − `before.waste_share`'),
          outcome: z
            .enum(WEEK_OUTCOMES)
            .describe(
              '`too-early` without two complete weeks of spend afterwards, `too-little-data` without three before; `fell` or `rose` if `chance` is 0.1 or less, else `unclear`',
            ),
          chance: chance.describe(
            'Of all ways to choose as many of these weeks as are after the day, the part where the share of the chosen weeks differs from the others’ at least as much, in the same direction; null without enough weeks',
          ),
        },
        totals: { addressed: countField },
        rest: {
          weeks: z
            .array(
              z.object({ kind: addressedFields.kind, is_after: z.boolean(), ...figures }).meta({ id: 'AddressedWeek' }),
            )
            .describe('The weeks of each row, in their order, those without spend included'),
        },
      };
    },
    commands: [
      {
        name: 'addressed',
        help: 'Whether kinds of findings cost less since they were addressed',
        title: 'Addressed findings',
        columns: [
          { ...text('FINDING', 'kind'), minWidth: 18 },
          text('SINCE', 'since'),
          { ...count('WEEKS BEFORE', 'before.weeks', 4), isOfRowsOnly: true },
          { ...cost('before.waste_usd', 'WASTE BEFORE'), format: 'amount', isOfRowsOnly: true, rank: 2 },
          { ...ratio('SHARE BEFORE', 'before.waste_share'), isOfRowsOnly: true },
          { ...count('WEEKS AFTER', 'after.weeks', 3), isOfRowsOnly: true },
          { ...cost('after.waste_usd', 'WASTE AFTER'), format: 'amount', isOfRowsOnly: true, rank: 1 },
          { ...ratio('SHARE AFTER', 'after.waste_share'), isOfRowsOnly: true },
          text('OUTCOME', 'outcome'),
        ],
      },
    ],
  }),

  'model-choice': defineReport({
    description:
      'What a cheaper model in use, of the same maker and its current generation, would have cost for the tokens of each model; the largest difference first. It compares prices only. A different model would use different tokens',
    shapes: ({ z, costField, countField, knownCostField, name }) => {
      const figures = {
        responses: countField.describe('That have a price with both models'),
        total_tokens: countField,
        cost_usd: knownCostField.describe('Cost of these responses'),
        cheaper_cost_usd: costField
          .nullable()
          .describe('Cost of the same tokens at the rates that the cheaper model had then; null if there is none'),
      };
      return {
        row: {
          model: z.string(),
          cheaper_model: name.describe('Null if none in use of the current generation is cheaper'),
          sessions: countField,
          ...figures,
        },
        totals: figures,
      };
    },
    commands: [
      {
        name: 'model-choice',
        help: 'What a cheaper model in use would have cost',
        title: 'Models and the next cheaper one in use',
        columns: [
          { ...text('MODEL', 'model'), minWidth: 22 },
          { ...text('CHEAPER', 'cheaper_model'), minWidth: 22 },
          { ...count('SESSIONS', 'sessions', 1), isOfRowsOnly: true },
          count('RESPONSES', 'responses', 2),
          count('TOKENS', 'total_tokens', 3),
          cost('cost_usd'),
          { ...cost('cheaper_cost_usd', 'ON CHEAPER'), format: 'amount' },
        ],
      },
    ],
  }),
};
