import { expect, it } from 'vitest';
import { describeCaveats } from './caveats.ts';
import type { ReportCaveats } from './report-schemas.ts';

const NONE: ReportCaveats = {
  unfinalised: { responses: 0, tokens_out: 0, estimated_tokens_out: 0, estimated_cost_usd: 0 },
  unpriced: { responses: 0, tokens: 0, models: [], terms: [] },
  price_date: '2026-09-23',
  default_priced_responses: 0,
  without_timestamp: 0,
  sessions: { without_usage: 0, output_only: 0 },
  disagreements: { responses: 0, cost_usd: 0, lowest_cost_usd: 0, highest_cost_usd: 0 },
};
const FORMATS = { count: String, tokens: (value: number) => `${value}`, money: (value: number) => `$${value}` };
const NOW = Date.parse('2026-10-01T00:00:00Z');

const read = (caveats: ReportCaveats, nowMs = NOW) =>
  describeCaveats(caveats, FORMATS, nowMs).map(({ label, text, names }) => [
    label,
    [text, ...names.map(({ name }) => name)].join(' '),
  ]);

it('finds no caveat in exact figures', () => {
  expect(read(NONE)).toEqual([]);
});

it('describes one response or session in the singular', () => {
  expect(
    read({
      ...NONE,
      unfinalised: { responses: 1, tokens_out: 2, estimated_tokens_out: 3, estimated_cost_usd: 4 },
      unpriced: { responses: 1, tokens: 4, models: ['gpt-7'], terms: [] },
      default_priced_responses: 1,
      sessions: { without_usage: 1, output_only: 1 },
      disagreements: { responses: 1, cost_usd: 2, lowest_cost_usd: 1, highest_cost_usd: 3 },
    }),
  ).toEqual([
    [
      'Unfinalised',
      '1 response has incomplete output counts, in total 2 tokens; actual output is about 3 (≈ $4 more, estimate, not included).',
    ],
    ['Unpriced', '1 response has no price and is not included in any cost (4 tokens): gpt-7'],
    ['Default price', '1 response names no model and is priced at the default rates.'],
    ['No usage', '1 session has no usage in the transcripts, so sums exclude their tokens and cost.'],
    ['Too low', '1 session has an interrupted run that reported only output, so the sums lack its input.'],
    ['Disagreeing copies', '1 response has copies that disagree. The cost is between $1 and $3, and counts as $2.'],
  ]);
});

it('gives no range where the costs of copies are shown alike', () => {
  const money = (value: number) => `$${value.toFixed(2)}`;
  const disagreements = { responses: 2, cost_usd: 0.002, lowest_cost_usd: 0.001, highest_cost_usd: 0.003 };
  const [caveat] = describeCaveats({ ...NONE, disagreements }, { ...FORMATS, money }, NOW);
  expect(caveat?.text).toBe('2 responses have copies that disagree. The cost is $0.00 by each of them.');
});

it('names models without a price, then tiers and speeds, and says so if a response names none', () => {
  const terms = [{ model: 'gpt-5.5', service_tier: 'warp', speed: null, has_web_search: false }];
  const unpriced = { responses: 2, tokens: 5, models: ['gpt-7'], terms };
  const text = '2 responses have no price and are not included in any cost (5 tokens)';
  expect(read({ ...NONE, unpriced })).toEqual([['Unpriced', `${text}: gpt-7 gpt-5.5 at tier warp`]]);
  expect(read({ ...NONE, unpriced: { ...unpriced, models: [], terms: [] } })).toEqual([
    ['Unpriced', `${text}, without the name of a model.`],
  ]);
});

it('points out an old price list', () => {
  expect(read(NONE, Date.parse('2026-11-27T12:00:00Z'))).toEqual([
    ['Old prices', 'The price list is 65 days old (of 2026-09-23).'],
  ]);
});
