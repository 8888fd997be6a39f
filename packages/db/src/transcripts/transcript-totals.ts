import { sql } from '../drizzle.cjs';

/**
 * Of a transcript's usage entries, or of none: what they cost, as core has it. 0 where there are none, null where none of them
 * has a price or they cost more than is plausible.
 */
export const COST_OF_ENTRIES = sql.raw(
  'CASE WHEN count(*) = 0 THEN 0 WHEN sum(cost_usd) < 1e10 THEN sum(cost_usd) END',
);

/** The same of their web searches, which stay at what the column holds. */
export const SEARCHES_OF_ENTRIES = sql.raw('least(coalesce(sum(web_search_requests), 0), 2147483647)');
