import type { Usage } from '@recount/core';
import { describe, expect, it } from 'vitest';
import { createListPrices, createPriceTable } from './model-price-table.ts';
import { createUsage } from './testing/usage.ts';
import { SERVICE_TIERS, SPEEDS } from './tier-rules.ts';

const prices = createListPrices();
const NOW = '2026-11-20T12:00:00.000Z';
const BEFORE = '2026-07-29T23:59:59.999Z';

/** The cost of a response in multiples of the list price; null if it has no price. */
function factorOf(model: string, terms: Partial<Usage>, timestamp = NOW, inputTokens = 50_000): number | null {
  const price = (fields: Partial<Usage>) =>
    prices.price({ model, timestamp, usage: createUsage({ inputTokens, outputTokens: 1000, ...fields }) }).costUsd;
  const [list, cost] = [price({}), price(terms)];
  return list === null || cost === null ? null : Math.round((cost / list) * 1000) / 1000;
}

describe('service tiers', () => {
  it.each([
    ['gpt-5.6-terra', 'priority', 2],
    ['gpt-5.6-sol', 'fast', 2],
    ['gpt-5.5', 'priority', 2.5],
    ['gpt-5.4', 'fast', 2],
    ['gpt-6-astra', 'fast', 2],
    ['gpt-6.1-sol', 'PRIORITY', 2],
    ['gpt-6.2-astra', 'fast', 2],
    ['gpt-6.1-sol', 'flex', 0.5],
    ['gpt-6-astra', 'ultrafast', 6],
    ['gpt-5.6-sol', 'flex', 0.5],
    ['gpt-5.5', 'batch', 0.5],
    ['gpt-reserve', 'fast', 2],
    ['azure/gpt-5.5', 'priority', 2.5],
    ['claude-opus-5-5', 'batch', 0.5],
    // Tokens of a commitment are priced as listed.
    ['claude-opus-5-5', 'priority', 1],
    ['gemini-2.5-pro', 'flex', 0.5],
    ['openrouter/z-ai/glm-4.6', 'default', 1],
  ])('price %s at tier %s at %d times the list', (model, serviceTier, factor) => {
    expect(factorOf(model, { serviceTier })).toBe(factor);
  });

  it.each(['standard', 'default', 'auto', '', '[trimmed for fixture]'])('price %j as listed', (serviceTier) => {
    for (const model of ['gpt-5.5', 'claude-opus-5', 'gemini-2.5-pro', 'kimi-k3']) {
      expect(factorOf(model, { serviceTier })).toBe(1);
    }
  });

  it.each([
    ['gpt-5.5', 'warp'],
    ['gpt-5.5', 'scale'],
    ['gpt-5.3-codex-spark', 'priority'],
    ['gpt-5.6-sol', 'ultrafast'],
    ['gpt-4o', 'flex'],
    ['gpt-6.2-sol', 'flex'],
    ['claude-opus-5', 'flex'],
    ['claude-opus-5', 'fast'],
    ['gemini-2.5-pro', 'priority'],
    ['grok-4.7', 'priority'],
    ['kimi-k3', 'batch'],
  ])('leave %s at tier %s without a price, and say so', (model, serviceTier) => {
    expect(factorOf(model, { serviceTier })).toBeNull();
    const usage = createUsage({ inputTokens: 1, serviceTier });
    expect(prices.explainUnpriced({ model, timestamp: NOW, usage })).toEqual({
      kind: 'service-tier',
      name: serviceTier,
    });
  });

  it('priority of OpenAI costs more since 2026-07-30, and flex always half', () => {
    expect(factorOf('gpt-5.5', { serviceTier: 'priority' }, BEFORE)).toBe(1);
    expect(factorOf('gpt-5.5', { serviceTier: 'priority' }, '2026-07-30T00:00:00.000Z')).toBe(2.5);
    expect(factorOf('gpt-5.5', { serviceTier: 'flex' }, BEFORE)).toBe(0.5);
    expect(factorOf('gpt-6-astra', { serviceTier: 'ultrafast' }, '2026-09-28T00:00:00.000Z')).toBeNull();
  });

  it('do not exist for requests that are too long for them', () => {
    expect(factorOf('gpt-5.5', { serviceTier: 'priority' }, NOW, 272_001)).toBeNull();
    expect(factorOf('gpt-5.6-sol', { serviceTier: 'priority' }, NOW, 272_001)).toBe(2);
  });
});

describe('speeds', () => {
  it.each([
    ['claude-opus-4-6', 6],
    ['claude-opus-4-7', 6],
    ['claude-opus-4-8', 2],
    ['claude-opus-5', 2],
    ['claude-opus-5-5', 2],
    ['claude-fable-5-2', 2],
    ['claude-mythos-5-2', 2],
  ])('price fast mode of %s at %d times the list', (model, factor) => {
    expect(factorOf(model, { speed: 'fast' })).toBe(factor);
    expect(factorOf(model, { speed: 'standard' })).toBe(1);
  });

  it.each([
    ['claude-sonnet-5-5', 'fast'],
    ['claude-fable-5-1', 'fast'],
    ['claude-opus-5-5', 'ludicrous'],
    ['gpt-5.5', 'fast'],
  ])('leave %s at speed %s without a price, and say so', (model, speed) => {
    expect(factorOf(model, { speed })).toBeNull();
    const usage = createUsage({ inputTokens: 1, speed });
    expect(prices.explainUnpriced({ model, timestamp: NOW, usage })).toEqual({ kind: 'speed', name: speed });
  });
});

describe('explainUnpriced', () => {
  const explain = (model: string, fields: Partial<Usage> = {}) =>
    prices.explainUnpriced({ model, timestamp: NOW, usage: createUsage({ inputTokens: 1, ...fields }) });

  it('blames the model only if it has no price', () => {
    expect(explain('gpt-7')).toEqual({ kind: 'model' });
    expect(explain('gpt-7', { serviceTier: 'warp' })).toEqual({ kind: 'model' });
    expect(explain('gemini-2.5-pro', { webSearchRequests: 1 })).toEqual({ kind: 'web-search' });
    expect(explain('gpt-5.5', { serviceTier: 'priority' })).toBeNull();
    const usage = createUsage({ serviceTier: 'warp' });
    expect(prices.explainUnpriced({ model: 'gpt-5.5', timestamp: NOW, usage, reportedCostUsd: 1 })).toBeNull();
  });
});

it('lets a price of the workspace hold for tiers whose factor is not known', () => {
  const table = createPriceTable({ overrides: [{ model: 'gpt-*', inputUsdPerMillion: 1, outputUsdPerMillion: 1 }] });
  const usd = (model: string, serviceTier: string) =>
    table.price({ model, timestamp: NOW, usage: createUsage({ inputTokens: 1_000_000, serviceTier }) }).costUsd;
  expect(usd('gpt-5.6-sol', 'fast')).toBe(2);
  expect(usd('gpt-5.6-sol', 'warp')).toBe(1);
});

it('names a source of every rule', () => {
  for (const { names, source } of [...SERVICE_TIERS, ...SPEEDS]) {
    expect(source.length).toBeGreaterThan(10);
    for (const name of names) expect(name).toBe(name.toLowerCase());
  }
});
