import type { ModelsReport } from './reports/report-schemas.ts';

/** The parts of a price that its effect is estimated from, in dollars per million tokens. */
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
  /** Null if they have no price so far. */
  costUsd: number | null;
  /**
   * Approximate cost with the price. One-hour cache writes count as five-minute ones, and long contexts as ordinary
   * ones.
   */
  estimatedUsd: number;
}

/** The effect of a price on its models' responses, from the rows of the `models` report. Pure. */
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
