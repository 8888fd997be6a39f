import type { SessionCosts } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { usageEntries, usageLedger } from '../schema/usage.ts';

/** Tokens of one class that one model was charged for, at one context level. */
type CostPart = SessionCosts['parts'][number];
type ExpensiveResponse = SessionCosts['most_expensive'][number];
type UnpricedTerms = SessionCosts['unpriced'][number];

/** Input tokens, including cached ones, above which vendors charge more. */
export const LONG_CONTEXT_TOKENS = 200_000;
const MAX_MOST_EXPENSIVE = 10;
const MAX_UNPRICED = 20;

/**
 * Reads the cost of the responses of a session's primary transcript, including shared ones, by model, class and rate,
 * and the most expensive ones.
 */
export async function readSessionCosts(
  database: Database,
  workspaceId: string,
  sessionId: string,
): Promise<Omit<SessionCosts, 'session_id'>> {
  const entries = selectEntries(workspaceId, sessionId);
  const parts = await database.execute<Record<string, unknown> & CostPart>(sql`
    SELECT e.model, part.token_class, e.tokens_in + e.cache_read + e.cache_write > ${LONG_CONTEXT_TOKENS}::int AS is_long_context,
      count(*)::float8 AS responses, sum(part.tokens)::float8 AS tokens, coalesce(sum(part.cost_usd), 0)::float8 AS cost_usd,
      min(part.cost_usd * 1000000 / part.tokens)::float8 AS lowest_rate_usd,
      max(part.cost_usd * 1000000 / part.tokens)::float8 AS highest_rate_usd
    FROM (${entries}) AS e
    CROSS JOIN LATERAL (VALUES
      ('input', e.tokens_in, e.cost_input_usd), ('output', e.tokens_out, e.cost_output_usd),
      ('cache_read', e.cache_read, e.cost_cache_read_usd), ('cache_write', e.cache_write, e.cost_cache_write_usd)
    ) AS part (token_class, tokens, cost_usd)
    WHERE part.tokens > 0
    GROUP BY e.model, part.token_class, is_long_context
    ORDER BY cost_usd DESC, tokens DESC`);
  const mostExpensive = await database.execute<Record<string, unknown> & ExpensiveResponse>(sql`
    SELECT e.line_number, e.message_id,
      to_char(e."timestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "timestamp", e.model,
      coalesce(l.session_id = e.session_id, false) AS is_own, e.tokens_in::float8 AS tokens_in, e.tokens_out::float8 AS tokens_out,
      e.cache_read::float8 AS cache_read, e.cache_write::float8 AS cache_write, e.cost_usd::float8 AS cost_usd
    FROM (${entries}) AS e
    LEFT JOIN ${usageLedger} AS l
      ON l.workspace_id = e.workspace_id AND l.agent = e.agent AND l.response_key = e.response_key
    WHERE e.cost_usd > 0
    ORDER BY e.cost_usd DESC, e.line_number LIMIT ${MAX_MOST_EXPENSIVE}`);
  const unpriced = await database.execute<Record<string, unknown> & UnpricedTerms>(sql`
    SELECT e.model, e.service_tier, e.speed, count(*)::float8 AS responses
    FROM (${entries}) AS e
    WHERE e.price_basis = 'unpriced'
    GROUP BY e.model, e.service_tier, e.speed
    ORDER BY responses DESC, e.model, e.service_tier, e.speed LIMIT ${MAX_UNPRICED}`);
  const { rows } = await database.execute<{ estimate: number; other: number }>(sql`
    SELECT
      coalesce(sum((e.estimated_tokens_out - e.tokens_out) * e.cost_output_usd / nullif(e.tokens_out, 0))
        FILTER (WHERE e.is_unfinalised), 0)::float8 AS estimate,
      coalesce(sum(e.cost_usd - coalesce(e.cost_input_usd, 0) - coalesce(e.cost_output_usd, 0)
        - coalesce(e.cost_cache_read_usd, 0) - coalesce(e.cost_cache_write_usd, 0)), 0)::float8 AS other
    FROM (${entries}) AS e`);
  return {
    parts: parts.rows,
    most_expensive: mostExpensive.rows,
    unpriced: unpriced.rows,
    unfinalised_estimate_usd: rows[0]?.estimate ?? 0,
    other_cost_usd: rows[0]?.other ?? 0,
  };
}

const selectEntries = (workspaceId: string, sessionId: string): SQL => sql`
  SELECT e.* FROM ${sessions} AS s
  JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
  JOIN ${usageEntries} AS e ON e.workspace_id = t.workspace_id AND e.row_set_id = t.row_set_id
  WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}`;
