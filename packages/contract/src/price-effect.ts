import type { ModelsReport } from './usage-reports.ts';

/** What of a price its effect is estimated by, in dollars per million tokens. */
export interface EstimatedPrice {
  /** May end in `*`. */
  model: string;
  inputUsdPerMillion: number;
  outputUsdPerMillion: number;
  cacheReadUsdPerMillion?: number | undefined;
  cacheWrite5mUsdPerMillion?: number | undefined;
}

export interface PriceEffect {
  model: string;
  responses: number;
  /** Null: without a price until now. */
  costUsd: number | null;
  /** About what they cost by the price: cache writes for an hour are taken for such of five minutes, and long contexts for others. */
  estimatedUsd: number;
}

/** What a price will make of the responses of its models, as the report `models` has them. Pure. */
export function estimatePriceEffect(price: EstimatedPrice, rows: ModelsReport['rows']): PriceEffect[] {
  const { model: name, inputUsdPerMillion: input, outputUsdPerMillion: output } = price;
  const { cacheReadUsdPerMillion: cacheRead = 0.1 * input, cacheWrite5mUsdPerMillion: cacheWrite = 1.25 * input } =
    price;
  const prefix = name.endsWith('*') ? name.slice(0, -1) : undefined;
  return rows.flatMap(({ model, responses, cost_usd: costUsd, ...tokens }) => {
    if (model === null || !(prefix === undefined ? model === name : model.startsWith(prefix))) return [];
    const millionths =
      tokens.tokens_in * input +
      tokens.tokens_out * output +
      tokens.cache_read * cacheRead +
      tokens.cache_write * cacheWrite;
    return [{ model, responses, costUsd, estimatedUsd: millionths / 1e6 }];
  });
}
