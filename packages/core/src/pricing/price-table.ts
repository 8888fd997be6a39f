import type { Usage } from '../usage/usage.ts';

export interface PriceQuery {
  /** As the transcript names it; null where it names none. */
  model: string | null;
  /** Of the API response; prices change over time. */
  timestamp: string | null;
  usage: Usage;
}

export interface Price {
  /** US dollars, a multiple of 1e-10; null for a model that the table does not know. */
  costUsd: number | null;
  /** `default` is the flat rate of a table that does not tell models apart. */
  basis: 'default' | 'unpriced';
}

/** Prices usage by model, date and token class. Pure: the same query gives the same price. */
export interface PriceTable {
  /** Stored with what it priced, so that a later table's figures can be told apart. */
  version: string;
  price(query: PriceQuery): Price;
}

/** Costs are whole multiples of 1e-10 dollars, so that sums of them are exact in integers. */
export const COST_UNITS_PER_USD = 1e10;
