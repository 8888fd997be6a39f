import { isTermName } from '@recount/core';
import type { ModelName } from './model-name.ts';

/**
 * The price of a vendor's service tier or speed, as a factor on all rates except searches. The first rule that fits a
 * response applies; a response with a tier or speed that no rule fits has no price.
 */
export interface TierRule {
  /** As transcripts name it, in lower case. */
  names: readonly string[];
  /** Undefined means every seller. */
  sellers?: readonly ModelName['seller'][];
  /** Ids of the list; undefined means all models. */
  models?: RegExp;
  factor: number;
  /** ISO 8601 date; undefined means always. A response without a time counts as the latest. */
  startsAt?: string;
  /** Exclusive; ISO 8601 date. */
  endsAt?: string;
  /** Larger requests do not have the tier. */
  maxInputTokens?: number;
  source: string;
}

const OPENAI_FAST = 'openai.com/api-fast-mode, read in November 2026';
const OPENAI_PRIORITY = 'openai.com/api-priority-processing, read in November 2026';
const PI_AI = '@earendil-works/pi-ai 1.5.2';
const FAST_NAMES = ['priority', 'fast'];
const FAST_SINCE = '2026-07-30';

/** By the value of `service_tier`. */
export const SERVICE_TIERS: readonly TierRule[] = [
  { names: ['standard', 'default', 'auto'], factor: 1, source: 'the list price is the price of these tiers' },

  // Tokens of a commitment have no separate price. They are priced as listed.
  { names: ['priority'], sellers: ['anthropic'], factor: 1, source: 'platform.claude.com/docs/api/service-tiers' },
  { names: ['batch'], sellers: ['anthropic'], factor: 0.5, source: 'platform.claude.com/docs/en/about-claude/pricing' },

  { names: ['batch'], sellers: ['openai'], factor: 0.5, source: 'developers.openai.com/api/docs/pricing' },
  {
    names: ['flex'],
    sellers: ['openai'],
    models: /^(?:gpt-[5-9](?!.*(?:codex|chat|image|cyber)|\.2-(?:sol|astra))|o3$|o4-mini$)/,
    factor: 0.5,
    source: 'developers.openai.com/api/docs/guides/flex-processing: the rates of the Batch API',
  },
  {
    names: ['ultrafast'],
    sellers: ['openai'],
    models: /^gpt-6-astra$/,
    factor: 6,
    startsAt: '2026-09-29',
    source: 'developers.openai.com/api/docs/guides/ultrafast-mode; vercel.com/changelog: 6 times the standard rate',
  },
  {
    names: FAST_NAMES,
    sellers: ['openai'],
    models: /^gpt-5\.5$/,
    factor: 2.5,
    startsAt: FAST_SINCE,
    maxInputTokens: 272_000,
    source: OPENAI_FAST,
  },
  {
    names: FAST_NAMES,
    sellers: ['openai'],
    models: /^gpt-5\.4(?:-mini)?$/,
    factor: 2,
    startsAt: FAST_SINCE,
    maxInputTokens: 272_000,
    source: OPENAI_FAST,
  },
  {
    names: FAST_NAMES,
    sellers: ['openai'],
    models:
      /^gpt-(?:5|5\.[12]|5\.[123]-codex|5\.6-(?:sol|terra|luna)|6-(?:astra|sol|luna)|6\.1-(?:sol|terra)|6\.2-(?:sol|astra))$/,
    factor: 2,
    startsAt: FAST_SINCE,
    source: `${OPENAI_FAST}; ${PI_AI} for GPT-6 and 5.3-codex; TokenMeter 0.17.0 for GPT-6.2`,
  },
  {
    names: FAST_NAMES,
    sellers: ['openai'],
    models: /^gpt-5-mini$/,
    factor: 1.8,
    startsAt: FAST_SINCE,
    source: OPENAI_PRIORITY,
  },
  {
    names: FAST_NAMES,
    sellers: ['openai'],
    models: /^gpt-4\.1$/,
    factor: 1.75,
    startsAt: FAST_SINCE,
    source: OPENAI_PRIORITY,
  },
  // Before, only Codex had a fast mode, which used up more of a plan's credits. With an API key, it cost the list
  // price.
  {
    names: FAST_NAMES,
    sellers: ['openai'],
    factor: 1,
    endsAt: FAST_SINCE,
    source: 'developers.openai.com/codex/speed.md',
  },

  { names: ['batch', 'flex'], sellers: ['google'], factor: 0.5, source: 'ai.google.dev/gemini-api/docs/optimization' },
  { names: ['on_demand', 'flex'], sellers: ['groq'], factor: 1, source: 'console.groq.com/docs/flex-processing' },
];

const CLAUDE_FAST =
  'model catalogue of @anthropic-ai/claude-code 2.1.332; platform.claude.com/docs/en/build-with-claude/fast-mode';

/** By the value of `speed`. */
export const SPEEDS: readonly TierRule[] = [
  { names: ['standard'], factor: 1, source: 'the list price is the price of this speed' },
  { names: ['fast'], sellers: ['anthropic'], models: /^claude-opus-4-[67]$/, factor: 6, source: CLAUDE_FAST },
  {
    names: ['fast'],
    sellers: ['anthropic'],
    models: /^claude-(?:opus-4-8|opus-5|opus-5-5|fable-5-2|mythos-5-2)$/,
    factor: 2,
    source: CLAUDE_FAST,
  },
];

/** The facts about a response that rules depend on. */
export interface TierQuery {
  seller: ModelName['seller'] | undefined;
  /** Id of the list, or the name if it is not listed. */
  model: string;
  /** ISO 8601; null if unknown. */
  timestamp: string | null;
  /** Input, cache reads and cache writes together. */
  inputTokens: number;
}

/** The factor of a tier or speed, as a transcript names it; 1 if it names none, null if its price is not known. */
export function findFactor(rules: readonly TierRule[], tier: string | null, query: TierQuery): number | null {
  if (tier === null || tier === 'standard') return 1;
  const name = tier.trim().toLowerCase();
  // Readers report a text that is no name; stored ones say nothing.
  if (!isTermName(name)) return 1;
  return rules.find((rule) => fits(rule, name, query))?.factor ?? null;
}

function fits(rule: TierRule, name: string, { seller, model, timestamp, inputTokens }: TierQuery): boolean {
  if (!rule.names.includes(name)) return false;
  if (rule.sellers !== undefined && (seller === undefined || !rule.sellers.includes(seller))) return false;
  if (rule.models !== undefined && !rule.models.test(model)) return false;
  const isBefore = (date: string): boolean => timestamp !== null && Date.parse(timestamp) < Date.parse(date);
  if (rule.startsAt !== undefined && isBefore(rule.startsAt)) return false;
  if (rule.endsAt !== undefined && !isBefore(rule.endsAt)) return false;
  return rule.maxInputTokens === undefined || inputTokens <= rule.maxInputTokens;
}
