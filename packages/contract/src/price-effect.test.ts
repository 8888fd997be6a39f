import { expect, it } from 'vitest';
import { estimatePriceEffect } from './price-effect.ts';
import type { ModelsReport } from './reports/report-schemas.ts';

const toRow = (model: string | null, cost_usd: number | null = 1) =>
  ({
    model,
    responses: 2,
    tokens_in: 1e6,
    tokens_out: 2e6,
    cache_read: 4e6,
    cache_write: 8e6,
    cost_usd,
  }) as ModelsReport['rows'][number];
const rows = [toRow('house'), toRow('house-large', null), toRow('other'), toRow(null)];
const rates = { inputUsdPerMillion: 10, outputUsdPerMillion: 20 };

it('estimates how a price changes the cost of its models’ responses', () => {
  expect(estimatePriceEffect({ model: 'house', ...rates }, rows)).toEqual([
    { model: 'house', responses: 2, tokens: 15e6, costUsd: 1, estimatedUsd: 10 + 40 + 4 + 100 },
  ]);
  const given = { cacheReadUsdPerMillion: 0, cacheWrite5mUsdPerMillion: 1 };
  expect(estimatePriceEffect({ model: 'HOUSE*', ...rates, ...given }, rows)).toEqual([
    { model: 'house', responses: 2, tokens: 15e6, costUsd: 1, estimatedUsd: 10 + 40 + 8 },
    { model: 'house-large', responses: 2, tokens: 15e6, costUsd: null, estimatedUsd: 10 + 40 + 8 },
  ]);
  expect(estimatePriceEffect({ model: 'hous', ...rates }, rows)).toEqual([]);
});
