import { sql } from '../drizzle.cjs';

/**
 * The cost of a transcript's usage entries, as packages/core computes it: 0 if there are none, null if no entry has a
 * price or the sum is implausible.
 */
export const COST_OF_ENTRIES = sql.raw(
  'CASE WHEN count(*) = 0 THEN 0 WHEN sum(cost_usd) < 1e10 THEN sum(cost_usd) END',
);

/** The same for their web searches, limited to the column's maximum. */
export const SEARCHES_OF_ENTRIES = sql.raw('least(coalesce(sum(web_search_requests), 0), 2147483647)');
