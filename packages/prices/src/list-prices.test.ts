import { findProvider } from '@pydantic/genai-prices';
import { describe, expect, it } from 'vitest';
import { ADDED_MODELS } from './added-models.ts';
import { findListedModel, listKnownModels, listRequestSizes, toRatePeriods } from './list-prices.ts';
import { parseModelName } from './model-name.ts';
import { createListPrices } from './model-price-table.ts';
import { createUsage } from './testing/usage.ts';

const find = (model: string) => {
  const name = parseModelName(model);
  return name === undefined ? undefined : findListedModel(name)?.model;
};

describe('findListedModel', () => {
  it.each([
    ['claude-opus-4-1-20250805', 'claude-opus-4-1'],
    ['claude-sonnet-4-5@20250929', 'claude-sonnet-4-5'],
    ['claude-opus-5@20260724', 'claude-opus-5'],
    ['claude-sonnet-4@20250514', 'claude-sonnet-4-0'],
    ['claude-haiku-4-5@latest', 'claude-haiku-4-5'],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5'],
    ['anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5'],
    ['global.anthropic.claude-opus-4-6-v1:0', 'claude-opus-4-6'],
    ['eu.anthropic.claude-opus-4-6-v1[1m]', 'claude-opus-4-6'],
    [
      'arn:aws:bedrock:us-east-2:123456789012:inference-profile/us.anthropic.claude-opus-4-1-20250805-v1:0',
      'claude-opus-4-1',
    ],
    ['claude-opus-4-6[1m]', 'claude-opus-4-6'],
    ['anthropic/claude-sonnet-4.5', 'claude-sonnet-4-5'],
    ['openrouter/anthropic/claude-3.7-sonnet', 'claude-3-7-sonnet-latest'],
    ['claude-3-5-sonnet-20241022', 'claude-3-5-sonnet'],
    ['claude-3-5-haiku-latest', 'claude-3-5-haiku-latest'],
    ['claude-4-opus-20250514', 'claude-opus-4-0'],
    ['claude-fable-5.1', 'claude-fable-5-1'],
    ['Claude-Opus-5', 'claude-opus-5'],
    ['gpt-5-codex', 'gpt-5'],
    ['gpt-5-2025-08-07', 'gpt-5'],
    ['openai/gpt-5.1-codex-max', 'gpt-5.1'],
    ['gpt-5.1-codex-mini', 'gpt-5.1-codex-mini'],
    ['gpt-4o-2024-05-13', 'gpt-4o-2024-05-13'],
    ['codex-mini-latest', 'codex-mini'],
    ['o4-mini', 'o4-mini'],
    ['gemini-2.5-pro-preview-05-06', 'gemini-2.5-pro'],
    ['gemini-3-pro-preview', 'gemini-3-pro-preview'],
    ['grok-4', 'grok-4-0709'],
    ['x-ai/grok-code-fast-1', 'grok-code-fast-1'],
    ['xai/grok-4.3-20260301', 'grok-4.3'],
    ['openrouter/x-ai/grok-4.5', 'grok-4.5'],
    ['kimi-k2.5', 'kimi-k2.5'],
    ['moonshot-ai/kimi-k2.7-code', 'kimi-k2.7-code'],
    ['moonshot/kimi-k2-thinking', 'kimi-k2-thinking'],
    ['kimi-k2-turbo-preview', 'kimi-k2-turbo-preview'],
    ['openrouter/moonshotai/kimi-k2.5', 'moonshotai/kimi-k2.5'],
    ['openrouter/qwen/qwen3-coder-plus', 'qwen/qwen3-coder-plus'],
    ['openrouter/z-ai/glm-4.6', 'z-ai/glm-4.6'],
    ['cerebras/zai-glm-4.7', 'zai-glm-4.7'],
    ['fireworks_ai/accounts/fireworks/models/kimi-k2p5', 'kimi-k2p5'],
    ['accounts/fireworks/models/glm-5p1', 'glm-5p1'],
    ['groq/llama-3.3-70b-versatile', 'llama-3.3-70b-versatile'],
    ['models/gemini-2.0-flash-001', 'gemini-2.0-flash'],
    ['azure/gpt-5.5', 'gpt-5.5'],
    ['azure/eu/gpt-5.6-sol', 'gpt-5.6-sol'],
    ['azure/global-standard/gpt-5.6-sol', 'gpt-5.6-sol'],
    ['azure_ai/claude-opus-4-8', 'claude-opus-4-8'],
    ['azure-cognitive-services/gpt-5.4', 'gpt-5.4'],
    ['google-vertex/gemini-2.5-pro', 'gemini-2.5-pro'],
    ['google-vertex-anthropic/claude-opus-4-8@default', 'claude-opus-4-8'],
    ['vertex_ai/claude-haiku-4-5@20251001', 'claude-haiku-4-5'],
    ['amazon-bedrock/us.anthropic.claude-opus-4-8', 'claude-opus-4-8'],
    ['bedrock/us-east-1/anthropic.claude-opus-4-6-v1:0', 'claude-opus-4-6'],
    ['bedrock/converse/global.anthropic.claude-sonnet-5', 'claude-sonnet-5'],
    ['amazon-bedrock/global.openai.gpt-6-sol', 'gpt-6-sol'],
    ['vercel_ai_gateway/anthropic/claude-opus-4.8', 'claude-opus-4-8'],
    ['openai-codex/gpt-5.6-sol', 'gpt-5.6-sol'],
    ['github-copilot/claude-sonnet-4.5', 'claude-sonnet-4-5'],
    ['github_copilot/gpt-5.5', 'gpt-5.5'],
    ['opencode/claude-opus-4-8', 'claude-opus-4-8'],
    ['opencode/gpt-5.6-sol', 'gpt-5.6-sol'],
    ['opencode/gpt-5.5', 'gpt-5.5'],
    ['gemini/gemini-3.1-pro-preview', 'gemini-3.1-pro-preview'],
    ['moonshotai/kimi-k2.5', 'kimi-k2.5'],
    ['z-ai/glm-5.2', 'GLM-5.2'],
    ['glm-5.2', 'GLM-5.2'],
    ['claude-sonnet-5-5', 'claude-sonnet-5-5'],
    ['us.anthropic.claude-haiku-5-5', 'claude-haiku-5-5'],
    ['openai/gpt-6.1-sol', 'gpt-6.1-sol'],
    ['codex-auto-review', 'codex-auto-review'],
    ['google/gemini-4-argon', 'gemini-4-argon'],
    ['xai/grok-4.7-latest', 'grok-4.7'],
  ])('finds %s', (model, listed) => {
    expect(find(model)).toBe(listed);
  });

  it.each([
    'claude-sonnet-5-6',
    'claude-sonnet-5-6-20270101',
    'claude-haiku-5-5-fast',
    'glm-4.6',
    'azure/someone/gpt-5',
    'bedrock/us-east-1/meta.llama3-70b-instruct-v1:0',
    'moonshotai/kimi-linear',
    'claude-opus-4-15',
    'claude-haiku-4-5-mini',
    'gpt-5-nano-next',
    'gpt-5-2030-01-01',
    'gpt-6.1-luna',
    'gemini-2.5-pro-ultra',
    'gemma-3',
    'us.anthropic.claude-sonnet-5-6-v1:0',
    'arn:aws:bedrock:us-east-2:123456789012:application-inference-profile/abcdef',
    'someone/claude-opus-5',
    'claude-opus-5:free',
    'opencode/kimi-k2.5',
    'opencode/gpt-5.1-codex',
    'opencode/gpt-5',
    'opencode/gpt-5.5-pro',
    'opencode/gemini-3.8-flash',
    'opencode-go/kimi-k2.5',
    'grok-4-nano',
    'kimi-for-coding',
    'kimi-k2.5-instruct',
    // The name does not say which host's price applies.
    'qwen/qwen3-coder-plus',
    'qwen3-coder-plus',
    'openrouter/qwen/qwen3-coder:free',
    'groq/qwen3-coder-plus',
  ])('does not mistake %s for a model that it resembles', (model) => {
    expect(find(model)).toBeUndefined();
  });

  it('agrees with Bedrock’s list on what each region costs', () => {
    const prices = createListPrices();
    const models =
      findProvider({ providerId: 'aws' })?.models.filter(({ id }) => id.includes('anthropic.claude-')) ?? [];
    const compared = models.flatMap(({ id, prices: listed }) => {
      const model = id.replace(/^regional\./, 'us.');
      const cost = prices.price({
        model,
        timestamp: null,
        usage: createUsage({ inputTokens: 100_000, outputTokens: 10_000 }),
      });
      if (Array.isArray(listed) || cost.costUsd === null) return [];
      const { input_mtok: input, output_mtok: output } = listed;
      if (typeof input !== 'number' || typeof output !== 'number') return [];
      return [{ model, ours: cost.costUsd, theirs: Math.round(input * 1e9 + output * 1e8) / 1e10 }];
    });
    expect(compared.length).toBeGreaterThan(25);
    for (const { model, ours, theirs } of compared) expect({ model, usd: ours }).toEqual({ model, usd: theirs });
  });
});

it('prices inference in a region at a tenth more, of any maker', () => {
  const prices = createListPrices();
  const usd = (model: string) =>
    prices.price({ model, timestamp: null, usage: createUsage({ inputTokens: 100_000 }) }).costUsd;
  for (const [plain, regional] of [
    ['claude-haiku-5-5', 'bedrock/eu-west-1/anthropic.claude-haiku-5-5'],
    ['gpt-6.1-sol', 'amazon-bedrock/us.openai.gpt-6.1-sol'],
    ['gpt-6.1-sol', 'azure/eu/gpt-6.1-sol'],
    ['grok-4.7', 'us.xai.grok-4.7'],
  ] as const) {
    expect({ regional, usd: usd(regional) }).toEqual({ regional, usd: Math.round((usd(plain) ?? 0) * 11e9) / 1e10 });
    expect(usd(`openrouter/${plain}`)).not.toBe(usd(regional));
  }
  expect(usd('bedrock/us-east-1/global.anthropic.claude-haiku-5-5')).toBe(usd('claude-haiku-5-5'));
});

describe('listKnownModels', () => {
  it('lists models that can be priced, of each vendor', () => {
    const known = listKnownModels();
    const prices = createListPrices();
    for (const { model } of known) {
      expect({ model, matched: prices.describeRates(model, null)?.matched }).toEqual({ model, matched: model });
    }
    const byMaker = Map.groupBy(known, ({ seller }) => seller);
    expect([...byMaker.keys()]).toEqual(['anthropic', 'openai', 'google', 'x-ai', 'moonshotai', 'zai']);
    expect(byMaker.get('anthropic')?.length).toBeGreaterThanOrEqual(20);
    expect(byMaker.get('x-ai')?.length).toBeGreaterThanOrEqual(15);
  });
});

describe('the added models', () => {
  it.each(ADDED_MODELS)('$model is not in the npm table yet, and names its source and date', (added) => {
    const name = parseModelName(added.model);
    expect(name?.seller).toBe(added.seller);
    const listed = name && findListedModel(name);
    expect(listed?.model).toBe(added.model);
    expect(listed?.source.startsWith(added.source)).toBe(true);
    expect(listed?.sourceDate).toMatch(/^2026-1\d-\d\d$/);
  });

  it('have their prices by date and by the size of the request', () => {
    const prices = createListPrices();
    const rates = (model: string, date: string) =>
      prices
        .describeRates(model, `${date}T12:00:00.000Z`)
        ?.bands.map(({ overInputTokens, rates: of }) => [
          ...[overInputTokens, of.inputUsdPerMillion, of.outputUsdPerMillion, of.cacheReadUsdPerMillion],
          ...[of.cacheWrite5mUsdPerMillion, of.cacheWrite1hUsdPerMillion],
        ]);
    expect(rates('claude-sonnet-5-5', '2026-10-06')).toEqual([[-1, 2, 10, 0.2, 2.5, 4]]);
    expect(rates('claude-sonnet-5-5', '2026-10-07')).toEqual([[-1, 2, 10, 0.1, 2.5, 4]]);
    expect(rates('claude-haiku-5-5', '2026-11-20')).toEqual([
      [-1, 0.1, 0.5, 0.01, 0.125, 0.2],
      [100_000, 0.5, 2.5, 0.05, 0.625, 1],
    ]);
    expect(rates('claude-fable-5-2', '2026-11-20')).toEqual([[-1, 8, 40, 0.2, 10, 16]]);
    expect(rates('claude-mythos-5-2', '2026-11-20')).toEqual(rates('claude-fable-5-2', '2026-11-20'));
    expect(rates('claude-mythos-5-1', '2026-11-20')).toEqual([[-1, 10, 50, 0.25, 12.5, 20]]);
    expect(rates('gpt-6.1-sol', '2026-11-20')).toEqual([
      [-1, 2, 10, 0.1, 2.5, 2.5],
      [272_000, 4, 15, 0.2, 5, 5],
    ]);
    expect(rates('gpt-reserve', '2026-11-20')).toEqual(rates('gpt-5.6-luna', '2026-11-20'));
    expect(rates('gemini-4-argon', '2026-11-30')?.[0]?.slice(0, 4)).toEqual([-1, 2, 10, 0.1]);
    expect(rates('gemini-4-argon', '2026-12-01')?.[0]?.slice(0, 4)).toEqual([-1, 4, 20, 0.2]);
  });
});

describe('listRequestSizes', () => {
  it('lists every size where rates change, in the list and in overrides, once and ascending', () => {
    const longContext = { inputUsdPerMillion: 1, outputUsdPerMillion: 2 };
    const override = { model: 'a', ...longContext };
    const sizes = listRequestSizes([
      { ...override, longContext: { ...longContext, thresholdTokens: 50_000 } },
      { ...override, longContext: { ...longContext, thresholdTokens: 200_000 } },
    ]);
    expect(sizes).toEqual([...new Set(sizes)].sort((a, b) => a - b));
    expect(sizes.slice(0, 1)).toEqual([50_000]);
    expect(sizes).toContain(200_000);
  });
});

describe('toRatePeriods', () => {
  it('does not price what is free, not priced by tokens, or priced by the time of day', () => {
    const rates = { input_mtok: 1, output_mtok: 2 };
    const nightly = { type: 'time_of_date' as const, start_time: '00:00:00Z', end_time: '06:00:00Z' };
    expect(toRatePeriods({})).toBeUndefined();
    expect(toRatePeriods({ input_audio_hours: 1 })).toBeUndefined();
    expect(toRatePeriods([{ prices: rates }, { constraint: nightly, prices: rates }])).toBeUndefined();
    expect(toRatePeriods(rates)).toHaveLength(1);
  });

  it('keeps every tier, whichever class has it', () => {
    const [period] =
      toRatePeriods({
        input_mtok: { base: 1, tiers: [{ start: 100, price: 2 }] },
        output_mtok: {
          base: 10,
          tiers: [
            { start: 100, price: 20 },
            { start: 300, price: 30 },
          ],
        },
      }) ?? [];
    expect(
      period?.bands.map(({ overInputTokens, rates }) => [
        overInputTokens,
        rates.inputUsdPerMillion,
        rates.outputUsdPerMillion,
      ]),
    ).toEqual([
      [-1, 1, 10],
      [100, 2, 20],
      [300, 2, 30],
    ]);
  });
});
