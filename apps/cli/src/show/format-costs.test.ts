import { expect, it } from 'vitest';
import { type CostReasons, formatCosts } from './format-costs.ts';

const own = { responses: 5, cost_usd: 10, unfinalised: { responses: 0 }, unpriced: { responses: 4, tokens: 9 } };
const session = {
  session_id: 's-1',
  title: 'Heron',
  tokens_in: 5,
  cost_estimate_usd: 10,
  output_only_count: 0,
  unpriced_count: 4,
  person: 'Ada',
  uploader_key_id: 'key-1',
  extended_by: [],
  usage: { own, shared: { ...own, responses: 0 } },
};
const toTerms = (model: string, service_tier: string | null, speed: string | null) => ({
  ...{ model, service_tier, speed, responses: 1 },
});

it('names the tiers and speeds that have no price, and not only the model', () => {
  const unpriced = [
    toTerms('gpt-5.5', 'warp', null),
    toTerms('claude-opus-5', 'standard', 'ludicrous'),
    toTerms('gpt-7', null, null),
    toTerms('gpt-8', null, null),
  ];
  const costs = { parts: [], most_expensive: [], unpriced, unfinalised_estimate_usd: 0, other_cost_usd: 0 };
  const reasons = { session, costs, reconciliation: undefined } as unknown as CostReasons;
  const text = formatCosts(reasons, { timeZone: 'UTC', maxWidth: 200 })
    .map((line) => line.text)
    .join(' ');
  expect(text).toContain(
    'Unpriced: 4 responses, not in the cost: gpt-5.5 at tier warp, claude-opus-5 at speed ludicrous, gpt-7 and 1 more.',
  );
});

it('names whose session it is and everyone who has extended it', () => {
  const costs = { parts: [], most_expensive: [], unpriced: [], unfinalised_estimate_usd: 0, other_cost_usd: 0 };
  const toText = (extended_by: object[]): string =>
    formatCosts({ session: { ...session, extended_by }, costs, reconciliation: undefined } as unknown as CostReasons, {
      ...{ timeZone: 'UTC', maxWidth: 200 },
    })
      .map((line) => line.text)
      .join(' ');
  expect(toText([])).not.toContain('Extended');
  const bob = { uploader_key_id: 'key-2', person: 'Bob', machine: null };
  expect(toText([bob])).toContain('The session belongs to Ada, and Bob has uploaded the longest version of it.');
  expect(toText([{ ...bob, person: null }])).toContain('and key key-2 has uploaded');
  expect(toText([bob, { uploader_key_id: 'key-3', person: 'Cyd', machine: null }])).toContain(
    'The session belongs to Ada, and Bob and Cyd have uploaded longer versions of it.',
  );
});
