WITH
  link AS MATERIALIZED (
    SELECT
      e.name AS url,
      e.session_id,
      min(e."timestamp") AS first_linked,
      max(e."timestamp") AS last_linked,
      max(e.details ->> 'repository') AS repository,
      max(
        CASE
          WHEN jsonb_typeof(e.details -> 'number') = 'number' THEN (e.details ->> 'number')::float8
        END
      ) AS number
    FROM
      analytics.session_events AS e
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
      AND s.session_id = e."session_id"
    WHERE
      e."workspace_id" = $2
      AND e."timestamp" >= $3::timestamptz
      AND kind IN ('pull_request')
      AND e.name IS NOT NULL
    GROUP BY
      e.name,
      e.session_id
  ),
  member AS (
    SELECT
      url,
      session_id
    FROM
      link
    UNION
    SELECT
      link.url,
      child.session_id
    FROM
      link
      CROSS JOIN LATERAL (
        SELECT
          session_id
        FROM
          recount.sessions
        WHERE
          workspace_id = $4
          AND parent_session_id = link.session_id
      ) AS child
  ),
  usage AS MATERIALIZED (
    SELECT
      u.session_id,
      sum(u.responses) AS responses,
      sum(u.cost_units) AS cost_units,
      sum(u.unpriced_responses) AS unpriced,
      sum(
        u.tokens_in + u.tokens_out + u.cache_read + u.cache_write
      ) AS total_tokens
    FROM
      (
        SELECT DISTINCT
          session_id
        FROM
          member
      ) AS m
      CROSS JOIN LATERAL (
        SELECT
          *
        FROM
          recount.usage_day_rollup
        WHERE
          workspace_id = $5
          AND session_id = m.session_id
          AND NOT is_shared
      ) AS u
    GROUP BY
      u.session_id
  ),
  cost AS (
    SELECT
      url,
      sum(responses) AS responses,
      sum(cost_units) AS cost_units,
      sum(unpriced) AS unpriced,
      sum(total_tokens) AS total_tokens
    FROM
      member
      JOIN usage USING (session_id)
    GROUP BY
      url
  )
SELECT
  NULL AS url,
  NULL AS repository,
  NULL::float8 AS number,
  NULL::float8 AS first_ms,
  NULL::float8 AS last_ms,
  (
    SELECT
      count(DISTINCT session_id)::float8
    FROM
      link
  ) AS sessions,
  coalesce(sum(responses), 0)::float8 AS responses,
  coalesce(sum(total_tokens), 0)::float8 AS total_tokens,
  coalesce(sum(cost_units), 0)::float8 AS cost_units,
  coalesce(sum(unpriced), 0)::float8 AS unpriced,
  (
    SELECT
      count(DISTINCT url)::float8
    FROM
      link
  ) AS pull_requests,
  (
    SELECT
      count(DISTINCT url)::float8
    FROM
      link
      LEFT JOIN cost USING (url)
    WHERE
      cost.responses > cost.unpriced
      OR coalesce(cost.responses, 0) = 0
  ) AS priced_pull_requests
FROM
  usage
UNION ALL
(
  SELECT
    url,
    max(repository),
    max(number),
    extract(
      epoch
      FROM
        min(first_linked)
    )::float8 * 1000,
    extract(
      epoch
      FROM
        max(last_linked)
    )::float8 * 1000 AS last_ms,
    count(*)::float8,
    coalesce(max(responses), 0)::float8,
    coalesce(max(total_tokens), 0)::float8,
    coalesce(max(cost_units), 0)::float8,
    coalesce(max(unpriced), 0)::float8,
    1,
    1
  FROM
    link
    LEFT JOIN cost USING (url)
  GROUP BY
    url
  ORDER BY
    last_ms DESC NULLS LAST,
    url
  LIMIT
    $6
);
