SELECT
  g."errors" AS "errors",
  g."retries" AS "retries",
  g."sessions" AS "sessions",
  g."retry_wait_ms" AS "retry_wait_ms",
  (count(*) OVER ())::float8 - 1 AS group_count,
  g."error" AS "key_error"
FROM
  (
    SELECT
      (
        count(*) FILTER (
          WHERE
            kind = 'api_error'
        )
      )::float8 AS "errors",
      (
        count(*) FILTER (
          WHERE
            kind = 'api_retry'
        )
      )::float8 AS "retries",
      count(DISTINCT session_id)::float8 AS "sessions",
      coalesce(
        sum(wait_ms) FILTER (
          WHERE
            kind = 'api_retry'
        ),
        0
      ) AS "retry_wait_ms",
      (GROUPING("error") = 1) AS is_total,
      "error"
    FROM
      (
        SELECT
          e.name AS "error",
          e.session_id AS "session_id",
          e.kind AS "kind",
          CASE
            WHEN jsonb_typeof(e.details -> 'retryInMs') = 'number' THEN (e.details ->> 'retryInMs')::float8
          END AS "wait_ms",
          NULL::bigint AS session_count
        FROM
          analytics.session_events AS e
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
          AND s.session_id = e."session_id"
        WHERE
          e."workspace_id" = $2
          AND e."timestamp" >= $3::timestamptz
          AND kind IN ('api_error', 'api_retry')
      ) AS x
    GROUP BY
      GROUPING SETS (("error"), ())
  ) AS g
ORDER BY
  is_total DESC,
  errors DESC,
  retries DESC,
  g."error" NULLS FIRST
LIMIT
  $4;
