import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { usageEntries, usageLedger } from '../schema/usage.ts';
import { type FindingScope, isInScope } from './finding-scope.ts';

/** The time that vendors keep a cache. A response says if it wrote for an hour. */
const CACHE_LIFETIME = sql.raw("interval '5 minutes'");
const LONG_CACHE_LIFETIME = sql.raw("interval '1 hour'");

/**
 * Queries for a WITH. The last one, `cold_cache`, has the responses that follow a response of the same model after a
 * pause longer than the cache's lifetime. Tokens that were in the cache before, but were not read, were written again,
 * at most as many as the response wrote.
 */
export const coldCacheQueries = (scope: FindingScope): SQL => sql`
  response AS (
    SELECT u.session_id, u.row_set_id, u.is_subagent, u.git_branch, u.message_id, u.agent, u.response_key, u.model, u."timestamp",
      u."timestamp" - lag(u."timestamp") OVER conversation AS pause,
      lag(u.model) OVER conversation AS model_before,
      greatest(u.cache_write_1h, lag(u.cache_write_1h) OVER conversation) > 0 AS is_long,
      least(u.cache_write, lag(u.cache_read + u.cache_write) OVER conversation - u.cache_read) AS tokens,
      u.cost_cache_write_usd / nullif(u.cache_write, 0) AS write_rate,
      coalesce(u.cost_cache_read_usd / nullif(u.cache_read, 0),
        lag(u.cost_cache_read_usd / nullif(u.cache_read, 0)) OVER conversation) AS read_rate
    FROM ${usageLedger} AS u
    WHERE ${isInScope('u', scope)} AND u."timestamp" IS NOT NULL
    WINDOW conversation AS (
      PARTITION BY u.session_id, u.is_subagent, coalesce(u.agent_id, '') ORDER BY u."timestamp", u.response_key)
  ), cold_cache AS (
    SELECT session_id, row_set_id, is_subagent, model, git_branch, "timestamp", message_id, (
        SELECT min(e.line_number) FROM ${usageEntries} AS e
        WHERE e.workspace_id = ${opaqueWorkspaceId(scope.workspaceId)} AND e.agent = response.agent
          AND e.response_key = response.response_key AND e.row_set_id = response.row_set_id
      ) AS line_number, tokens, (extract(epoch FROM pause) * 1000)::bigint AS pause_ms,
      round(tokens * (write_rate - read_rate), 10) AS cost_usd
    FROM response
    WHERE tokens > 0 AND model = model_before AND pause > CASE WHEN is_long THEN ${LONG_CACHE_LIFETIME} ELSE ${CACHE_LIFETIME} END
  )`;
