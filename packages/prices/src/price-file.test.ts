import { describe, expect, it } from 'vitest';
import { createPriceTable } from './model-price-table.ts';
import { type PriceFile, parsePriceFile } from './price-file.ts';
import { createUsage } from './testing/usage.ts';

const MILLION = createUsage({ inputTokens: 1_000_000 });
const FILE = { source: '/etc/prices.json', date: '2026-12-05T08:00:00.000Z' };

function read(content: unknown, place: Parameters<typeof parsePriceFile>[1] = FILE): PriceFile {
  const parsed = parsePriceFile(JSON.stringify(content), place);
  if ('refused' in parsed) throw new Error(parsed.refused);
  return parsed.file;
}

const usd = (
  file: PriceFile | undefined,
  model: string,
  timestamp = '2027-01-05T00:00:00.000Z',
  overrides: never[] | [never] = [],
) => createPriceTable({ overrides, file }).price({ model, timestamp, usage: MILLION }).costUsd;

const GENAI = [
  {
    id: 'openai',
    models: [
      {
        id: 'gpt-9',
        match: { or: [{ equals: 'gpt-9' }, { regex: '^gpt-9-\\d{4}-\\d{2}-\\d{2}$' }] },
        prices: { input_mtok: 7, output_mtok: 70 },
      },
      {
        id: 'gpt-5.5',
        match: { equals: 'gpt-5.5' },
        prices: [
          { prices: { input_mtok: 5, output_mtok: 30 } },
          {
            constraint: { start_date: '2027-01-01' },
            prices: { input_mtok: { base: 3, tiers: [{ start: 272000, price: 6 }] }, output_mtok: 20 },
          },
        ],
      },
    ],
  },
  {
    id: 'deepseek',
    models: [{ id: 'deepseek-v9', match: { equals: 'deepseek-v9' }, prices: { input_mtok: 0.5, output_mtok: 1 } }],
  },
];
const LITE_LLM = {
  sample_spec: { input_cost_per_token: 0, output_cost_per_token: 0, mode: 'one of chat, …' },
  'gpt-5.6-sol': {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 3e-6,
    output_cost_per_token: 1.5e-5,
  },
  'azure/gpt-5.6-sol': {
    litellm_provider: 'azure',
    mode: 'chat',
    input_cost_per_token: 9e-6,
    output_cost_per_token: 9e-5,
  },
  'claude-novel-7': {
    ...{ litellm_provider: 'anthropic', input_cost_per_token: 2e-6, output_cost_per_token: 1e-5 },
    ...{
      input_cost_per_token_above_200k_tokens: 4e-6,
      search_context_cost_per_query: { search_context_size_medium: 0.01 },
    },
  },
  'gemini/gemini-4-argon': { litellm_provider: 'gemini', input_cost_per_token: 5e-6, output_cost_per_token: 1e-5 },
  'deepseek/deepseek-v9': { litellm_provider: 'deepseek', input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 },
  'whisper-9': { litellm_provider: 'openai', mode: 'audio_transcription', input_cost_per_second: 1 },
};

describe('a price file of genai-prices', () => {
  const file = read(GENAI);

  it('precedes the built-in list, with its own dates', () => {
    expect(usd(file, 'gpt-9')).toBe(7);
    expect(usd(file, 'openai/gpt-9-2027-01-01')).toBe(7);
    expect(usd(file, 'gpt-5.5')).toBe(6);
    expect(usd(file, 'gpt-5.5', '2026-12-31T23:59:59.999Z')).toBe(5);
    expect(usd(file, 'claude-opus-5-5')).toBe(4);
    expect(usd(file, 'deepseek/deepseek-v9')).toBe(0.5);
    expect(usd(file, 'deepseek-v9')).toBeNull();
    expect(usd(file, 'gpt-9-mini')).toBeNull();
  });

  it('gives way to the workspace’s own prices', () => {
    const override = { model: 'gpt-9', inputUsdPerMillion: 1, outputUsdPerMillion: 1 };
    const table = createPriceTable({ overrides: [override], file });
    expect(table.price({ model: 'gpt-9', timestamp: null, usage: MILLION })).toMatchObject({
      costUsd: 1,
      basis: 'override',
    });
    expect(table.version).toMatch(
      /^genai-prices-[\d.]+-rules-\d+\+genai-prices-2026-12-05-[0-9a-f]{12}\+[0-9a-f]{12}$/,
    );
  });

  it('says what it is, and its day', () => {
    expect(file).toMatchObject({ format: 'genai-prices', date: '2026-12-05', modelCount: 3, issueCount: 0 });
    expect(createPriceTable({ overrides: [], file }).date).toBe('2026-12-05');
    expect(read(GENAI, { ...FILE, date: null }).version).toMatch(/^genai-prices-undated-/);
    expect(read(GENAI).version).toBe(file.version);
    expect(read([...GENAI, { id: 'x', models: [] }]).version).not.toBe(file.version);
  });
});

describe('a price file of LiteLLM', () => {
  const file = read(LITE_LLM);

  it('takes the makers’ own prices, and names with a host that has no other', () => {
    expect(usd(file, 'gpt-5.6-sol')).toBe(3);
    expect(usd(file, 'claude-novel-7')).toBe(4);
    expect(usd(file, 'deepseek/deepseek-v9')).toBe(1);
    expect(usd(file, 'us.anthropic.claude-novel-7-v1:0')).toBe(4.4);
    expect(file.modelCount).toBe(5);
  });

  it('keeps what the built-in list knows of earlier and later times', () => {
    expect(usd(file, 'gpt-5.6-sol', '2026-08-20T00:00:00.000Z')).toBe(10);
    expect(usd(file, 'gpt-5.6-sol', '2026-08-21T00:00:00.000Z')).toBe(3);
    const november = read(LITE_LLM, { ...FILE, date: '2026-11-20' });
    expect(usd(november, 'gemini-4-argon', '2026-11-30T00:00:00.000Z')).toBe(5);
    expect(usd(november, 'gemini-4-argon', '2026-12-01T00:00:00.000Z')).toBe(4);
    expect(usd(file, 'gemini-4-argon', '2026-11-30T00:00:00.000Z')).toBe(2);
    expect(usd(file, 'gemini-4-argon', '2026-12-01T00:00:00.000Z')).toBe(5);
  });

  it('leaves tiers and speeds to the vendors’ rules', () => {
    const table = createPriceTable({ overrides: [], file });
    const price = (model: string, terms: object) =>
      table.price({ model, timestamp: null, usage: createUsage({ inputTokens: 100_000, ...terms }) }).costUsd;
    expect(price('gpt-5.6-sol', { serviceTier: 'fast' })).toBe(0.6);
    expect(price('claude-novel-7', { speed: 'fast' })).toBeNull();
    expect(price('claude-novel-7', { serviceTier: 'batch' })).toBe(0.1);
    expect(price('claude-novel-7', { inputTokens: 0, webSearchRequests: 2 })).toBe(0.02);
  });
});

describe('a file with faults', () => {
  it.each([
    ['{', 'it is not JSON'],
    ['[]', 'neither'],
    ['{}', 'neither'],
    ['7', 'neither'],
    ['null', 'neither'],
    ['[{"model":"x","inputUsdPerMillion":1,"outputUsdPerMillion":2}]', 'neither'],
    ['{"a":{"mode":"chat"}}', 'neither'],
    [
      '{"gpt-9":{"litellm_provider":"openai","input_cost_per_token":"1","output_cost_per_token":1}}',
      'none of its prices is valid: gpt-9.input',
    ],
  ])('is refused in another format, %j', (text, reason) => {
    const parsed = parsePriceFile(text, FILE);
    expect('refused' in parsed && parsed.refused).toContain(reason);
  });

  it('is read without its invalid entries, and names each', () => {
    const faulty = read([
      ...GENAI,
      { models: [] },
      {
        id: 'x-ai',
        models: [
          { id: 'a', match: { equals: 'grok-8' }, prices: { input_mtok: -1, output_mtok: 'two' } },
          { id: 'b', match: { glob: '*' }, prices: { input_mtok: 1, output_mtok: null } },
          { id: 'c', match: { equals: 'grok-9' }, prices: [{ constraint: { start_date: 'soon' }, prices: {} }] },
          { id: 'd', match: { equals: 'grok-9' }, prices: [{ constraint: null, prices: {} }] },
          7,
        ],
      },
    ]);
    expect(faulty.issues.map(({ path }) => path)).toEqual([
      '[2]',
      '[3].models[0] (a).prices.input_mtok',
      '[3].models[0] (a).prices.output_mtok',
      '[3].models[1] (b).prices.output_mtok',
      '[3].models[1] (b)',
      '[3].models[2] (c).prices[0].constraint.start_date',
      '[3].models[3] (d).prices[0].constraint',
      '[3].models[4]',
    ]);
    expect(usd(faulty, 'grok-8')).toBeNull();
    expect(usd(faulty, 'gpt-9')).toBe(7);
  });

  it('counts faults beyond those that it names', () => {
    const entry = { litellm_provider: 'openai', input_cost_per_token: -1, output_cost_per_token: 1 };
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`gpt-9-${index}`, entry]));
    const faulty = read({ ...LITE_LLM, ...many });
    expect([faulty.issues.length, faulty.issueCount]).toEqual([100, 300]);
  });
});
