import { sql } from '../drizzle.cjs';

/**
 * What a transcript's usage entries cost, as core computes it: 0 if there are none, null if none of them
 * has a price or they cost more than is plausible.
 */
export const COST_OF_ENTRIES = sql.raw(
  'CASE WHEN count(*) = 0 THEN 0 WHEN sum(cost_usd) < 1e10 THEN sum(cost_usd) END',
);

/** The same of their web searches, which stay at what the column holds. */
export const SEARCHES_OF_ENTRIES = sql.raw('least(coalesce(sum(web_search_requests), 0), 2147483647)');
