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
  /** All classes together. */
  tokens: number;
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
  const wanted = name.toLowerCase();
  const prefix = wanted.endsWith('*') ? wanted.slice(0, -1) : undefined;
  const isNamed = (model: string): boolean => (prefix === undefined ? model === wanted : model.startsWith(prefix));
  return rows.flatMap(({ model, responses, cost_usd: costUsd, ...counted }) => {
    if (model === null || !isNamed(model.toLowerCase())) return [];
    const { tokens_in, tokens_out, cache_read, cache_write } = counted;
    const millionths = tokens_in * input + tokens_out * output + cache_read * cacheRead + cache_write * cacheWrite;
    const tokens = tokens_in + tokens_out + cache_read + cache_write;
    return [{ model, responses, tokens, costUsd, estimatedUsd: millionths / 1e6 }];
  });
}
