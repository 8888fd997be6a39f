import type { JsonObject } from '../../lines/json.ts';
import { isJsonObject, MAX_REPORTED_TOKENS, readCount, readDollars, readPart } from '../../records/fields.ts';
import type { ReportedTotals } from '../../records/rows.ts';

/** Real sessions use a handful. */
const MAX_REPORTED_MODELS = 64;

type OnInvalid = (field: string) => void;
type ReportedTokens = Pick<ReportedTotals, 'tokens_in' | 'tokens_out' | 'cache_read' | 'cache_write'>;

/**
 * The agent's own total from a `cost-state` or `result` line; undefined if it states no cost. Both are cumulative, but
 * a result's `usage` covers one turn only. It is used only if the usage by model is missing. `onInvalid` is called for
 * each field that is present but implausible; such a field counts as missing.
 */
export function toReportedTotals(
  line: JsonObject,
  source: ReportedTotals['source'],
  onInvalid: OnInvalid,
): ReportedTotals | undefined {
  const dollars = (field: string): number | null => readDollars(line[field], () => onInvalid(field));
  const models = readPart(line, 'modelUsage', onInvalid);
  const usage = readPart(line, 'usage', onInvalid);
  const costUsd =
    source === 'cost-state'
      ? dollars('totalCostUSD')
      : (dollars('total_cost_usd') ?? dollars('cost_usd') ?? dollars('costUSD'));
  if (costUsd === null) return undefined;
  const tokens = toModelTokens(models, onInvalid) ?? toUsageTokens(usage, onInvalid);
  return { source, cost_usd: costUsd, ...tokens };
}

/**
 * The total of the results of a stream, each with the usage since the one before. Since version 2.1.300 or so,
 * `modelUsage` and `total_cost_usd` of a resumed session cover its earlier runs as well, which have separate streams.
 * Null if the result does not state its own part.
 */
export function addResult(
  before: ReportedTotals | null,
  line: JsonObject,
  onInvalid: OnInvalid,
): ReportedTotals | null {
  const own = readPart(line, 'model_usage_since_last_result', onInvalid);
  if (own === undefined) return null;
  const tokens = toModelTokens(own, onInvalid) ?? NO_TOKENS;
  const dollars = Object.values(own)
    .filter(isJsonObject)
    .slice(0, MAX_REPORTED_MODELS)
    .map(({ costUSD = null }) => readDollars(costUSD, () => onInvalid('costUSD')) ?? 0);
  const sum = (field: keyof ReportedTokens): number => (before?.[field] ?? 0) + (tokens[field] ?? 0);
  return {
    source: 'result',
    cost_usd: Math.round(dollars.reduce((total, cost) => total + cost, before?.cost_usd ?? 0) * 1e10) / 1e10,
    tokens_in: sum('tokens_in'),
    tokens_out: sum('tokens_out'),
    cache_read: sum('cache_read'),
    cache_write: sum('cache_write'),
  };
}

const NO_TOKENS: ReportedTokens = { tokens_in: 0, tokens_out: 0, cache_read: 0, cache_write: 0 };

function toModelTokens(modelUsage: JsonObject | undefined, onInvalid: OnInvalid): ReportedTokens | undefined {
  const models = Object.values(modelUsage ?? {})
    .filter(isJsonObject)
    .slice(0, MAX_REPORTED_MODELS);
  if (models.length === 0) return undefined;
  const sum = (field: string): number =>
    models.reduce((total, model) => total + (readTokens(model, field, onInvalid) ?? 0), 0);
  return {
    tokens_in: sum('inputTokens'),
    tokens_out: sum('outputTokens'),
    cache_read: sum('cacheReadInputTokens'),
    cache_write: sum('cacheCreationInputTokens'),
  };
}

function toUsageTokens(usage: JsonObject = {}, onInvalid: OnInvalid): ReportedTokens {
  return {
    tokens_in: readTokens(usage, 'input_tokens', onInvalid),
    tokens_out: readTokens(usage, 'output_tokens', onInvalid),
    cache_read: readTokens(usage, 'cache_read_input_tokens', onInvalid),
    cache_write: readTokens(usage, 'cache_creation_input_tokens', onInvalid),
  };
}

const readTokens = (source: JsonObject, field: string, onInvalid: OnInvalid): number | null =>
  readCount(source[field], MAX_REPORTED_TOKENS, () => onInvalid(field));
