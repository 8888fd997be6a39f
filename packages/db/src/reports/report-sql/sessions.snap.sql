WITH RECURSIVE
  edge AS (
    SELECT
      least(
        (
          SELECT
            min(first_bucket_start)
          FROM
            recount.usage_day_rollup AS d
          WHERE
            d.workspace_id = $1
            AND d.first_bucket_start >= coalesce(
              $2::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND d.first_bucket_start < coalesce($3::timestamptz, 'infinity')
        ),
        (
          SELECT
            min(first_bucket_start)
          FROM
            recount.tool_day_rollup AS d
          WHERE
            d.workspace_id = $4
            AND d.first_bucket_start >= coalesce(
              $5::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND d.first_bucket_start < coalesce($6::timestamptz, 'infinity')
        ),
        (
          SELECT
            min(first_bucket_start)
          FROM
            recount.file_day_rollup AS d
          WHERE
            d.workspace_id = $7
            AND d.first_bucket_start >= coalesce(
              $8::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND d.first_bucket_start < coalesce($9::timestamptz, 'infinity')
        ),
        (
          SELECT
            min(first_bucket_start)
          FROM
            recount.message_day_rollup AS d
          WHERE
            d.workspace_id = $10
            AND d.first_bucket_start >= coalesce(
              $11::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND d.first_bucket_start < coalesce($12::timestamptz, 'infinity')
        )
      ) AT TIME ZONE 'UTC' AS first,
      greatest(
        (
          SELECT
            max(first_bucket_start)
          FROM
            recount.usage_day_rollup AS d
          WHERE
            d.workspace_id = $13
            AND d.first_bucket_start >= coalesce(
              $14::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND d.first_bucket_start < coalesce($15::timestamptz, 'infinity')
        ),
        (
          SELECT
            max(first_bucket_start)
          FROM
            recount.tool_day_rollup AS d
          WHERE
            d.workspace_id = $16
            AND d.first_bucket_start >= coalesce(
              $17::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND d.first_bucket_start < coalesce($18::timestamptz, 'infinity')
        ),
        (
          SELECT
            max(first_bucket_start)
          FROM
            recount.file_day_rollup AS d
          WHERE
            d.workspace_id = $19
            AND d.first_bucket_start >= coalesce(
              $20::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND d.first_bucket_start < coalesce($21::timestamptz, 'infinity')
        ),
        (
          SELECT
            max(first_bucket_start)
          FROM
            recount.message_day_rollup AS d
          WHERE
            d.workspace_id = $22
            AND d.first_bucket_start >= coalesce(
              $23::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND d.first_bucket_start < coalesce($24::timestamptz, 'infinity')
        )
      ) AT TIME ZONE 'UTC' AS last
  ),
  year AS (
    SELECT
      date_trunc('year', first) AS start,
      1 AS number
    FROM
      edge
    UNION ALL
    SELECT
      date_trunc(
        'year',
        least(
          (
            SELECT
              min(first_bucket_start)
            FROM
              recount.usage_day_rollup AS d
            WHERE
              d.workspace_id = $25
              AND d.first_bucket_start >= (year.start + interval '1 year') AT TIME ZONE 'UTC'
              AND d.first_bucket_start < coalesce($26::timestamptz, 'infinity')
          ),
          (
            SELECT
              min(first_bucket_start)
            FROM
              recount.tool_day_rollup AS d
            WHERE
              d.workspace_id = $27
              AND d.first_bucket_start >= (year.start + interval '1 year') AT TIME ZONE 'UTC'
              AND d.first_bucket_start < coalesce($28::timestamptz, 'infinity')
          ),
          (
            SELECT
              min(first_bucket_start)
            FROM
              recount.file_day_rollup AS d
            WHERE
              d.workspace_id = $29
              AND d.first_bucket_start >= (year.start + interval '1 year') AT TIME ZONE 'UTC'
              AND d.first_bucket_start < coalesce($30::timestamptz, 'infinity')
          ),
          (
            SELECT
              min(first_bucket_start)
            FROM
              recount.message_day_rollup AS d
            WHERE
              d.workspace_id = $31
              AND d.first_bucket_start >= (year.start + interval '1 year') AT TIME ZONE 'UTC'
              AND d.first_bucket_start < coalesce($32::timestamptz, 'infinity')
          )
        ) AT TIME ZONE 'UTC'
      ),
      number + 1
    FROM
      year
    WHERE
      number <= $33
      AND year.start IS NOT NULL
  ),
  day AS (
    SELECT
      moment AS start,
      moment AT TIME ZONE 'UTC' AT TIME ZONE $34 AS local_start,
      (moment + interval '1 day') AT TIME ZONE 'UTC' AT TIME ZONE $35 AS local_end
    FROM
      edge,
      year,
      generate_series(
        greatest(year.start, date_trunc('day', first)),
        least(
          year.start + interval '1 year' - interval '1 day',
          last
        ),
        '1 day'
      ) AS moment
      -- After the last year comes a null, of which greatest and least would make all days from the first to the last.
    WHERE
      year.start IS NOT NULL
      AND (
        SELECT
          count(start)
        FROM
          year
      ) <= $36
  ),
  sample AS (
    SELECT
      start AS moment,
      local_start AS local
    FROM
      day
    UNION
    SELECT
      moment,
      moment AT TIME ZONE 'UTC' AT TIME ZONE $37
    FROM
      day,
      generate_series(start, start + interval '23:45', '15 minutes') AS moment
    WHERE
      local_end - local_start <> '24 hours'
  )
SELECT
  (
    SELECT
      count(start)::int
    FROM
      year
  ) AS years,
  json_agg(
    json_build_array(
      extract(
        epoch
        FROM
          moment
      ) * 1000,
      extract(
        epoch
        FROM
          local
      ) * 1000
    )
    ORDER BY
      moment
  ) AS samples
FROM
  sample;

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
            CASE
              WHEN f."first_timestamp" BETWEEN $2::timestamptz AND $3::timestamptz THEN (f."first_timestamp" + $4::interval)
              ELSE (
                f."first_timestamp" + (
                  f."first_timestamp" AT TIME ZONE $5 AT TIME ZONE 'UTC' - f."first_timestamp"
                )
              )
            END,
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
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $6
          AND s.session_id = f."session_id"
        WHERE
          f."workspace_id" = $7
          AND f."first_timestamp" >= $8::timestamptz
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
              CASE
                WHEN first_timestamp BETWEEN $9::timestamptz AND $10::timestamptz THEN (first_timestamp + $11::interval)
                ELSE (
                  first_timestamp + (
                    first_timestamp AT TIME ZONE $12 AT TIME ZONE 'UTC' - first_timestamp
                  )
                )
              END AS local_time
            FROM
              recount.sessions
            WHERE
              workspace_id = $13
            OFFSET
              0
          ) AS f ON f.session_id = u.session_id
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $14
          AND s.session_id = f."session_id"
        WHERE
          f."workspace_id" = $15
          AND f."first_timestamp" >= $16::timestamptz
          AND u.workspace_id = $17
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
  $18;
