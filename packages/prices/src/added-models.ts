import type { ModelName } from './model-name.ts';
import type { RateBand, RatePeriod, Rates } from './rates.ts';

/** A model that the npm table lacks, or the name of one that it has. */
export interface AddedModel {
  model: string;
  seller: ModelName['seller'];
  /** Further names, as the seller writes them. */
  names?: readonly string[];
  /** By ascending start; or the model of the npm table whose price applies. */
  priced: RatePeriod[] | { as: string };
  source: string;
  /** Date of the source, or the day it was read; ISO 8601. */
  sourceDate: string;
}

const CLAUDE_CODE =
  'model catalogue of @anthropic-ai/claude-code 2.1.332, equal to the one of @earendil-works/pi-ai 1.5.2';
const CLAUDE_CODE_ALONE = 'model catalogue of @anthropic-ai/claude-code 2.1.332';
const PI_AI = 'model catalogue of @earendil-works/pi-ai 1.5.2';
const TOKEN_METER = "github.com/iyulab/TokenMeter 0.17.0, from the vendor's page";
const CCUSAGE = 'model table of ccusage 20.0.24: OpenAI names no price';

const FABLE_5_2 = anthropic(8, 40, 0.2);

/**
 * Prices in dollars per million tokens, by the seller's own statement if sources disagree. Remove an entry when the npm
 * table has the model. A test fails then.
 */
export const ADDED_MODELS: readonly AddedModel[] = [
  {
    model: 'claude-sonnet-5-5',
    seller: 'anthropic',
    // Cache reads cost 0.20 from the model's release on 2026-09-28 until the release notes of 2026-10-07 (0.05 times
    // the input). The catalogue has only the later price.
    priced: [
      { startsAt: null, bands: [anthropic(2, 10, 0.2)] },
      { startsAt: '2026-10-07T00:00:00.000Z', bands: [anthropic(2, 10, 0.1)] },
    ],
    source: `${CLAUDE_CODE}; platform.claude.com/docs/en/release-notes`,
    sourceDate: '2026-11-24',
  },
  {
    model: 'claude-haiku-5-5',
    seller: 'anthropic',
    priced: always(anthropic(0.1, 0.5, 0.01), anthropic(0.5, 2.5, 0.05, 100_000)),
    source: `${CLAUDE_CODE}; platform.claude.com/docs/en/models/haiku-5-5`,
    sourceDate: '2026-11-24',
  },
  {
    model: 'claude-fable-5-2',
    seller: 'anthropic',
    priced: always(FABLE_5_2),
    source: `${CLAUDE_CODE}; platform.claude.com/docs/en/release-notes of 2026-11-09`,
    sourceDate: '2026-11-24',
  },
  {
    model: 'claude-mythos-5',
    seller: 'anthropic',
    priced: always(anthropic(10, 50, 1)),
    source: CLAUDE_CODE_ALONE,
    sourceDate: '2026-11-24',
  },
  {
    model: 'claude-mythos-5-1',
    seller: 'anthropic',
    priced: always(anthropic(10, 50, 0.25)),
    source: CLAUDE_CODE_ALONE,
    sourceDate: '2026-11-24',
  },
  {
    model: 'claude-mythos-5-2',
    seller: 'anthropic',
    priced: always(FABLE_5_2),
    source: CLAUDE_CODE_ALONE,
    sourceDate: '2026-11-24',
  },
  {
    model: 'gpt-6.1-sol',
    seller: 'openai',
    priced: always(openai(2, 10, 0.1), openai(4, 15, 0.2, 272_000)),
    source: `${PI_AI}; developers.openai.com/api/docs/models/gpt-6.1-sol`,
    sourceDate: '2026-11-10',
  },
  {
    model: 'gpt-6.1-terra',
    seller: 'openai',
    priced: always(openai(1, 5, 0.05), openai(2, 7.5, 0.1, 272_000)),
    source: PI_AI,
    sourceDate: '2026-11-10',
  },
  {
    model: 'gpt-6.2-sol',
    seller: 'openai',
    priced: always(openai(2, 10, 0.1), openai(4, 15, 0.2, 272_000)),
    source: `github.com/BerriAI/litellm/discussions/52347; ${TOKEN_METER}`,
    sourceDate: '2026-11-18',
  },
  {
    model: 'gpt-6.2-astra',
    seller: 'openai',
    priced: always(openai(8, 40, 0.4), openai(16, 60, 0.8, 272_000)),
    source: `github.com/BerriAI/litellm/discussions/52347; ${TOKEN_METER}`,
    sourceDate: '2026-11-18',
  },
  {
    model: 'gpt-5.6-cyber',
    seller: 'openai',
    priced: always(openai(12.5, 75, 1.25)),
    source: PI_AI,
    sourceDate: '2026-11-10',
  },
  {
    model: 'gpt-5.3-codex-spark',
    seller: 'openai',
    priced: always(withoutWritePrice(1.75, 14, 0.175, { webSearch: 10 })),
    source: PI_AI,
    sourceDate: '2026-11-10',
  },
  {
    model: 'codex-auto-review',
    seller: 'openai',
    priced: { as: 'gpt-5.6-luna' },
    source: CCUSAGE,
    sourceDate: '2026-11-23',
  },
  { model: 'gpt-reserve', seller: 'openai', priced: { as: 'gpt-5.6-luna' }, source: CCUSAGE, sourceDate: '2026-11-23' },
  {
    model: 'gemini-4-argon',
    seller: 'google',
    // The introductory price ends on 2026-11-30, as ai.google.dev announces it. The catalogue has only that.
    priced: [
      { startsAt: null, bands: [withoutWritePrice(2, 10, 0.1)] },
      { startsAt: '2026-12-01T00:00:00.000Z', bands: [withoutWritePrice(4, 20, 0.2)] },
    ],
    source: `${PI_AI}; ai.google.dev/gemini-api/docs/generate-content/latest-model`,
    sourceDate: '2026-11-10',
  },
  {
    model: 'gemini-4-carbon',
    seller: 'google',
    // Like Gemini 4 Argon.
    priced: [
      { startsAt: null, bands: [withoutWritePrice(2, 10, 0.1)] },
      { startsAt: '2026-12-01T00:00:00.000Z', bands: [withoutWritePrice(4, 20, 0.2)] },
    ],
    source: 'github.com/BerriAI/litellm/discussions/50970: the price of Gemini 4 Argon',
    sourceDate: '2026-11-11',
  },
  {
    model: 'gemini-4-neon',
    seller: 'google',
    priced: always(withoutWritePrice(3, 15, 0.15)),
    source: `docs.laozhang.ai/en/announcements/gemini-4-neon-2026-11: Google's list price; ${TOKEN_METER}`,
    sourceDate: '2026-11-22',
  },
  {
    model: 'gemini-4-hydrogen',
    seller: 'google',
    priced: always(withoutWritePrice(1.5, 7.5, 0.075)),
    source: `github.com/BerriAI/litellm/discussions/51436; ${TOKEN_METER}`,
    sourceDate: '2026-11-22',
  },
  {
    model: 'grok-4.7',
    seller: 'x-ai',
    names: ['grok-4.7-latest'],
    // The higher price begins at exactly 200,000 tokens.
    priced: always(withoutWritePrice(2, 6, 0.5), withoutWritePrice(4, 12, 1, { overInputTokens: 199_999 })),
    source: `${PI_AI}; docs.x.ai/developers/pricing`,
    sourceDate: '2026-11-10',
  },
  {
    model: 'kimi-k3.1-pro',
    seller: 'moonshotai',
    priced: always(withoutWritePrice(2, 10, 0.2)),
    source: PI_AI,
    sourceDate: '2026-11-10',
  },
  {
    model: 'kimi-k3.1-pro-highspeed',
    seller: 'moonshotai',
    priced: always(withoutWritePrice(4, 20, 0.2)),
    source: PI_AI,
    sourceDate: '2026-11-10',
  },
];

function always(...bands: RateBand[]): RatePeriod[] {
  return [{ startsAt: null, bands }];
}

/** Cache writes cost 1.25 times the input for 5 minutes, and twice the input for an hour. */
function anthropic(input: number, output: number, cacheRead: number, overInputTokens = -1): RateBand {
  const rates = toRates({ input, output, cacheRead, webSearch: 10 });
  return {
    overInputTokens,
    rates: { ...rates, cacheWrite5mUsdPerMillion: input * 1.25, cacheWrite1hUsdPerMillion: input * 2 },
  };
}

/** Cache writes cost 1.25 times the input. */
function openai(input: number, output: number, cacheRead: number, overInputTokens = -1): RateBand {
  const rates = toRates({ input, output, cacheRead, webSearch: 10 });
  return {
    overInputTokens,
    rates: { ...rates, cacheWrite5mUsdPerMillion: input * 1.25, cacheWrite1hUsdPerMillion: input * 1.25 },
  };
}

function withoutWritePrice(
  input: number,
  output: number,
  cacheRead: number,
  { overInputTokens = -1, webSearch = null }: { overInputTokens?: number; webSearch?: number | null } = {},
): RateBand {
  return { overInputTokens, rates: toRates({ input, output, cacheRead, webSearch }) };
}

function toRates(price: { input: number; output: number; cacheRead: number; webSearch: number | null }): Rates {
  return {
    inputUsdPerMillion: price.input,
    outputUsdPerMillion: price.output,
    cacheReadUsdPerMillion: price.cacheRead,
    cacheWrite5mUsdPerMillion: price.input,
    cacheWrite1hUsdPerMillion: price.input,
    webSearchUsdPerThousand: price.webSearch,
  };
}
