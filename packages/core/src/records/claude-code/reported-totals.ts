import type { JsonObject, JsonValue, ReportedTotals } from '../../rows.ts';
import { isJsonObject, readCount, readDollars, readObject } from '../fields.ts';

/** A session uses a handful. */
const MAX_REPORTED_MODELS = 64;

type ReportedTokens = Pick<ReportedTotals, 'tokens_in' | 'tokens_out' | 'cache_read' | 'cache_write'>;

/**
 * The agent's own total as a `cost-state` or `result` line states it; undefined where it states no cost. Both are
 * cumulative, but a result's `usage` is that of one turn: it is read only where the usage by model is missing.
 */
export function toReportedTotals(line: JsonObject, source: ReportedTotals['source']): ReportedTotals | undefined {
  const costUsd =
    source === 'cost-state'
      ? readDollars(line.totalCostUSD)
      : (readDollars(line.total_cost_usd) ?? readDollars(line.cost_usd) ?? readDollars(line.costUSD));
  if (costUsd === null) return undefined;
  return { source, cost_usd: costUsd, ...(toModelTokens(line.modelUsage) ?? toUsageTokens(line.usage)) };
}

function toModelTokens(modelUsage: JsonValue | undefined): ReportedTokens | undefined {
  const models = Object.values(readObject(modelUsage) ?? {})
    .filter(isJsonObject)
    .slice(0, MAX_REPORTED_MODELS);
  if (models.length === 0) return undefined;
  const sum = (field: string): number => models.reduce((total, model) => total + (readCount(model[field]) ?? 0), 0);
  return {
    tokens_in: sum('inputTokens'),
    tokens_out: sum('outputTokens'),
    cache_read: sum('cacheReadInputTokens'),
    cache_write: sum('cacheCreationInputTokens'),
  };
}

function toUsageTokens(value: JsonValue | undefined): ReportedTokens {
  const usage = readObject(value);
  return {
    tokens_in: readCount(usage?.input_tokens),
    tokens_out: readCount(usage?.output_tokens),
    cache_read: readCount(usage?.cache_read_input_tokens),
    cache_write: readCount(usage?.cache_creation_input_tokens),
  };
}
