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
      q.default_priced_responses
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
                  unnest($1::timestamptz[]) AS start
              ) AS day
              CROSS JOIN LATERAL (
                SELECT
                  *
                FROM
                  "recount"."usage_day_rollup" AS t
                WHERE
                  t.workspace_id = $2
                  AND t.first_bucket_start >= day.start
                  AND t.first_bucket_start < day.start + interval '24 hours'
                OFFSET
                  0
              ) AS d
          ) AS d
        WHERE
          d.workspace_id = $3
          AND d.last_bucket_start >= $4::timestamptz
          AND d.first_bucket_start > $5::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $6::timestamptz)
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
                  $7::text
              )
              AND q.session_id = s.session_id
              AND q.bucket_start BETWEEN s.first AND s.last
              AND date_bin('1 day', q.bucket_start, '2000-01-01Z') = ANY ($8::timestamptz[])
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
            OR (d.first_bucket_start >= $9::timestamptz)
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
      q.default_priced_responses
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
                          unnest($10::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."usage_day_rollup" AS t
                        WHERE
                          t.workspace_id = $11
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
                      $12::text
                  )
                  AND session_id = s.session_id
                OFFSET
                  0
              ) AS d
          ) AS d
        WHERE
          d.workspace_id = $13
          AND d.last_bucket_start >= $14::timestamptz
          AND d.first_bucket_start > $15::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $16::timestamptz)
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
              $17::text
          )
          AND q.session_id = s.session_id
          AND q.bucket_start BETWEEN s.first AND s.last
        OFFSET
          0
      ) AS q
  )
SELECT
  g."responses" AS "responses",
  g."tokens_in" AS "tokens_in",
  g."tokens_out" AS "tokens_out",
  g."cache_read" AS "cache_read",
  g."cache_write" AS "cache_write",
  g."cache_write_1h" AS "cache_write_1h",
  g."thinking_tokens" AS "thinking_tokens",
  g."web_search_requests" AS "web_search_requests",
  g."cost_units" AS "cost_units",
  g."cost_input_units" AS "cost_input_units",
  g."cost_output_units" AS "cost_output_units",
  g."cost_cache_read_units" AS "cost_cache_read_units",
  g."cost_cache_write_units" AS "cost_cache_write_units",
  g."cost_web_search_units" AS "cost_web_search_units",
  g."unfinalised_responses" AS "unfinalised_responses",
  g."unfinalised_tokens_out" AS "unfinalised_tokens_out",
  g."estimated_tokens_out" AS "estimated_tokens_out",
  g."unpriced_responses" AS "unpriced_responses",
  g."unpriced_tokens" AS "unpriced_tokens",
  g."default_priced_responses" AS "default_priced_responses",
  g."first_ms" AS "first_ms",
  g."last_ms" AS "last_ms",
  g."sessions" AS "sessions",
  (count(*) OVER ())::float8 - 1 AS group_count,
  g."model" AS "key_model"
FROM
  (
    SELECT
      coalesce(recount.sum_bigint ("responses"), 0)::float8 AS "responses",
      coalesce(recount.sum_bigint ("tokens_in"), 0)::float8 AS "tokens_in",
      coalesce(recount.sum_bigint ("tokens_out"), 0)::float8 AS "tokens_out",
      coalesce(recount.sum_bigint ("cache_read"), 0)::float8 AS "cache_read",
      coalesce(recount.sum_bigint ("cache_write"), 0)::float8 AS "cache_write",
      coalesce(recount.sum_bigint ("cache_write_1h"), 0)::float8 AS "cache_write_1h",
      coalesce(recount.sum_bigint ("thinking_tokens"), 0)::float8 AS "thinking_tokens",
      coalesce(recount.sum_bigint ("web_search_requests"), 0)::float8 AS "web_search_requests",
      coalesce(sum("cost_units"), 0)::float8 AS "cost_units",
      coalesce(sum("cost_input_units"), 0)::float8 AS "cost_input_units",
      coalesce(sum("cost_output_units"), 0)::float8 AS "cost_output_units",
      coalesce(sum("cost_cache_read_units"), 0)::float8 AS "cost_cache_read_units",
      coalesce(sum("cost_cache_write_units"), 0)::float8 AS "cost_cache_write_units",
      coalesce(sum("cost_web_search_units"), 0)::float8 AS "cost_web_search_units",
      coalesce(recount.sum_bigint ("unfinalised_responses"), 0)::float8 AS "unfinalised_responses",
      coalesce(recount.sum_bigint ("unfinalised_tokens_out"), 0)::float8 AS "unfinalised_tokens_out",
      coalesce(recount.sum_bigint ("estimated_tokens_out"), 0)::float8 AS "estimated_tokens_out",
      coalesce(recount.sum_bigint ("unpriced_responses"), 0)::float8 AS "unpriced_responses",
      coalesce(recount.sum_bigint ("unpriced_tokens"), 0)::float8 AS "unpriced_tokens",
      coalesce(
        recount.sum_bigint ("default_priced_responses"),
        0
      )::float8 AS "default_priced_responses",
      extract(
        epoch
        FROM
          min(first_used)
      )::float8 * 1000 AS "first_ms",
      extract(
        epoch
        FROM
          max(last_used)
      )::float8 * 1000 AS "last_ms",
      CASE
        WHEN (GROUPING("model") = 1) THEN (
          SELECT
            coalesce(sum(session_count), 0)::bigint
          FROM
            (
              SELECT
                t.sessions AS session_count
              FROM
                "recount"."session_total" AS t
              WHERE
                t.workspace_id = $18
                AND t.counted = $19
                AND t.period_start >= $20::timestamptz
                AND date_bin('1 day', t.period_start, '2000-01-01Z') <> ALL ($21::timestamptz[])
                AND (
                  t.previous_bucket_start IS NULL
                  OR t.previous_bucket_start < $22::timestamptz
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
                        d.default_priced_responses
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
                                        unnest($23::timestamptz[]) AS start
                                    ) AS day
                                    CROSS JOIN LATERAL (
                                      SELECT
                                        *
                                      FROM
                                        "recount"."usage_day_rollup" AS t
                                      WHERE
                                        t.workspace_id = $24
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
                                    $25::text
                                )
                                AND session_id = s.session_id
                              OFFSET
                                0
                            ) AS d
                        ) AS d
                      WHERE
                        d.workspace_id = $26
                        AND d.last_bucket_start >= $27::timestamptz
                        AND d.first_bucket_start > $28::timestamptz - interval '24 hours'
                        AND (
                          d.first_bucket_start IS NULL
                          OR (d.first_bucket_start >= $29::timestamptz)
                        )
                      UNION ALL
                      SELECT
                        *
                      FROM
                        parted_new_u
                    ) AS u
                    LEFT JOIN recount.sessions AS s ON s.workspace_id = $30
                    AND s.session_id = u."session_id"
                  WHERE
                    u."workspace_id" = $31
                    AND u."bucket_start" >= $32::timestamptz
                    AND NOT u.is_shared
                  GROUP BY
                    1
                ) AS seen
              WHERE
                first_seen IS NULL
                OR date_bin('1 day', first_seen, '2000-01-01Z') = ANY ($33::timestamptz[])
            ) AS new
        )
        ELSE coalesce(max(session_count), 0)
      END::float8 AS "sessions",
      (GROUPING("model") = 1) AS is_total,
      "model"
    FROM
      (
        SELECT
          u.model AS "model",
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
          min(u.bucket_start) AS "first_used",
          max(u.last_bucket_start) AS "last_used",
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
              t.default_priced_responses
            FROM
              "recount"."usage_hour_total" AS t
            WHERE
              t.workspace_id = $34
              AND t.first_bucket_start >= $35::timestamptz
              AND date_bin('1 day', t.first_bucket_start, '2000-01-01Z') <> ALL ($36::timestamptz[])
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
                  d.default_priced_responses
                FROM
                  (
                    SELECT
                      d.*
                    FROM
                      (
                        SELECT DISTINCT
                          start
                        FROM
                          unnest($37::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."usage_day_rollup" AS t
                        WHERE
                          t.workspace_id = $38
                          AND t.first_bucket_start >= day.start
                          AND t.first_bucket_start < day.start + interval '24 hours'
                        OFFSET
                          0
                      ) AS d
                  ) AS d
                WHERE
                  d.workspace_id = $39
                  AND d.last_bucket_start >= $40::timestamptz
                  AND d.first_bucket_start > $41::timestamptz - interval '24 hours'
                  AND (
                    d.first_bucket_start IS NULL
                    OR (d.first_bucket_start >= $42::timestamptz)
                  )
                UNION ALL
                SELECT
                  *
                FROM
                  parted_stale_u
              ) AS stale_u
          ) AS u
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $43
          AND s.session_id = u."session_id"
        WHERE
          u."workspace_id" = $44
          AND u."bucket_start" >= $45::timestamptz
          AND NOT u.is_shared
        GROUP BY
          1
        UNION ALL
        SELECT
          "model",
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
              "model",
              sum(session_count)::bigint AS session_count
            FROM
              (
                SELECT
                  t.key AS "model",
                  t.sessions AS session_count
                FROM
                  "recount"."session_total" AS t
                WHERE
                  t.workspace_id = $46
                  AND t.counted = $47
                  AND t.period_start >= $48::timestamptz
                  AND date_bin('1 day', t.period_start, '2000-01-01Z') <> ALL ($49::timestamptz[])
                  AND (
                    t.previous_bucket_start IS NULL
                    OR t.previous_bucket_start < $50::timestamptz
                  )
                UNION ALL
                SELECT
                  "model",
                  1
                FROM
                  (
                    SELECT
                      u.model AS "model",
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
                          d.default_priced_responses
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
                                          unnest($51::timestamptz[]) AS start
                                      ) AS day
                                      CROSS JOIN LATERAL (
                                        SELECT
                                          *
                                        FROM
                                          "recount"."usage_day_rollup" AS t
                                        WHERE
                                          t.workspace_id = $52
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
                                      $53::text
                                  )
                                  AND session_id = s.session_id
                                OFFSET
                                  0
                              ) AS d
                          ) AS d
                        WHERE
                          d.workspace_id = $54
                          AND d.last_bucket_start >= $55::timestamptz
                          AND d.first_bucket_start > $56::timestamptz - interval '24 hours'
                          AND (
                            d.first_bucket_start IS NULL
                            OR (d.first_bucket_start >= $57::timestamptz)
                          )
                        UNION ALL
                        SELECT
                          *
                        FROM
                          parted_new_u
                      ) AS u
                      LEFT JOIN recount.sessions AS s ON s.workspace_id = $58
                      AND s.session_id = u."session_id"
                    WHERE
                      u."workspace_id" = $59
                      AND u."bucket_start" >= $60::timestamptz
                      AND NOT u.is_shared
                    GROUP BY
                      1,
                      2
                  ) AS seen
                WHERE
                  first_seen IS NULL
                  OR date_bin('1 day', first_seen, '2000-01-01Z') = ANY ($61::timestamptz[])
              ) AS new
            GROUP BY
              "model"
          ) AS counted
      ) AS x
    GROUP BY
      GROUPING SETS (("model"), ())
  ) AS g
ORDER BY
  is_total DESC,
  cost_units DESC,
  responses DESC,
  g."model" NULLS FIRST
LIMIT
  $62;
