SELECT
  g."compactions" AS "compactions",
  g."sessions" AS "sessions",
  g."pre_tokens_p50" AS "pre_tokens_p50",
  g."pre_tokens_max" AS "pre_tokens_max",
  (count(*) OVER ())::float8 - 1 AS group_count,
  g."trigger" AS "key_trigger"
FROM
  (
    SELECT
      count(*)::float8 AS "compactions",
      count(DISTINCT session_id)::float8 AS "sessions",
      percentile_disc(0.5) WITHIN GROUP (
        ORDER BY
          pre_tokens
      ) AS "pre_tokens_p50",
      max(pre_tokens) AS "pre_tokens_max",
      (GROUPING("trigger") = 1) AS is_total,
      "trigger"
    FROM
      (
        SELECT
          e.name AS "trigger",
          e.session_id AS "session_id",
          CASE
            WHEN jsonb_typeof(e.details -> 'preTokens') = 'number' THEN (e.details ->> 'preTokens')::float8
          END AS "pre_tokens",
          NULL::bigint AS session_count
        FROM
          analytics.session_events AS e
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
          AND s.session_id = e."session_id"
        WHERE
          e."workspace_id" = $2
          AND e."timestamp" >= $3::timestamptz
          AND kind IN ('compaction')
      ) AS x
    GROUP BY
      GROUPING SETS (("trigger"), ())
  ) AS g
ORDER BY
  is_total DESC,
  compactions DESC,
  g."trigger" NULLS FIRST
LIMIT
  $4;
