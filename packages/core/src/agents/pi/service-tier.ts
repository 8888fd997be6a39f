import type { JsonValue } from '../../lines/json.ts';
import { cutCharacters, readObject } from '../../records/fields.ts';
import { isTermName, type Usage } from '../../records/usage.ts';

/** The tier that requests ask for, either one for all models, or one by family of models. Null is the standard one. */
export type ServiceTiers = string | Readonly<Record<string, string>> | null;

const FAMILIES: readonly (readonly [family: string, models: RegExp])[] = [
  ['anthropic', /(?:^|[/.])claude-/],
  ['google', /(?:^|\/)gemini-/],
  ['openai', /(?:^|\/)(?:gpt-|chatgpt-|codex-|o\d)/],
];
/** Fireworks has a separate tier; Copilot refuses the field. */
const WITHOUT_TIERS = new Set(['fireworks', 'github-copilot']);
/** Tiers that OMP knows and has no setting for in requests to Claude. */
const UNSENT_TO_CLAUDE = new Set(['auto', 'default', 'flex', 'scale']);
const MAX_TIER_LENGTH = 64;

/**
 * Reads `serviceTier` of a `service_tier_change`: `"flex"`, or in OMP `{"openai":"priority"}`, as of then. Undefined
 * for anything else.
 */
export function readServiceTiers(value: JsonValue | undefined): ServiceTiers | undefined {
  if (value === null || value === undefined) return null;
  const tier = readTier(value);
  if (tier !== undefined) return tier;
  const byFamily = readObject(value);
  if (byFamily === undefined) return undefined;
  const tiers: [string, string][] = [];
  for (const [family] of FAMILIES) {
    const stated = byFamily[family] ?? null;
    const own = readTier(stated);
    if (own === undefined && stated !== null) return undefined;
    if (own !== undefined) tiers.push([family, own]);
  }
  return Object.fromEntries(tiers);
}

const readTier = (value: JsonValue): string | undefined =>
  typeof value === 'string' && isTermName(value) ? cutCharacters(value, MAX_TIER_LENGTH) : undefined;

/**
 * The terms of a request. Claude's fast mode is what OMP asks for with the tier `priority`.
 * https://github.com/can1357/oh-my-pi packages/catalog/src/service-tier.ts
 */
export function toTerms(
  tiers: ServiceTiers,
  model: string | null,
  provider: string | null,
): Partial<Pick<Usage, 'serviceTier' | 'speed'>> {
  if (tiers === null || model === null || WITHOUT_TIERS.has(provider ?? '')) return {};
  const [family] = FAMILIES.find(([, models]) => models.test(model.toLowerCase())) ?? [];
  const tier = typeof tiers === 'string' ? tiers : tiers[family ?? ''];
  if (family === undefined || tier === undefined) return {};
  if (family !== 'anthropic') return { serviceTier: tier };
  if (tier === 'priority') return { speed: 'fast' };
  return UNSENT_TO_CLAUDE.has(tier) ? {} : { serviceTier: tier };
}
