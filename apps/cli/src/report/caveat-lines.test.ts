import { describe, expect, it } from 'vitest';
import { toFigures, toUsageReport } from '../testing/report-answers.ts';
import { toCaveatLines } from './caveat-lines.ts';
import { REPORT_KINDS } from './report-kinds.ts';

const [usage] = REPORT_KINDS;
const tools = REPORT_KINDS.find(({ name }) => name === 'tools');
if (usage === undefined || tools === undefined) throw new Error('a report is missing');

const NOW = Date.parse('2026-11-01T00:00:00Z');
const caveats = {
  unfinalised: { responses: 1200, tokens_out: 3456, estimated_tokens_out: 98_765, estimated_cost_usd: null },
  unpriced: { responses: 1, tokens: 50, models: ['a', 'b\u001b[2J', 'c', 'd', 'e'], terms: [] },
  price_date: '2026-09-23',
  default_priced_responses: 2,
  without_timestamp: 3,
  sessions: { without_usage: 2, output_only: 1 },
  disagreements: { responses: 1, cost_usd: 1500, lowest_cost_usd: 0.05, highest_cost_usd: 1500 },
};

describe('toCaveatLines', () => {
  it('is empty if the figures are exact', () => {
    expect(toCaveatLines(usage, toUsageReport() as never, undefined, NOW)).toEqual([]);
  });

  it('names the tier or speed that has no price, and not only the model', () => {
    const terms = [
      { model: 'gpt-5.5', service_tier: 'warp', speed: null, has_web_search: false },
      { model: 'claude-sonnet-5-5', service_tier: null, speed: 'fast', has_web_search: false },
    ];
    const unpriced = { responses: 2, tokens: 50, models: ['gpt-7'], terms };
    const report = toUsageReport({ caveats: { ...toUsageReport().caveats, unpriced } });
    expect(toCaveatLines(usage, report as never, undefined, NOW)).toEqual([
      'Unpriced: 2 responses have no price and are not included in any cost (50 tokens): gpt-7, gpt-5.5 at tier warp, claude-sonnet-5-5 at speed fast. See `recount prices --help`.',
    ]);
  });

  it('writes an estimate of dollars with two decimals', () => {
    const unfinalised = { responses: 9, tokens_out: 10, estimated_tokens_out: 900, estimated_cost_usd: 12.7784 };
    const report = toUsageReport({ caveats: { ...toUsageReport().caveats, unfinalised } });
    expect(toCaveatLines(usage, report as never, undefined, NOW)).toEqual([
      'Unfinalised: 9 responses have incomplete output counts, in total 10 tokens; actual output is about 900 (≈ $12.78 more, estimate, not included).',
    ]);
  });

  it('says how old the price list is if it is older than 60 days', () => {
    const later = Date.parse('2026-11-27T12:00:00Z');
    expect(toCaveatLines(usage, toUsageReport() as never, undefined, later)).toEqual([
      'Old prices: The price list is 65 days old (of 2026-09-23). A newer recount or a price file (`recount prices --help`) knows newer models and prices.',
    ]);
  });

  it('says which figures are not exact', () => {
    const totals = { ...toUsageReport().totals, shared: toFigures(1) };
    expect(toCaveatLines(usage, toUsageReport({ caveats, totals, truncated: true }) as never, undefined, NOW)).toEqual([
      'Only the first 2 rows; --limit shows more. The totals are of all.',
      'Unfinalised: 1,200 responses have incomplete output counts, in total 3,456 tokens; actual output is about 98,765 (estimate, not included).',
      'Unpriced: 1 response has no price and is not included in any cost (50 tokens): a, b[2J, c and 2 more. See `recount prices --help`.',
      'Default price: 2 responses name no model and are priced at the default rates.',
      'No time: 3 responses have no timestamp, so no time range includes them.',
      'No usage: 2 sessions have no usage in the transcripts, so sums exclude their tokens and cost.',
      'Too low: 1 session has an interrupted run that reported only output, so the sums lack its input.',
      'Disagreeing copies: 1 response has copies that disagree. The cost is between $0.05 and $1,500.00, and counts as $1,500.00. See `recount report disagreements`.',
      'Shared: 10 copies in resumed, forked or replayed sessions, which count once.',
    ]);
  });

  it('says that models are missing, even if all rows are present', () => {
    const details = toUsageReport({ truncated: true }) as never;
    const line = 'Only the first 2 models in all are shown; --limit shows more.';
    expect(toCaveatLines(usage, toUsageReport() as never, details, NOW)).toEqual([line]);
    expect(toCaveatLines(usage, toUsageReport() as never, toUsageReport() as never, NOW)).toEqual([]);
  });

  it('says which names a filter means, if they are several', () => {
    const { filters } = toUsageReport();
    const names = Array.from({ length: 10 }, (_, index) => `b${index}`);
    const answer = toUsageReport({
      filters: { ...filters, model: ['opus-4', 'opus-5'], person: ['ada'], git_branch: names },
    });
    expect(toCaveatLines(tools, answer as never)).toEqual([
      '--branch: b0, b1, b2, b3, b4, b5, b6, b7 and 2 more.',
      '--model: opus-4, opus-5.',
    ]);
  });

  it('says nothing of costs if none are shown', () => {
    expect(toCaveatLines(tools, toUsageReport({ caveats }) as never)).toEqual([]);
  });
});

it('says how sessions relate to the usage report', () => {
  const totals = { cost_usd: 12, own_cost_usd: 10 };
  const against = { cost_usd: 15, left_out_cost_usd: 6, beyond_filters_cost_usd: -1 };
  const answer = { ...toUsageReport(), totals, usage: against };
  expect(
    toCaveatLines(usage, { ...answer, filters: { ...answer.filters, subagents: 'exclude' } } as never, undefined, NOW),
  ).toEqual([
    'Cost includes what each session shares with others, $2.00 more; own cost, every response once.',
    'Own cost $10.00 + $6.00 of sub-agents, left out here + -$1.00 from sessions that the filters, such as the time, ' +
      'only partly include = $15.00, the total of `recount report usage`.',
  ]);
});
