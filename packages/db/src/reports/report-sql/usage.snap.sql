WITH RECURSIVE
  year AS (
    SELECT
      least(
        (
          SELECT
            min(r.first_bucket_start)
          FROM
            "recount"."usage_day_rollup" AS r
          WHERE
            r.workspace_id = $1
            AND true
            AND r.first_bucket_start >= coalesce(
              $2::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND r.first_bucket_start < coalesce($3::timestamptz, 'infinity')
        ),
        (
          SELECT
            min(r.first_bucket_start)
          FROM
            "recount"."tool_day_rollup" AS r
          WHERE
            r.workspace_id = $4
            AND true
            AND r.first_bucket_start >= coalesce(
              $5::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND r.first_bucket_start < coalesce($6::timestamptz, 'infinity')
        ),
        (
          SELECT
            min(r.first_bucket_start)
          FROM
            "recount"."file_day_rollup" AS r
          WHERE
            r.workspace_id = $7
            AND true
            AND r.first_bucket_start >= coalesce(
              $8::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND r.first_bucket_start < coalesce($9::timestamptz, 'infinity')
        ),
        (
          SELECT
            min(r.first_bucket_start)
          FROM
            "recount"."message_day_rollup" AS r
          WHERE
            r.workspace_id = $10
            AND true
            AND r.first_bucket_start >= coalesce(
              $11::timestamptz - interval '24 hours',
              '-infinity'
            )
            AND r.first_bucket_start < coalesce($12::timestamptz, 'infinity')
        )
      ) AS first,
      1 AS number
    UNION ALL
    SELECT
      least(
        (
          SELECT
            min(r.first_bucket_start)
          FROM
            "recount"."usage_day_rollup" AS r
          WHERE
            r.workspace_id = $13
            AND true
            AND r.first_bucket_start >= (
              date_trunc('year', year.first, 'UTC') AT TIME ZONE 'UTC' + interval '1 year'
            ) AT TIME ZONE 'UTC'
            AND r.first_bucket_start < coalesce($14::timestamptz, 'infinity')
        ),
        (
          SELECT
            min(r.first_bucket_start)
          FROM
            "recount"."tool_day_rollup" AS r
          WHERE
            r.workspace_id = $15
            AND true
            AND r.first_bucket_start >= (
              date_trunc('year', year.first, 'UTC') AT TIME ZONE 'UTC' + interval '1 year'
            ) AT TIME ZONE 'UTC'
            AND r.first_bucket_start < coalesce($16::timestamptz, 'infinity')
        ),
        (
          SELECT
            min(r.first_bucket_start)
          FROM
            "recount"."file_day_rollup" AS r
          WHERE
            r.workspace_id = $17
            AND true
            AND r.first_bucket_start >= (
              date_trunc('year', year.first, 'UTC') AT TIME ZONE 'UTC' + interval '1 year'
            ) AT TIME ZONE 'UTC'
            AND r.first_bucket_start < coalesce($18::timestamptz, 'infinity')
        ),
        (
          SELECT
            min(r.first_bucket_start)
          FROM
            "recount"."message_day_rollup" AS r
          WHERE
            r.workspace_id = $19
            AND true
            AND r.first_bucket_start >= (
              date_trunc('year', year.first, 'UTC') AT TIME ZONE 'UTC' + interval '1 year'
            ) AT TIME ZONE 'UTC'
            AND r.first_bucket_start < coalesce($20::timestamptz, 'infinity')
        )
      ),
      number + 1
    FROM
      year
    WHERE
      number <= $21
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
          greatest(
            (
              SELECT
                max(r.first_bucket_start)
              FROM
                "recount"."usage_day_rollup" AS r
              WHERE
                r.workspace_id = $22
                AND true
                AND r.first_bucket_start >= coalesce(
                  $23::timestamptz - interval '24 hours',
                  '-infinity'
                )
                AND r.first_bucket_start < coalesce($24::timestamptz, 'infinity')
            ),
            (
              SELECT
                max(r.first_bucket_start)
              FROM
                "recount"."tool_day_rollup" AS r
              WHERE
                r.workspace_id = $25
                AND true
                AND r.first_bucket_start >= coalesce(
                  $26::timestamptz - interval '24 hours',
                  '-infinity'
                )
                AND r.first_bucket_start < coalesce($27::timestamptz, 'infinity')
            ),
            (
              SELECT
                max(r.first_bucket_start)
              FROM
                "recount"."file_day_rollup" AS r
              WHERE
                r.workspace_id = $28
                AND true
                AND r.first_bucket_start >= coalesce(
                  $29::timestamptz - interval '24 hours',
                  '-infinity'
                )
                AND r.first_bucket_start < coalesce($30::timestamptz, 'infinity')
            ),
            (
              SELECT
                max(r.first_bucket_start)
              FROM
                "recount"."message_day_rollup" AS r
              WHERE
                r.workspace_id = $31
                AND true
                AND r.first_bucket_start >= coalesce(
                  $32::timestamptz - interval '24 hours',
                  '-infinity'
                )
                AND r.first_bucket_start < coalesce($33::timestamptz, 'infinity')
            )
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

WITH
  parted_stale_u AS MATERIALIZED (
    SELECT
      q.workspace_id,
      q.session_id,
      q.bucket_start,
      q.bucket_start AS last_bucket_start,
      q.model,
      q.is_subagent,
      q.agent_id,
      q.git_branch,
      q.agent_version,
      q.is_shared,
      q.responses,
      q.tokens_in,
      q.tokens_out,
      q.cache_read,
      q.cache_write,
      q.cache_write_1h,
      q.thinking_tokens,
      q.web_search_requests,
      q.cost_units,
      q.cost_input_units,
      q.cost_output_units,
      q.cost_cache_read_units,
      q.cost_cache_write_units,
      q.cost_web_search_units,
      q.unfinalised_responses,
      q.unfinalised_tokens_out,
      q.estimated_tokens_out,
      q.unpriced_responses,
      q.unpriced_tokens,
      q.default_priced_responses,
      (q.bucket_start + $1::interval) AS local_time
    FROM
      (
        SELECT
          d.session_id,
          min(d.first_bucket_start) AS first,
          max(d.last_bucket_start) AS last
        FROM
          (
            SELECT
              d.*
            FROM
              (
                SELECT DISTINCT
                  start
                FROM
                  unnest($2::timestamptz[]) AS start
              ) AS day
              CROSS JOIN LATERAL (
                SELECT
                  *
                FROM
                  "recount"."usage_day_rollup" AS t
                WHERE
                  t.workspace_id = $3
                  AND t.first_bucket_start >= day.start
                  AND t.first_bucket_start < day.start + interval '24 hours'
                OFFSET
                  0
              ) AS d
          ) AS d
        WHERE
          d.workspace_id = $4
          AND d.last_bucket_start >= $5::timestamptz
          AND d.first_bucket_start > $6::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (
              (
                date_bin(
                  '24 hours',
                  (d.first_bucket_start + $7::interval),
                  '2000-01-01Z'
                ) = date_bin(
                  '24 hours',
                  (d.last_bucket_start + $8::interval),
                  '2000-01-01Z'
                )
              )
              AND d.first_bucket_start >= $9::timestamptz
            )
          ) IS NOT TRUE
        GROUP BY
          1
      ) AS s
      CROSS JOIN LATERAL (
        SELECT
          *
        FROM
          (
            SELECT
              q.*,
              min(q.bucket_start) OVER day AS first_bucket_start,
              max(q.bucket_start) OVER day AS last_bucket_start
            FROM
              "recount"."usage_rollup" AS q
            WHERE
              q.workspace_id = (
                SELECT
                  $10::text
              )
              AND q.session_id = s.session_id
              AND q.bucket_start BETWEEN s.first AND s.last
              AND date_bin('1 day', q.bucket_start, '2000-01-01Z') = ANY ($11::timestamptz[])
            WINDOW
              day AS (
                PARTITION BY
                  date_bin('1 day', q.bucket_start, '2000-01-01Z'),
                  q.model,
                  q.is_subagent,
                  q.agent_id,
                  q.git_branch,
                  q.agent_version,
                  q.is_shared
              )
          ) AS d
        WHERE
          (
            d.first_bucket_start IS NULL
            OR (
              (
                date_bin(
                  '24 hours',
                  (d.first_bucket_start + $12::interval),
                  '2000-01-01Z'
                ) = date_bin(
                  '24 hours',
                  (d.last_bucket_start + $13::interval),
                  '2000-01-01Z'
                )
              )
              AND d.first_bucket_start >= $14::timestamptz
            )
          ) IS NOT TRUE
        OFFSET
          0
      ) AS q
  ),
  parted_stale_m AS MATERIALIZED (
    SELECT
      q.workspace_id,
      q.session_id,
      q.bucket_start,
      q.bucket_start AS last_bucket_start,
      q.is_subagent,
      q.messages,
      q.user_messages,
      (q.bucket_start + $15::interval) AS local_time
    FROM
      (
        SELECT
          d.session_id,
          min(d.first_bucket_start) AS first,
          max(d.last_bucket_start) AS last
        FROM
          (
            SELECT
              d.*
            FROM
              (
                SELECT DISTINCT
                  start
                FROM
                  unnest($16::timestamptz[]) AS start
              ) AS day
              CROSS JOIN LATERAL (
                SELECT
                  *
                FROM
                  "recount"."message_day_rollup" AS t
                WHERE
                  t.workspace_id = $17
                  AND t.first_bucket_start >= day.start
                  AND t.first_bucket_start < day.start + interval '24 hours'
                OFFSET
                  0
              ) AS d
          ) AS d
        WHERE
          d.workspace_id = $18
          AND d.last_bucket_start >= $19::timestamptz
          AND d.first_bucket_start > $20::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (
              (
                date_bin(
                  '24 hours',
                  (d.first_bucket_start + $21::interval),
                  '2000-01-01Z'
                ) = date_bin(
                  '24 hours',
                  (d.last_bucket_start + $22::interval),
                  '2000-01-01Z'
                )
              )
              AND d.first_bucket_start >= $23::timestamptz
            )
          ) IS NOT TRUE
        GROUP BY
          1
      ) AS s
      CROSS JOIN LATERAL (
        SELECT
          *
        FROM
          (
            SELECT
              q.*,
              min(q.bucket_start) OVER day AS first_bucket_start,
              max(q.bucket_start) OVER day AS last_bucket_start
            FROM
              "recount"."message_rollup" AS q
            WHERE
              q.workspace_id = (
                SELECT
                  $24::text
              )
              AND q.session_id = s.session_id
              AND q.bucket_start BETWEEN s.first AND s.last
              AND date_bin('1 day', q.bucket_start, '2000-01-01Z') = ANY ($25::timestamptz[])
            WINDOW
              day AS (
                PARTITION BY
                  date_bin('1 day', q.bucket_start, '2000-01-01Z'),
                  q.is_subagent
              )
          ) AS d
        WHERE
          (
            d.first_bucket_start IS NULL
            OR (
              (
                date_bin(
                  '24 hours',
                  (d.first_bucket_start + $26::interval),
                  '2000-01-01Z'
                ) = date_bin(
                  '24 hours',
                  (d.last_bucket_start + $27::interval),
                  '2000-01-01Z'
                )
              )
              AND d.first_bucket_start >= $28::timestamptz
            )
          ) IS NOT TRUE
        OFFSET
          0
      ) AS q
  ),
  parted_new_u AS (
    SELECT
      q.workspace_id,
      q.session_id,
      q.bucket_start,
      q.bucket_start AS last_bucket_start,
      q.model,
      q.is_subagent,
      q.agent_id,
      q.git_branch,
      q.agent_version,
      q.is_shared,
      q.responses,
      q.tokens_in,
      q.tokens_out,
      q.cache_read,
      q.cache_write,
      q.cache_write_1h,
      q.thinking_tokens,
      q.web_search_requests,
      q.cost_units,
      q.cost_input_units,
      q.cost_output_units,
      q.cost_cache_read_units,
      q.cost_cache_write_units,
      q.cost_web_search_units,
      q.unfinalised_responses,
      q.unfinalised_tokens_out,
      q.estimated_tokens_out,
      q.unpriced_responses,
      q.unpriced_tokens,
      q.default_priced_responses,
      (q.bucket_start + $29::interval) AS local_time
    FROM
      (
        SELECT
          d.session_id,
          min(d.first_bucket_start) AS first,
          max(d.last_bucket_start) AS last
        FROM
          (
            SELECT
              d.*
            FROM
              (
                SELECT DISTINCT
                  session_id
                FROM
                  (
                    SELECT
                      d.session_id
                    FROM
                      (
                        SELECT DISTINCT
                          start
                        FROM
                          unnest($30::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."usage_day_rollup" AS t
                        WHERE
                          t.workspace_id = $31
                          AND t.first_bucket_start >= day.start
                          AND t.first_bucket_start < day.start + interval '24 hours'
                        OFFSET
                          0
                      ) AS d
                  ) AS seen
              ) AS s
              CROSS JOIN LATERAL (
                SELECT
                  *
                FROM
                  "recount"."usage_day_rollup"
                WHERE
                  workspace_id = (
                    SELECT
                      $32::text
                  )
                  AND session_id = s.session_id
                OFFSET
                  0
              ) AS d
          ) AS d
        WHERE
          d.workspace_id = $33
          AND d.last_bucket_start >= $34::timestamptz
          AND d.first_bucket_start > $35::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (
              (
                date_bin(
                  '24 hours',
                  (d.first_bucket_start + $36::interval),
                  '2000-01-01Z'
                ) = date_bin(
                  '24 hours',
                  (d.last_bucket_start + $37::interval),
                  '2000-01-01Z'
                )
              )
              AND d.first_bucket_start >= $38::timestamptz
            )
          ) IS NOT TRUE
        GROUP BY
          1
      ) AS s
      CROSS JOIN LATERAL (
        SELECT
          q.*
        FROM
          "recount"."usage_rollup" AS q
        WHERE
          q.workspace_id = (
            SELECT
              $39::text
          )
          AND q.session_id = s.session_id
          AND q.bucket_start BETWEEN s.first AND s.last
        OFFSET
          0
      ) AS q
  )
SELECT
  g."messages" AS "messages",
  g."user_messages" AS "user_messages",
  g."own_responses" AS "own_responses",
  g."own_tokens_in" AS "own_tokens_in",
  g."own_tokens_out" AS "own_tokens_out",
  g."own_cache_read" AS "own_cache_read",
  g."own_cache_write" AS "own_cache_write",
  g."own_cache_write_1h" AS "own_cache_write_1h",
  g."own_thinking_tokens" AS "own_thinking_tokens",
  g."own_web_search_requests" AS "own_web_search_requests",
  g."own_cost_units" AS "own_cost_units",
  g."own_cost_input_units" AS "own_cost_input_units",
  g."own_cost_output_units" AS "own_cost_output_units",
  g."own_cost_cache_read_units" AS "own_cost_cache_read_units",
  g."own_cost_cache_write_units" AS "own_cost_cache_write_units",
  g."own_cost_web_search_units" AS "own_cost_web_search_units",
  g."own_unfinalised_responses" AS "own_unfinalised_responses",
  g."own_unfinalised_tokens_out" AS "own_unfinalised_tokens_out",
  g."own_estimated_tokens_out" AS "own_estimated_tokens_out",
  g."own_unpriced_responses" AS "own_unpriced_responses",
  g."own_unpriced_tokens" AS "own_unpriced_tokens",
  g."own_default_priced_responses" AS "own_default_priced_responses",
  g."shared_responses" AS "shared_responses",
  g."shared_tokens_in" AS "shared_tokens_in",
  g."shared_tokens_out" AS "shared_tokens_out",
  g."shared_cache_read" AS "shared_cache_read",
  g."shared_cache_write" AS "shared_cache_write",
  g."shared_cache_write_1h" AS "shared_cache_write_1h",
  g."shared_thinking_tokens" AS "shared_thinking_tokens",
  g."shared_web_search_requests" AS "shared_web_search_requests",
  g."shared_cost_units" AS "shared_cost_units",
  g."shared_cost_input_units" AS "shared_cost_input_units",
  g."shared_cost_output_units" AS "shared_cost_output_units",
  g."shared_cost_cache_read_units" AS "shared_cost_cache_read_units",
  g."shared_cost_cache_write_units" AS "shared_cost_cache_write_units",
  g."shared_cost_web_search_units" AS "shared_cost_web_search_units",
  g."shared_unfinalised_responses" AS "shared_unfinalised_responses",
  g."shared_unfinalised_tokens_out" AS "shared_unfinalised_tokens_out",
  g."shared_estimated_tokens_out" AS "shared_estimated_tokens_out",
  g."shared_unpriced_responses" AS "shared_unpriced_responses",
  g."shared_unpriced_tokens" AS "shared_unpriced_tokens",
  g."shared_default_priced_responses" AS "shared_default_priced_responses",
  g."sessions" AS "sessions",
  (count(*) OVER ())::float8 - 1 AS group_count,
  to_char(g."day" AT TIME ZONE 'UTC', $40) AS "key_day"
FROM
  (
    SELECT
      coalesce(sum(messages), 0)::float8 AS "messages",
      coalesce(sum(user_messages), 0)::float8 AS "user_messages",
      coalesce(
        recount.sum_bigint ("responses") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_responses",
      coalesce(
        recount.sum_bigint ("tokens_in") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_tokens_in",
      coalesce(
        recount.sum_bigint ("tokens_out") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_tokens_out",
      coalesce(
        recount.sum_bigint ("cache_read") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_cache_read",
      coalesce(
        recount.sum_bigint ("cache_write") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_cache_write",
      coalesce(
        recount.sum_bigint ("cache_write_1h") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_cache_write_1h",
      coalesce(
        recount.sum_bigint ("thinking_tokens") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_thinking_tokens",
      coalesce(
        recount.sum_bigint ("web_search_requests") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_web_search_requests",
      coalesce(
        sum("cost_units") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_cost_units",
      coalesce(
        sum("cost_input_units") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_cost_input_units",
      coalesce(
        sum("cost_output_units") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_cost_output_units",
      coalesce(
        sum("cost_cache_read_units") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_cost_cache_read_units",
      coalesce(
        sum("cost_cache_write_units") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_cost_cache_write_units",
      coalesce(
        sum("cost_web_search_units") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_cost_web_search_units",
      coalesce(
        recount.sum_bigint ("unfinalised_responses") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_unfinalised_responses",
      coalesce(
        recount.sum_bigint ("unfinalised_tokens_out") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_unfinalised_tokens_out",
      coalesce(
        recount.sum_bigint ("estimated_tokens_out") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_estimated_tokens_out",
      coalesce(
        recount.sum_bigint ("unpriced_responses") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_unpriced_responses",
      coalesce(
        recount.sum_bigint ("unpriced_tokens") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_unpriced_tokens",
      coalesce(
        recount.sum_bigint ("default_priced_responses") FILTER (
          WHERE
            NOT is_shared
        ),
        0
      )::float8 AS "own_default_priced_responses",
      coalesce(
        recount.sum_bigint ("responses") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_responses",
      coalesce(
        recount.sum_bigint ("tokens_in") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_tokens_in",
      coalesce(
        recount.sum_bigint ("tokens_out") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_tokens_out",
      coalesce(
        recount.sum_bigint ("cache_read") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_cache_read",
      coalesce(
        recount.sum_bigint ("cache_write") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_cache_write",
      coalesce(
        recount.sum_bigint ("cache_write_1h") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_cache_write_1h",
      coalesce(
        recount.sum_bigint ("thinking_tokens") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_thinking_tokens",
      coalesce(
        recount.sum_bigint ("web_search_requests") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_web_search_requests",
      coalesce(
        sum("cost_units") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_cost_units",
      coalesce(
        sum("cost_input_units") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_cost_input_units",
      coalesce(
        sum("cost_output_units") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_cost_output_units",
      coalesce(
        sum("cost_cache_read_units") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_cost_cache_read_units",
      coalesce(
        sum("cost_cache_write_units") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_cost_cache_write_units",
      coalesce(
        sum("cost_web_search_units") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_cost_web_search_units",
      coalesce(
        recount.sum_bigint ("unfinalised_responses") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_unfinalised_responses",
      coalesce(
        recount.sum_bigint ("unfinalised_tokens_out") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_unfinalised_tokens_out",
      coalesce(
        recount.sum_bigint ("estimated_tokens_out") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_estimated_tokens_out",
      coalesce(
        recount.sum_bigint ("unpriced_responses") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_unpriced_responses",
      coalesce(
        recount.sum_bigint ("unpriced_tokens") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_unpriced_tokens",
      coalesce(
        recount.sum_bigint ("default_priced_responses") FILTER (
          WHERE
            is_shared
        ),
        0
      )::float8 AS "shared_default_priced_responses",
      CASE
        WHEN (GROUPING("day") = 1) THEN (
          SELECT
            coalesce(sum(session_count), 0)::bigint
          FROM
            (
              SELECT
                t.sessions AS session_count
              FROM
                "recount"."session_total" AS t
              WHERE
                t.workspace_id = $41
                AND t.counted = $42
                AND t.period_start >= $43::timestamptz
                AND date_bin('1 day', t.period_start, '2000-01-01Z') <> ALL ($44::timestamptz[])
                AND (
                  t.previous_bucket_start IS NULL
                  OR t.previous_bucket_start < $45::timestamptz
                )
              UNION ALL
              SELECT
                1
              FROM
                (
                  SELECT
                    u."session_id" AS counted_session,
                    min(u."bucket_start") AS first_seen
                  FROM
                    (
                      SELECT
                        d.workspace_id,
                        d.session_id,
                        d.first_bucket_start AS bucket_start,
                        d.last_bucket_start,
                        d.model,
                        d.is_subagent,
                        d.agent_id,
                        d.git_branch,
                        d.agent_version,
                        d.is_shared,
                        d.responses,
                        d.tokens_in,
                        d.tokens_out,
                        d.cache_read,
                        d.cache_write,
                        d.cache_write_1h,
                        d.thinking_tokens,
                        d.web_search_requests,
                        d.cost_units,
                        d.cost_input_units,
                        d.cost_output_units,
                        d.cost_cache_read_units,
                        d.cost_cache_write_units,
                        d.cost_web_search_units,
                        d.unfinalised_responses,
                        d.unfinalised_tokens_out,
                        d.estimated_tokens_out,
                        d.unpriced_responses,
                        d.unpriced_tokens,
                        d.default_priced_responses,
                        (d.first_bucket_start + $46::interval) AS local_time
                      FROM
                        (
                          SELECT
                            d.*
                          FROM
                            (
                              SELECT DISTINCT
                                session_id
                              FROM
                                (
                                  SELECT
                                    d.session_id
                                  FROM
                                    (
                                      SELECT DISTINCT
                                        start
                                      FROM
                                        unnest($47::timestamptz[]) AS start
                                    ) AS day
                                    CROSS JOIN LATERAL (
                                      SELECT
                                        *
                                      FROM
                                        "recount"."usage_day_rollup" AS t
                                      WHERE
                                        t.workspace_id = $48
                                        AND t.first_bucket_start >= day.start
                                        AND t.first_bucket_start < day.start + interval '24 hours'
                                      OFFSET
                                        0
                                    ) AS d
                                ) AS seen
                            ) AS s
                            CROSS JOIN LATERAL (
                              SELECT
                                *
                              FROM
                                "recount"."usage_day_rollup"
                              WHERE
                                workspace_id = (
                                  SELECT
                                    $49::text
                                )
                                AND session_id = s.session_id
                              OFFSET
                                0
                            ) AS d
                        ) AS d
                      WHERE
                        d.workspace_id = $50
                        AND d.last_bucket_start >= $51::timestamptz
                        AND d.first_bucket_start > $52::timestamptz - interval '24 hours'
                        AND (
                          d.first_bucket_start IS NULL
                          OR (
                            (
                              date_bin(
                                '24 hours',
                                (d.first_bucket_start + $53::interval),
                                '2000-01-01Z'
                              ) = date_bin(
                                '24 hours',
                                (d.last_bucket_start + $54::interval),
                                '2000-01-01Z'
                              )
                            )
                            AND d.first_bucket_start >= $55::timestamptz
                          )
                        )
                      UNION ALL
                      SELECT
                        *
                      FROM
                        parted_new_u
                    ) AS u
                    LEFT JOIN recount.sessions AS s ON s.workspace_id = $56
                    AND s.session_id = u."session_id"
                  WHERE
                    u."workspace_id" = $57
                    AND u."bucket_start" >= $58::timestamptz
                  GROUP BY
                    1
                ) AS seen
              WHERE
                first_seen IS NULL
                OR date_bin('1 day', first_seen, '2000-01-01Z') = ANY ($59::timestamptz[])
            ) AS new
        )
        ELSE coalesce(max(session_count), 0)
      END::float8 AS "sessions",
      (GROUPING("day") = 1) AS is_total,
      "day"
    FROM
      (
        SELECT
          date_bin('24 hours', u."local_time", '2000-01-01Z') AS "day",
          u.is_shared AS "is_shared",
          recount.sum_bigint (u."responses") AS "responses",
          recount.sum_bigint (u."tokens_in") AS "tokens_in",
          recount.sum_bigint (u."tokens_out") AS "tokens_out",
          recount.sum_bigint (u."cache_read") AS "cache_read",
          recount.sum_bigint (u."cache_write") AS "cache_write",
          recount.sum_bigint (u."cache_write_1h") AS "cache_write_1h",
          recount.sum_bigint (u."thinking_tokens") AS "thinking_tokens",
          recount.sum_bigint (u."web_search_requests") AS "web_search_requests",
          sum(u."cost_units") AS "cost_units",
          sum(u."cost_input_units") AS "cost_input_units",
          sum(u."cost_output_units") AS "cost_output_units",
          sum(u."cost_cache_read_units") AS "cost_cache_read_units",
          sum(u."cost_cache_write_units") AS "cost_cache_write_units",
          sum(u."cost_web_search_units") AS "cost_web_search_units",
          recount.sum_bigint (u."unfinalised_responses") AS "unfinalised_responses",
          recount.sum_bigint (u."unfinalised_tokens_out") AS "unfinalised_tokens_out",
          recount.sum_bigint (u."estimated_tokens_out") AS "estimated_tokens_out",
          recount.sum_bigint (u."unpriced_responses") AS "unpriced_responses",
          recount.sum_bigint (u."unpriced_tokens") AS "unpriced_tokens",
          recount.sum_bigint (u."default_priced_responses") AS "default_priced_responses",
          NULL::bigint AS "messages",
          NULL::bigint AS "user_messages",
          NULL::bigint AS session_count
        FROM
          (
            SELECT
              t.workspace_id,
              NULL::text AS session_id,
              t.first_bucket_start AS bucket_start,
              t.last_bucket_start,
              t.model,
              t.is_subagent,
              NULL::text AS agent_id,
              NULL::text AS git_branch,
              NULL::text AS agent_version,
              t.is_shared,
              t.responses,
              t.tokens_in,
              t.tokens_out,
              t.cache_read,
              t.cache_write,
              t.cache_write_1h,
              t.thinking_tokens,
              t.web_search_requests,
              t.cost_units,
              t.cost_input_units,
              t.cost_output_units,
              t.cost_cache_read_units,
              t.cost_cache_write_units,
              t.cost_web_search_units,
              t.unfinalised_responses,
              t.unfinalised_tokens_out,
              t.estimated_tokens_out,
              t.unpriced_responses,
              t.unpriced_tokens,
              t.default_priced_responses,
              (t.first_bucket_start + $60::interval) AS local_time
            FROM
              "recount"."usage_hour_total" AS t
            WHERE
              t.workspace_id = $61
              AND t.first_bucket_start >= $62::timestamptz
              AND date_bin('1 day', t.first_bucket_start, '2000-01-01Z') <> ALL ($63::timestamptz[])
            UNION ALL
            SELECT
              *
            FROM
              (
                SELECT
                  d.workspace_id,
                  d.session_id,
                  d.first_bucket_start AS bucket_start,
                  d.last_bucket_start,
                  d.model,
                  d.is_subagent,
                  d.agent_id,
                  d.git_branch,
                  d.agent_version,
                  d.is_shared,
                  d.responses,
                  d.tokens_in,
                  d.tokens_out,
                  d.cache_read,
                  d.cache_write,
                  d.cache_write_1h,
                  d.thinking_tokens,
                  d.web_search_requests,
                  d.cost_units,
                  d.cost_input_units,
                  d.cost_output_units,
                  d.cost_cache_read_units,
                  d.cost_cache_write_units,
                  d.cost_web_search_units,
                  d.unfinalised_responses,
                  d.unfinalised_tokens_out,
                  d.estimated_tokens_out,
                  d.unpriced_responses,
                  d.unpriced_tokens,
                  d.default_priced_responses,
                  (d.first_bucket_start + $64::interval) AS local_time
                FROM
                  (
                    SELECT
                      d.*
                    FROM
                      (
                        SELECT DISTINCT
                          start
                        FROM
                          unnest($65::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."usage_day_rollup" AS t
                        WHERE
                          t.workspace_id = $66
                          AND t.first_bucket_start >= day.start
                          AND t.first_bucket_start < day.start + interval '24 hours'
                        OFFSET
                          0
                      ) AS d
                  ) AS d
                WHERE
                  d.workspace_id = $67
                  AND d.last_bucket_start >= $68::timestamptz
                  AND d.first_bucket_start > $69::timestamptz - interval '24 hours'
                  AND (
                    d.first_bucket_start IS NULL
                    OR (
                      (
                        date_bin(
                          '24 hours',
                          (d.first_bucket_start + $70::interval),
                          '2000-01-01Z'
                        ) = date_bin(
                          '24 hours',
                          (d.last_bucket_start + $71::interval),
                          '2000-01-01Z'
                        )
                      )
                      AND d.first_bucket_start >= $72::timestamptz
                    )
                  )
                UNION ALL
                SELECT
                  *
                FROM
                  parted_stale_u
              ) AS stale_u
          ) AS u
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $73
          AND s.session_id = u."session_id"
        WHERE
          u."workspace_id" = $74
          AND u."bucket_start" >= $75::timestamptz
        GROUP BY
          1,
          2
        UNION ALL
        SELECT
          date_bin('24 hours', m."local_time", '2000-01-01Z') AS "day",
          NULL AS "is_shared",
          NULL AS "responses",
          NULL AS "tokens_in",
          NULL AS "tokens_out",
          NULL AS "cache_read",
          NULL AS "cache_write",
          NULL AS "cache_write_1h",
          NULL AS "thinking_tokens",
          NULL AS "web_search_requests",
          NULL AS "cost_units",
          NULL AS "cost_input_units",
          NULL AS "cost_output_units",
          NULL AS "cost_cache_read_units",
          NULL AS "cost_cache_write_units",
          NULL AS "cost_web_search_units",
          NULL AS "unfinalised_responses",
          NULL AS "unfinalised_tokens_out",
          NULL AS "estimated_tokens_out",
          NULL AS "unpriced_responses",
          NULL AS "unpriced_tokens",
          NULL AS "default_priced_responses",
          sum(m.messages) AS "messages",
          sum(m.user_messages) AS "user_messages",
          NULL::bigint AS session_count
        FROM
          (
            SELECT
              t.workspace_id,
              NULL::text AS session_id,
              t.first_bucket_start AS bucket_start,
              t.last_bucket_start,
              t.is_subagent,
              t.messages,
              t.user_messages,
              (t.first_bucket_start + $76::interval) AS local_time
            FROM
              "recount"."message_hour_total" AS t
            WHERE
              t.workspace_id = $77
              AND t.first_bucket_start >= $78::timestamptz
              AND date_bin('1 day', t.first_bucket_start, '2000-01-01Z') <> ALL ($79::timestamptz[])
            UNION ALL
            SELECT
              *
            FROM
              (
                SELECT
                  d.workspace_id,
                  d.session_id,
                  d.first_bucket_start AS bucket_start,
                  d.last_bucket_start,
                  d.is_subagent,
                  d.messages,
                  d.user_messages,
                  (d.first_bucket_start + $80::interval) AS local_time
                FROM
                  (
                    SELECT
                      d.*
                    FROM
                      (
                        SELECT DISTINCT
                          start
                        FROM
                          unnest($81::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."message_day_rollup" AS t
                        WHERE
                          t.workspace_id = $82
                          AND t.first_bucket_start >= day.start
                          AND t.first_bucket_start < day.start + interval '24 hours'
                        OFFSET
                          0
                      ) AS d
                  ) AS d
                WHERE
                  d.workspace_id = $83
                  AND d.last_bucket_start >= $84::timestamptz
                  AND d.first_bucket_start > $85::timestamptz - interval '24 hours'
                  AND (
                    d.first_bucket_start IS NULL
                    OR (
                      (
                        date_bin(
                          '24 hours',
                          (d.first_bucket_start + $86::interval),
                          '2000-01-01Z'
                        ) = date_bin(
                          '24 hours',
                          (d.last_bucket_start + $87::interval),
                          '2000-01-01Z'
                        )
                      )
                      AND d.first_bucket_start >= $88::timestamptz
                    )
                  )
                UNION ALL
                SELECT
                  *
                FROM
                  parted_stale_m
              ) AS stale_m
          ) AS m
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $89
          AND s.session_id = m."session_id"
        WHERE
          m."workspace_id" = $90
          AND m."bucket_start" >= $91::timestamptz
        GROUP BY
          1
        UNION ALL
        SELECT
          "day",
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          session_count
        FROM
          (
            SELECT
              "day",
              sum(session_count)::bigint AS session_count
            FROM
              (
                SELECT
                  date_bin(
                    '24 hours',
                    (t.period_start + $92::interval),
                    '2000-01-01Z'
                  ) AS "day",
                  t.sessions AS session_count
                FROM
                  "recount"."session_total" AS t
                WHERE
                  t.workspace_id = $93
                  AND t.counted = $94
                  AND t.period_start >= $95::timestamptz
                  AND date_bin('1 day', t.period_start, '2000-01-01Z') <> ALL ($96::timestamptz[])
                  AND (
                    t.previous_bucket_start IS NULL
                    OR t.previous_bucket_start < $97::timestamptz
                    OR date_bin(
                      '24 hours',
                      (t.previous_bucket_start + $98::interval),
                      '2000-01-01Z'
                    ) <> date_bin(
                      '24 hours',
                      (t.period_start + $99::interval),
                      '2000-01-01Z'
                    )
                  )
                UNION ALL
                SELECT
                  "day",
                  1
                FROM
                  (
                    SELECT
                      date_bin('24 hours', u."local_time", '2000-01-01Z') AS "day",
                      u."session_id" AS counted_session,
                      min(u."bucket_start") AS first_seen
                    FROM
                      (
                        SELECT
                          d.workspace_id,
                          d.session_id,
                          d.first_bucket_start AS bucket_start,
                          d.last_bucket_start,
                          d.model,
                          d.is_subagent,
                          d.agent_id,
                          d.git_branch,
                          d.agent_version,
                          d.is_shared,
                          d.responses,
                          d.tokens_in,
                          d.tokens_out,
                          d.cache_read,
                          d.cache_write,
                          d.cache_write_1h,
                          d.thinking_tokens,
                          d.web_search_requests,
                          d.cost_units,
                          d.cost_input_units,
                          d.cost_output_units,
                          d.cost_cache_read_units,
                          d.cost_cache_write_units,
                          d.cost_web_search_units,
                          d.unfinalised_responses,
                          d.unfinalised_tokens_out,
                          d.estimated_tokens_out,
                          d.unpriced_responses,
                          d.unpriced_tokens,
                          d.default_priced_responses,
                          (d.first_bucket_start + $100::interval) AS local_time
                        FROM
                          (
                            SELECT
                              d.*
                            FROM
                              (
                                SELECT DISTINCT
                                  session_id
                                FROM
                                  (
                                    SELECT
                                      d.session_id
                                    FROM
                                      (
                                        SELECT DISTINCT
                                          start
                                        FROM
                                          unnest($101::timestamptz[]) AS start
                                      ) AS day
                                      CROSS JOIN LATERAL (
                                        SELECT
                                          *
                                        FROM
                                          "recount"."usage_day_rollup" AS t
                                        WHERE
                                          t.workspace_id = $102
                                          AND t.first_bucket_start >= day.start
                                          AND t.first_bucket_start < day.start + interval '24 hours'
                                        OFFSET
                                          0
                                      ) AS d
                                  ) AS seen
                              ) AS s
                              CROSS JOIN LATERAL (
                                SELECT
                                  *
                                FROM
                                  "recount"."usage_day_rollup"
                                WHERE
                                  workspace_id = (
                                    SELECT
                                      $103::text
                                  )
                                  AND session_id = s.session_id
                                OFFSET
                                  0
                              ) AS d
                          ) AS d
                        WHERE
                          d.workspace_id = $104
                          AND d.last_bucket_start >= $105::timestamptz
                          AND d.first_bucket_start > $106::timestamptz - interval '24 hours'
                          AND (
                            d.first_bucket_start IS NULL
                            OR (
                              (
                                date_bin(
                                  '24 hours',
                                  (d.first_bucket_start + $107::interval),
                                  '2000-01-01Z'
                                ) = date_bin(
                                  '24 hours',
                                  (d.last_bucket_start + $108::interval),
                                  '2000-01-01Z'
                                )
                              )
                              AND d.first_bucket_start >= $109::timestamptz
                            )
                          )
                        UNION ALL
                        SELECT
                          *
                        FROM
                          parted_new_u
                      ) AS u
                      LEFT JOIN recount.sessions AS s ON s.workspace_id = $110
                      AND s.session_id = u."session_id"
                    WHERE
                      u."workspace_id" = $111
                      AND u."bucket_start" >= $112::timestamptz
                    GROUP BY
                      1,
                      2
                  ) AS seen
                WHERE
                  first_seen IS NULL
                  OR date_bin('1 day', first_seen, '2000-01-01Z') = ANY ($113::timestamptz[])
              ) AS new
            GROUP BY
              "day"
          ) AS counted
      ) AS x
    GROUP BY
      GROUPING SETS (("day"), ())
  ) AS g
ORDER BY
  is_total DESC,
  g."day" NULLS FIRST,
  own_cost_units DESC,
  own_responses DESC,
  g."day" NULLS FIRST
LIMIT
  $114;
