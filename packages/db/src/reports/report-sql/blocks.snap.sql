WITH RECURSIVE
  block AS (
    SELECT
      (
        SELECT
          date_bin('1 hour', u.bucket_start, '2000-01-01Z')
        FROM
          recount.usage_rollup AS u
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
          AND s.session_id = u."session_id"
        WHERE
          u."workspace_id" = $2
          AND NOT u.is_shared
          AND u.bucket_start >= '-infinity'
        ORDER BY
          u.bucket_start
        LIMIT
          1
      ) AS start
    UNION ALL
    SELECT
      (
        SELECT
          date_bin('1 hour', u.bucket_start, '2000-01-01Z')
        FROM
          recount.usage_rollup AS u
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $3
          AND s.session_id = u."session_id"
        WHERE
          u."workspace_id" = $4
          AND NOT u.is_shared
          AND u.bucket_start >= block.start + interval '5 hours'
        ORDER BY
          u.bucket_start
        LIMIT
          1
      )
    FROM
      block
    WHERE
      block.start < coalesce($5::timestamptz, 'infinity')
  )
SELECT
  coalesce(
    array_agg(
      extract(
        epoch
        FROM
          start
      )::float8 * 1000
      ORDER BY
        start
    ),
    '{}'
  ) AS starts_ms
FROM
  block
WHERE
  start >= coalesce($6::timestamptz, '-infinity')
  AND start < coalesce($7::timestamptz, 'infinity');

SELECT DISTINCT
  day::text AS day
FROM
  "recount"."stale_days"
WHERE
  workspace_id = $1
LIMIT
  $2;

WITH
  session_keys AS MATERIALIZED (
    SELECT DISTINCT
      u.block AS "block",
      u."session_id" AS "counted_session"
    FROM
      (
        WITH
          day AS MATERIALIZED (
            SELECT
              workspace_id,
              session_id,
              model,
              is_subagent,
              git_branch,
              agent_version,
              width_bucket(first_bucket_start, $1::timestamptz[]) AS first_block,
              width_bucket(last_bucket_start, $2::timestamptz[]) AS last_block
            FROM
              recount.usage_day_rollup
            WHERE
              workspace_id = $3
              AND NOT is_shared
              AND last_bucket_start >= $4::timestamptz
              AND first_bucket_start > $5::timestamptz - interval '24 hours'
              AND first_bucket_start < $6::timestamptz
          )
        SELECT
          workspace_id,
          session_id,
          model,
          is_subagent,
          git_branch,
          agent_version,
          first_block AS block
        FROM
          day
        UNION ALL
        SELECT
          workspace_id,
          session_id,
          model,
          is_subagent,
          git_branch,
          agent_version,
          last_block
        FROM
          day
        WHERE
          last_block > first_block
        UNION ALL
        SELECT
          workspace_id,
          session_id,
          model,
          is_subagent,
          git_branch,
          agent_version,
          width_bucket(bucket_start, $7::timestamptz[])
        FROM
          recount.usage_rollup AS u
        WHERE
          workspace_id = $8
          AND NOT u.is_shared
          AND u.bucket_start >= $9::timestamptz
          AND u.bucket_start < $10::timestamptz
          AND session_id IN (
            SELECT
              session_id
            FROM
              day
            WHERE
              last_block > first_block + 1
          )
      ) AS u
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $11
      AND s.session_id = u."session_id"
    WHERE
      u."workspace_id" = $12
      AND u.block BETWEEN 1 AND $13::int
  )
SELECT
  g."models" AS "models",
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
  g."sessions" AS "sessions",
  (count(*) OVER ())::float8 - 1 AS group_count,
  g."block" AS "key_block"
FROM
  (
    SELECT
      coalesce(
        array_agg(
          DISTINCT model
          ORDER BY
            model
        ) FILTER (
          WHERE
            model IS NOT NULL
        ),
        '{}'
      ) AS "models",
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
      CASE
        WHEN (GROUPING("block") = 1) THEN (
          SELECT
            count(*)
          FROM
            (
              SELECT DISTINCT
                counted_session
              FROM
                session_keys
            ) AS session
        )
        ELSE coalesce(max(session_count), 0)
      END::float8 AS "sessions",
      (GROUPING("block") = 1) AS is_total,
      "block"
    FROM
      (
        SELECT
          width_bucket(u.bucket_start, $14::timestamptz[]) AS "block",
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
              t.workspace_id = $15
              AND date_bin('1 day', t.first_bucket_start, '2000-01-01Z') <> ALL ($16::timestamptz[])
            UNION ALL
            SELECT
              *
            FROM
              (
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
                      d.*
                    FROM
                      (
                        SELECT DISTINCT
                          start
                        FROM
                          unnest($17::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."usage_rollup" AS t
                        WHERE
                          t.workspace_id = $18
                          AND t.bucket_start >= day.start
                          AND t.bucket_start < day.start + interval '24 hours'
                        OFFSET
                          0
                      ) AS d
                    UNION ALL
                    SELECT
                      t.*
                    FROM
                      "recount"."usage_rollup" AS t
                    WHERE
                      t.workspace_id = $19
                      AND t.bucket_start IS NULL
                  ) AS q
                WHERE
                  q.workspace_id = $20
              ) AS stale_u
          ) AS u
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $21
          AND s.session_id = u."session_id"
        WHERE
          u."workspace_id" = $22
          AND NOT u.is_shared
          AND u.bucket_start >= $23::timestamptz
          AND u.bucket_start < $24::timestamptz
        GROUP BY
          1,
          2
        UNION ALL
        SELECT
          "block",
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
              "block",
              count(*) AS session_count
            FROM
              session_keys
            GROUP BY
              "block"
          ) AS counted
      ) AS x
    GROUP BY
      GROUPING SETS (("block"), ())
  ) AS g
ORDER BY
  is_total DESC,
  g.block,
  g."block" NULLS FIRST
LIMIT
  $25;
