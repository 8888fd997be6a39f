import { expect, it } from 'vitest';
import { describeOldPrices, toUnpricedName } from './price-words.ts';

it.each([
  [{ model: 'gpt-7', service_tier: null, speed: null }, 'gpt-7'],
  [{ model: 'gpt-7', service_tier: 'standard', speed: 'standard' }, 'gpt-7'],
  [{ model: 'gpt-5.5', service_tier: 'warp', speed: null }, 'gpt-5.5 at tier warp'],
  [{ model: 'claude-opus-5', service_tier: 'standard', speed: 'ludicrous' }, 'claude-opus-5 at speed ludicrous'],
  [
    { model: 'gemini-2.5-pro', service_tier: null, speed: null, has_web_search: true },
    'gemini-2.5-pro with web searches',
  ],
  [{ model: null, service_tier: 'warp', speed: null }, 'no model at tier warp'],
])('names what has no price: %j', (terms, name) => {
  expect(toUnpricedName(terms)).toBe(name);
});

it('points out a price list that dates from more than 60 days ago', () => {
  const at = (moment: string) => describeOldPrices('2026-09-23', Date.parse(moment));
  expect(at('2026-11-22T23:59:59Z')).toBeUndefined();
  expect(at('2026-11-23T00:00:00Z')).toBe('The price list is 61 days old (of 2026-09-23).');
});
