WITH RECURSIVE
  year AS (
    SELECT
      (
        SELECT
          min(coalesce(r.first_timestamp, '1970-01-01Z'))
        FROM
          "recount"."sessions" AS r
        WHERE
          r.workspace_id = $1
          AND coalesce(r.first_timestamp, '1970-01-01Z') > '1970-01-01Z'
          AND coalesce(r.first_timestamp, '1970-01-01Z') >= coalesce(
            $2::timestamptz - interval '24 hours',
            '-infinity'
          )
          AND coalesce(r.first_timestamp, '1970-01-01Z') < coalesce($3::timestamptz, 'infinity')
      ) AS first,
      1 AS number
    UNION ALL
    SELECT
      (
        SELECT
          min(coalesce(r.first_timestamp, '1970-01-01Z'))
        FROM
          "recount"."sessions" AS r
        WHERE
          r.workspace_id = $4
          AND coalesce(r.first_timestamp, '1970-01-01Z') > '1970-01-01Z'
          AND coalesce(r.first_timestamp, '1970-01-01Z') >= (
            date_trunc('year', year.first, 'UTC') AT TIME ZONE 'UTC' + interval '1 year'
          ) AT TIME ZONE 'UTC'
          AND coalesce(r.first_timestamp, '1970-01-01Z') < coalesce($5::timestamptz, 'infinity')
      ),
      number + 1
    FROM
      year
    WHERE
      number <= $6
      AND year.first IS NOT NULL
  )
SELECT
  json_agg(
    json_build_object(
      'first',
      extract(
        epoch
        FROM
          first
      ) * 1000,
      'last',
      extract(
        epoch
        FROM
          (
            SELECT
              max(coalesce(r.first_timestamp, '1970-01-01Z'))
            FROM
              "recount"."sessions" AS r
            WHERE
              r.workspace_id = $7
              AND coalesce(r.first_timestamp, '1970-01-01Z') > '1970-01-01Z'
              AND coalesce(r.first_timestamp, '1970-01-01Z') >= coalesce(
                $8::timestamptz - interval '24 hours',
                '-infinity'
              )
              AND coalesce(r.first_timestamp, '1970-01-01Z') < coalesce($9::timestamptz, 'infinity')
          )
      ) * 1000
    )
    ORDER BY
      first
  ) AS years
FROM
  year
WHERE
  first IS NOT NULL;

SELECT DISTINCT
  day::text AS day
FROM
  "recount"."stale_days"
WHERE
  workspace_id = $1
LIMIT
  $2;

SELECT
  g."sessions" AS "sessions",
  g."prompts" AS "prompts",
  g."turns" AS "turns",
  g."messages" AS "messages",
  g."tool_uses" AS "tool_uses",
  g."duration_ms" AS "duration_ms",
  g."active_ms" AS "active_ms",
  g."cost_usd" AS "cost_usd",
  g."unpriced_sessions" AS "unpriced_sessions",
  g."responses" AS "responses",
  g."unpriced_responses" AS "unpriced_responses",
  g."own_cost_units" AS "own_cost_units",
  g."own_responses" AS "own_responses",
  g."own_unpriced_responses" AS "own_unpriced_responses",
  g."total_tokens_percentiles" AS "total_tokens_percentiles",
  g."total_tokens_max" AS "total_tokens_max",
  g."total_tokens_mean" AS "total_tokens_mean",
  g."cost_usd_percentiles" AS "cost_usd_percentiles",
  g."cost_usd_max" AS "cost_usd_max",
  g."cost_usd_mean" AS "cost_usd_mean",
  g."duration_ms_percentiles" AS "duration_ms_percentiles",
  g."duration_ms_max" AS "duration_ms_max",
  g."duration_ms_mean" AS "duration_ms_mean",
  g."active_ms_percentiles" AS "active_ms_percentiles",
  g."active_ms_max" AS "active_ms_max",
  g."active_ms_mean" AS "active_ms_mean",
  (count(*) OVER ())::float8 - 1 AS group_count,
  to_char(g."day" AT TIME ZONE 'UTC', $1) AS "key_day"
FROM
  (
    SELECT
      count(prompts)::float8 AS "sessions",
      coalesce(sum("prompts"), 0)::float8 AS "prompts",
      coalesce(sum("turns"), 0)::float8 AS "turns",
      coalesce(sum("messages"), 0)::float8 AS "messages",
      coalesce(sum("tool_uses"), 0)::float8 AS "tool_uses",
      coalesce(sum("duration_ms"), 0)::float8 AS "duration_ms",
      coalesce(sum("active_ms"), 0)::float8 AS "active_ms",
      sum(cost_usd)::float8 AS "cost_usd",
      (count(prompts) - count(cost_usd))::float8 AS "unpriced_sessions",
      coalesce(sum("responses"), 0)::float8 AS "responses",
      coalesce(sum("unpriced_responses"), 0)::float8 AS "unpriced_responses",
      coalesce(sum("own_cost_units"), 0)::float8 AS "own_cost_units",
      coalesce(sum("own_responses"), 0)::float8 AS "own_responses",
      coalesce(sum("own_unpriced_responses"), 0)::float8 AS "own_unpriced_responses",
      percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (
        ORDER BY
          "total_tokens"::float8
      ) AS "total_tokens_percentiles",
      max("total_tokens")::float8 AS "total_tokens_max",
      avg("total_tokens")::float8 AS "total_tokens_mean",
      percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (
        ORDER BY
          "cost_usd"::float8
      ) AS "cost_usd_percentiles",
      max("cost_usd")::float8 AS "cost_usd_max",
      avg("cost_usd")::float8 AS "cost_usd_mean",
      percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (
        ORDER BY
          "duration_ms"::float8
      ) AS "duration_ms_percentiles",
      max("duration_ms")::float8 AS "duration_ms_max",
      avg("duration_ms")::float8 AS "duration_ms_mean",
      percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (
        ORDER BY
          "active_ms"::float8
      ) AS "active_ms_percentiles",
      max("active_ms")::float8 AS "active_ms_max",
      avg("active_ms")::float8 AS "active_ms_mean",
      (GROUPING("day") = 1) AS is_total,
      "day"
    FROM
      (
        SELECT
          date_bin(
            '24 hours',
            (f."first_timestamp" + $2::interval),
            '2000-01-01Z'
          ) AS "day",
          f.prompt_count AS "prompts",
          f.turn_count AS "turns",
          f.total_messages AS "messages",
          f.tool_use_count AS "tool_uses",
          f.tokens_in + f.tokens_out + f.cache_read + f.cache_write AS "total_tokens",
          f.cost_estimate_usd AS "cost_usd",
          f.duration_ms AS "duration_ms",
          f.active_ms AS "active_ms",
          f.api_response_count AS "responses",
          f.unpriced_count AS "unpriced_responses",
          NULL::bigint AS "own_cost_units",
          NULL::bigint AS "own_responses",
          NULL::bigint AS "own_unpriced_responses",
          NULL::bigint AS session_count
        FROM
          recount.sessions AS f
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $3
          AND s.session_id = f."session_id"
        WHERE
          f."workspace_id" = $4
          AND f."first_timestamp" >= $5::timestamptz
        UNION ALL
        SELECT
          date_bin('24 hours', f.local_time, '2000-01-01Z') AS "day",
          NULL AS "prompts",
          NULL AS "turns",
          NULL AS "messages",
          NULL AS "tool_uses",
          NULL AS "total_tokens",
          NULL AS "cost_usd",
          NULL AS "duration_ms",
          NULL AS "active_ms",
          NULL AS "responses",
          NULL AS "unpriced_responses",
          sum(u.cost_units) AS "own_cost_units",
          sum(u.responses) AS "own_responses",
          sum(u.unpriced_responses) AS "own_unpriced_responses",
          NULL::bigint AS session_count
        FROM
          recount.usage_day_rollup AS u
          JOIN (
            SELECT
              workspace_id,
              session_id,
              is_subagent,
              first_timestamp,
              (first_timestamp + $6::interval) AS local_time
            FROM
              recount.sessions
            WHERE
              workspace_id = $7
            OFFSET
              0
          ) AS f ON f.session_id = u.session_id
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $8
          AND s.session_id = f."session_id"
        WHERE
          f."workspace_id" = $9
          AND f."first_timestamp" >= $10::timestamptz
          AND u.workspace_id = $11
          AND NOT u.is_shared
        GROUP BY
          1
      ) AS x
    GROUP BY
      GROUPING SETS (("day"), ())
  ) AS g
ORDER BY
  is_total DESC,
  g."day" NULLS FIRST,
  cost_usd DESC NULLS LAST,
  sessions DESC,
  g."day" NULLS FIRST
LIMIT
  $12;
