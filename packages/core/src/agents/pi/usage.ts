import type { JsonObject } from '../../lines/json.ts';
import { readObject } from '../../records/fields.ts';
import { MAX_REQUESTS_PER_RESPONSE, type Usage } from '../../records/usage.ts';
import type { ReaderContext } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { type ReaderKit, toUsageIfAny } from '../reader-kit.ts';

/**
 * `usage{input, output, cacheRead, cacheWrite}`. The classes do not overlap; output includes reasoning. OMP adds
 * `orchestration`, tokens outside these classes that the provider bills as well, and names two fields differently.
 * https://github.com/earendil-works/pi packages/ai/src/types.ts https://github.com/can1357/oh-my-pi
 * packages/catalog/src/types.ts
 */
export function readPiUsage(usage: JsonObject, kit: ReaderKit): Usage | undefined {
  const orchestration = readObject(usage.orchestration);
  const server = readObject(usage.server);
  const lifetimes = readObject(usage.cttl);
  const cacheWriteTokens = kit.toCount(usage, 'cacheWrite');
  const longLived = kit.toCount(usage, 'cacheWrite1h') || kit.toCount(lifetimes, 'ephemeral1h');
  const cacheWrite1hTokens = Math.min(cacheWriteTokens, longLived);
  return toUsageIfAny({
    inputTokens: kit.toCount(usage, 'input') + kit.toCount(orchestration, 'input'),
    outputTokens: kit.toCount(usage, 'output') + kit.toCount(orchestration, 'output'),
    cacheReadTokens: kit.toCount(usage, 'cacheRead') + kit.toCount(orchestration, 'cacheRead'),
    cacheWriteTokens,
    cacheWrite1hTokens,
    cacheWrite5mTokens: cacheWrite1hTokens > 0 ? cacheWriteTokens - cacheWrite1hTokens : 0,
    thinkingTokens: kit.toCount(usage, 'reasoning') || kit.toCount(usage, 'reasoningTokens'),
    webSearchRequests: kit.toCount(server, 'webSearch', MAX_REQUESTS_PER_RESPONSE),
    webFetchRequests: kit.toCount(server, 'webFetch', MAX_REQUESTS_PER_RESPONSE),
  });
}

/** OMP counts requests of GitHub Copilot's plans, which are no tokens. */
export const PI_USAGE_FIELDS: ReadonlySet<string> = new Set([
  ...['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h', 'reasoning', 'reasoningTokens', 'totalTokens'],
  'premiumRequests',
]);

/** The sum of the usages whose own totals no rule explains. */
export interface UnexplainedTotals {
  tokens: { stated: number; counted: number };
  microdollars: { stated: number; counted: number };
}

export const NO_UNEXPLAINED_TOTALS: Readonly<UnexplainedTotals> = {
  tokens: { stated: 0, counted: 0 },
  microdollars: { stated: 0, counted: 0 },
};

/** Part of a cost within which it equals the sum of its parts, because they are sums of fractions. */
const COST_TOLERANCE = 1e-6;

/**
 * Adds a usage whose `totalTokens` or `cost.total` is not the sum of its parts. Exceptions are totals of 0 or none;
 * totals without the cache, which some providers state; a cost that the provider reported, while its parts are Pi's
 * estimate; and a cost without parts.
 */
export function addUnexplained(
  { tokens, microdollars }: UnexplainedTotals,
  source: JsonObject,
  usage: Usage,
  kit: ReaderKit,
): void {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const counted = inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
  const withoutWrites = counted - cacheWriteTokens;
  const stated = kit.toCount(source, 'totalTokens');
  if (![0, counted, withoutWrites, withoutWrites - cacheReadTokens].includes(stated)) {
    tokens.stated += stated;
    tokens.counted += counted;
  }
  const cost = readObject(source.cost);
  const total = kit.toDollars(cost, 'total') ?? 0;
  const parts = ['input', 'output', 'cacheRead', 'cacheWrite'].map((field) => kit.toDollars(cost, field) ?? 0);
  const sum = parts.reduce((all, part) => all + part, 0);
  const isCompared = total > 0 && sum > 0 && cost?.totalFromProvider !== true;
  if (!isCompared || Math.abs(total - sum) <= COST_TOLERANCE * total) return;
  microdollars.stated += Math.round(total * 1e6);
  microdollars.counted += Math.round(sum * 1e6);
}

/** Reports the sums of what no rule explains. */
export function compareUnexplained({ tokens, microdollars }: UnexplainedTotals, context: ReaderContext): void {
  const toWhat = (unit: string): string => `${unit} of the responses whose total is not the sum of its parts`;
  compareTotal(toWhat('Tokens'), tokens.stated, tokens.counted, context);
  compareTotal(toWhat('Millionths of a dollar'), microdollars.stated, microdollars.counted, context);
}
