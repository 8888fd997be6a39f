import { isJsonObject, MAX_REPORTED_TOKENS, readCount, readDollars, readObject } from '../../records/fields.ts';
import type { JsonObject, JsonValue, ReportedTotals } from '../../rows.ts';

/** Real sessions use a handful. */
const MAX_REPORTED_MODELS = 64;

type OnInvalid = (field: string) => void;
type ReportedTokens = Pick<ReportedTotals, 'tokens_in' | 'tokens_out' | 'cache_read' | 'cache_write'>;

/**
 * The agent's own total from a `cost-state` or `result` line; undefined if it states no cost. Both are cumulative, but
 * a result's `usage` covers one turn only: it is used only if the usage by model is missing. `onInvalid` is called for
 * each field that is present but implausible; such a field counts as missing.
 */
export function toReportedTotals(
  line: JsonObject,
  source: ReportedTotals['source'],
  onInvalid: OnInvalid,
): ReportedTotals | undefined {
  const dollars = (field: string): number | null => readDollars(line[field], () => onInvalid(field));
  const costUsd =
    source === 'cost-state'
      ? dollars('totalCostUSD')
      : (dollars('total_cost_usd') ?? dollars('cost_usd') ?? dollars('costUSD'));
  if (costUsd === null) return undefined;
  const tokens = toModelTokens(line.modelUsage, onInvalid) ?? toUsageTokens(line.usage, onInvalid);
  return { source, cost_usd: costUsd, ...tokens };
}

function toModelTokens(modelUsage: JsonValue | undefined, onInvalid: OnInvalid): ReportedTokens | undefined {
  const models = Object.values(readObject(modelUsage) ?? {})
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

function toUsageTokens(value: JsonValue | undefined, onInvalid: OnInvalid): ReportedTokens {
  const usage = readObject(value) ?? {};
  return {
    tokens_in: readTokens(usage, 'input_tokens', onInvalid),
    tokens_out: readTokens(usage, 'output_tokens', onInvalid),
    cache_read: readTokens(usage, 'cache_read_input_tokens', onInvalid),
    cache_write: readTokens(usage, 'cache_creation_input_tokens', onInvalid),
  };
}

const readTokens = (source: JsonObject, field: string, onInvalid: OnInvalid): number | null =>
  readCount(source[field], MAX_REPORTED_TOKENS, () => onInvalid(field));
