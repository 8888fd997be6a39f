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
  parted_stale_m AS MATERIALIZED (
    SELECT
      q.workspace_id,
      q.session_id,
      q.bucket_start,
      q.bucket_start AS last_bucket_start,
      q.is_subagent,
      q.messages,
      q.user_messages
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
                  unnest($10::timestamptz[]) AS start
              ) AS day
              CROSS JOIN LATERAL (
                SELECT
                  *
                FROM
                  "recount"."message_day_rollup" AS t
                WHERE
                  t.workspace_id = $11
                  AND t.first_bucket_start >= day.start
                  AND t.first_bucket_start < day.start + interval '24 hours'
                OFFSET
                  0
              ) AS d
          ) AS d
        WHERE
          d.workspace_id = $12
          AND d.last_bucket_start >= $13::timestamptz
          AND d.first_bucket_start > $14::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $15::timestamptz)
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
                  $16::text
              )
              AND q.session_id = s.session_id
              AND q.bucket_start BETWEEN s.first AND s.last
              AND date_bin('1 day', q.bucket_start, '2000-01-01Z') = ANY ($17::timestamptz[])
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
            OR (d.first_bucket_start >= $18::timestamptz)
          ) IS NOT TRUE
        OFFSET
          0
      ) AS q
  ),
  parted_u AS (
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
          "recount"."usage_day_rollup" AS d
        WHERE
          d.workspace_id = $19
          AND d.last_bucket_start >= $20::timestamptz
          AND d.first_bucket_start > $21::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $22::timestamptz)
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
              $23::text
          )
          AND q.session_id = s.session_id
          AND q.bucket_start BETWEEN s.first AND s.last
        OFFSET
          0
      ) AS q
  ),
  session_counts AS MATERIALIZED (
    SELECT
      "project",
      count(*) AS session_count
    FROM
      (
        SELECT
          s.project AS "project",
          k.counted_session
        FROM
          (
            SELECT DISTINCT
              u."session_id" AS "counted_session"
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
                  "recount"."usage_day_rollup" AS d
                WHERE
                  d.workspace_id = $24
                  AND d.last_bucket_start >= $25::timestamptz
                  AND d.first_bucket_start > $26::timestamptz - interval '24 hours'
                  AND (
                    d.first_bucket_start IS NULL
                    OR (d.first_bucket_start >= $27::timestamptz)
                  )
                UNION ALL
                SELECT
                  *
                FROM
                  parted_u
              ) AS u
              LEFT JOIN recount.sessions AS s ON s.workspace_id = $28
              AND s.session_id = u."session_id"
            WHERE
              u."workspace_id" = $29
              AND u."bucket_start" >= $30::timestamptz
          ) AS k
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $31
          AND s.session_id = k.counted_session
      ) AS k
    GROUP BY
      "project"
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
  g."project" AS "key_project"
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
        WHEN (GROUPING("project") = 1) THEN (
          SELECT
            coalesce(sum(session_count), 0)::bigint
          FROM
            session_counts
        )
        ELSE coalesce(max(session_count), 0)
      END::float8 AS "sessions",
      (GROUPING("project") = 1) AS is_total,
      "project"
    FROM
      (
        SELECT
          s.project AS "project",
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
              t.agent,
              t.project,
              t.person,
              t.machine
            FROM
              "recount"."usage_attribution_total" AS t
            WHERE
              t.workspace_id = $32
              AND t.first_bucket_start >= $33::timestamptz
              AND date_bin('1 day', t.first_bucket_start, '2000-01-01Z') <> ALL ($34::timestamptz[])
            UNION ALL
            SELECT
              stale_u.*,
              s.agent,
              s.project,
              s.person,
              s.machine
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
                          unnest($35::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."usage_day_rollup" AS t
                        WHERE
                          t.workspace_id = $36
                          AND t.first_bucket_start >= day.start
                          AND t.first_bucket_start < day.start + interval '24 hours'
                        OFFSET
                          0
                      ) AS d
                  ) AS d
                WHERE
                  d.workspace_id = $37
                  AND d.last_bucket_start >= $38::timestamptz
                  AND d.first_bucket_start > $39::timestamptz - interval '24 hours'
                  AND (
                    d.first_bucket_start IS NULL
                    OR (d.first_bucket_start >= $40::timestamptz)
                  )
                UNION ALL
                SELECT
                  *
                FROM
                  parted_stale_u
              ) AS stale_u
              LEFT JOIN LATERAL (
                SELECT
                  agent,
                  project,
                  person,
                  machine
                FROM
                  "recount"."sessions"
                WHERE
                  workspace_id = (
                    SELECT
                      $41::text
                  )
                  AND session_id = stale_u.session_id
                OFFSET
                  0
              ) AS s ON true
          ) AS u
          CROSS JOIN LATERAL (
            SELECT
              u.agent,
              u.project,
              u.person,
              u.machine
          ) AS s
        WHERE
          u."workspace_id" = $42
          AND u."bucket_start" >= $43::timestamptz
        GROUP BY
          1,
          2
        UNION ALL
        SELECT
          s.project AS "project",
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
              t.agent,
              t.project,
              t.person,
              t.machine
            FROM
              "recount"."message_attribution_total" AS t
            WHERE
              t.workspace_id = $44
              AND t.first_bucket_start >= $45::timestamptz
              AND date_bin('1 day', t.first_bucket_start, '2000-01-01Z') <> ALL ($46::timestamptz[])
            UNION ALL
            SELECT
              stale_m.*,
              s.agent,
              s.project,
              s.person,
              s.machine
            FROM
              (
                SELECT
                  d.workspace_id,
                  d.session_id,
                  d.first_bucket_start AS bucket_start,
                  d.last_bucket_start,
                  d.is_subagent,
                  d.messages,
                  d.user_messages
                FROM
                  (
                    SELECT
                      d.*
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
                          "recount"."message_day_rollup" AS t
                        WHERE
                          t.workspace_id = $48
                          AND t.first_bucket_start >= day.start
                          AND t.first_bucket_start < day.start + interval '24 hours'
                        OFFSET
                          0
                      ) AS d
                  ) AS d
                WHERE
                  d.workspace_id = $49
                  AND d.last_bucket_start >= $50::timestamptz
                  AND d.first_bucket_start > $51::timestamptz - interval '24 hours'
                  AND (
                    d.first_bucket_start IS NULL
                    OR (d.first_bucket_start >= $52::timestamptz)
                  )
                UNION ALL
                SELECT
                  *
                FROM
                  parted_stale_m
              ) AS stale_m
              LEFT JOIN LATERAL (
                SELECT
                  agent,
                  project,
                  person,
                  machine
                FROM
                  "recount"."sessions"
                WHERE
                  workspace_id = (
                    SELECT
                      $53::text
                  )
                  AND session_id = stale_m.session_id
                OFFSET
                  0
              ) AS s ON true
          ) AS m
          CROSS JOIN LATERAL (
            SELECT
              m.agent,
              m.project,
              m.person,
              m.machine
          ) AS s
        WHERE
          m."workspace_id" = $54
          AND m."bucket_start" >= $55::timestamptz
        GROUP BY
          1
        UNION ALL
        SELECT
          "project",
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
              *
            FROM
              session_counts
          ) AS counted
      ) AS x
    GROUP BY
      GROUPING SETS (("project"), ())
  ) AS g
ORDER BY
  is_total DESC,
  own_cost_units DESC,
  own_responses DESC,
  g."project" NULLS FIRST
LIMIT
  $56;
