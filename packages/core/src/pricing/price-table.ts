import type { CostByClass, PriceBasis } from '../rows.ts';
import type { Usage } from '../usage/usage.ts';

export interface PriceQuery {
  /** As the transcript names it; null where it names none. */
  model: string | null;
  /** Of the API response; prices change over time. */
  timestamp: string | null;
  usage: Usage;
  /** What the transcript itself says the response cost; taken where the table has no price. */
  reportedCostUsd?: number | null;
}

export interface Price {
  /** US dollars, a multiple of 1e-10; null where `basis` is `unpriced`. */
  costUsd: number | null;
  /** Adds up to `costUsd`; null where `basis` is `unpriced` or `reported`. */
  costs: CostByClass | null;
  basis: PriceBasis;
}

/** Prices usage by model, date and token class. Pure: the same query gives the same price. */
export interface PriceTable {
  /** Stored with what it priced, so that a later table's figures can be told apart. */
  version: string;
  price(query: PriceQuery): Price;
}

/** Costs are whole multiples of 1e-10 dollars, so that sums of them are exact in integers. */
export const COST_UNITS_PER_USD = 1e10;
