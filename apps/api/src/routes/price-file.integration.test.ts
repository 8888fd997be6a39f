import type { SessionCosts, UsageReport, WorkspacePrices } from '@recount/contract';
import { readWorkspacePrices, repriceWorkspace } from '@recount/ingest';
import { type PriceSource, parsePriceFile } from '@recount/prices';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toLine } from '../testing/transcript-lines.ts';

const LIST = {
  'claude-novel-9': { litellm_provider: 'anthropic', input_cost_per_token: 3e-6, output_cost_per_token: 1e-5 },
  'claude-faulty-9': { litellm_provider: 'anthropic', input_cost_per_token: -1, output_cost_per_token: 1e-5 },
};
const parsed = parsePriceFile(JSON.stringify(LIST), { source: '/etc/prices.json', date: '2026-12-05' });
if ('refused' in parsed) throw new Error(parsed.refused);
const source: PriceSource = {
  location: '/etc/prices.json',
  file: undefined,
  error: undefined,
  close: () => undefined,
};

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi({}, () => ({ priceSource: source }));
  const answer = (index: number, model: string, terms: object = {}) =>
    toLine('novel', index, {
      message: {
        ...{ id: `msg_01${'A'.repeat(20)}${index}`, role: 'assistant', model, stop_reason: 'end_turn' },
        content: [{ type: 'text', text: 'x' }],
        usage: { input_tokens: 1_000_000, output_tokens: 0, ...terms },
      },
    });
  const lines = [
    answer(1, 'claude-novel-9'),
    answer(3, 'claude-novel-9', { service_tier: 'batch' }),
    answer(5, 'claude-opus-5', { speed: 'ludicrous' }),
    answer(7, 'claude-opus-5', { service_tier: 'warp' }),
    answer(9, 'claude-opus-5', { service_tier: 'standard', speed: 'fast' }),
  ];
  await api.upload(lines.join(''));
  await api.work();
});
afterAll(() => api.close());

async function read<Answer>(path: string): Promise<Answer> {
  const response = await api.fetch(path);
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

it('names the tiers and speeds that have no price, and blames a model only if it has none', async () => {
  const { caveats, totals } = await read<UsageReport>('/v1/analytics/usage');
  expect(totals.own.cost_usd).toBe(10);
  const usual = { has_web_search: false, service_tier: null, speed: null };
  expect(caveats.unpriced).toEqual({
    ...{ responses: 4, tokens: 4_000_000, models: ['claude-novel-9'] },
    terms: [
      { model: 'claude-opus-5', ...usual, service_tier: 'warp' },
      { model: 'claude-opus-5', ...usual, speed: 'ludicrous' },
    ],
  });
  const { unpriced } = await read<SessionCosts>('/v1/sessions/novel/costs');
  expect(unpriced.map(({ model, service_tier: tier, speed, responses }) => [model, tier, speed, responses])).toEqual([
    ['claude-novel-9', 'batch', null, 1],
    ['claude-novel-9', null, null, 1],
    ['claude-opus-5', 'warp', null, 1],
    ['claude-opus-5', null, 'ludicrous', 1],
  ]);
});

it('says which price file precedes the list, and applies it to stored responses', async () => {
  const before = await read<WorkspacePrices>('/v1/prices');
  source.file = parsed.file;
  const after = await read<WorkspacePrices>('/v1/prices');
  expect(after).toMatchObject({
    price_version: `${before.price_version}+${parsed.file.version}`,
    price_date: '2026-12-05',
    price_file: {
      ...{ location: '/etc/prices.json', format: 'litellm', date: '2026-12-05', model_count: 1, invalid_count: 1 },
      ...{ invalid: [{ path: 'claude-faulty-9.input_cost_per_token' }], error: null },
    },
  });
  const { database } = api.database;
  const prices = await readWorkspacePrices(database, HOME_WORKSPACE, source.file);
  for await (const _done of repriceWorkspace({ database: api.database }, HOME_WORKSPACE, prices));
  const { totals, caveats } = await read<UsageReport>('/v1/analytics/usage');
  expect(totals.own.cost_usd).toBe(10 + 3 + 1.5);
  expect(caveats).toMatchObject({ price_date: '2026-12-05', unpriced: { responses: 2, models: [] } });
});
