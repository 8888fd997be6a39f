SELECT
  f.session_id,
  coalesce(f.title, left(f.initial_prompt, 80)) AS title,
  f.project,
  f.git_branch,
  f.agent,
  f.is_subagent,
  extract(
    epoch
    FROM
      f.first_timestamp
  )::float8 * 1000 AS first_ms,
  f.duration_ms::float8 AS duration_ms,
  f.active_ms::float8 AS active_ms,
  f.prompt_count AS prompts,
  (
    f.tokens_in + f.tokens_out + f.cache_read + f.cache_write
  )::float8 AS total_tokens,
  f.cost_estimate_usd::float8 AS cost_usd,
  (
    SELECT
      CASE
        WHEN count(*) = 0 THEN 0
        WHEN sum(u.responses) > sum(u.unpriced_responses) THEN sum(u.cost_units) / 1e10
      END
    FROM
      recount.usage_day_rollup AS u
    WHERE
      u.workspace_id = (
        SELECT
          $1::text
      )
      AND u.session_id = f.session_id
      AND NOT u.is_shared
  )::float8 AS own_cost_usd,
  (
    SELECT
      CASE
        WHEN count(*) = 0 THEN 0
        WHEN sum(u.responses) > sum(u.unpriced_responses) THEN sum(u.cost_units) / 1e10
      END
    FROM
      recount.usage_day_rollup AS u
    WHERE
      u.workspace_id = (
        SELECT
          $2::text
      )
      AND u.session_id = f.session_id
      AND u.is_shared
  )::float8 AS shared_cost_usd,
  f.unpriced_count AS unpriced_responses
FROM
  recount.sessions AS f
  LEFT JOIN recount.sessions AS s ON s.workspace_id = $3
  AND s.session_id = f."session_id"
WHERE
  f."workspace_id" = $4
  AND f."first_timestamp" >= $5::timestamptz
ORDER BY
  f.cost_estimate_usd DESC NULLS LAST,
  f.session_id
LIMIT
  $6;
