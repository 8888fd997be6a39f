SELECT DISTINCT
  day::text AS day
FROM
  "recount"."stale_days"
WHERE
  workspace_id = $1
LIMIT
  $2;

WITH
  parted_stale_r AS MATERIALIZED (
    SELECT
      q.workspace_id,
      q.session_id,
      q.bucket_start,
      q.bucket_start AS last_bucket_start,
      q.model,
      q.is_subagent,
      q.tool_name,
      q.tool_kind,
      q.mcp_server,
      q.program,
      q.subagent_type,
      q.skill_name,
      q.calls,
      q.results,
      q.errors,
      q.denied,
      q.input_bytes,
      q.output_bytes,
      q.duration_ms,
      q.timed_calls,
      q.durations
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
                  "recount"."tool_day_rollup" AS t
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
              (
                SELECT
                  workspace_id,
                  session_id,
                  date_bin('15 minutes', "timestamp", '2000-01-01Z') AS bucket_start,
                  model,
                  is_subagent,
                  tool_name,
                  tool_kind,
                  mcp_server,
                  program,
                  subagent_type,
                  skill_name,
                  1 AS calls,
                  (is_error IS NOT NULL)::int AS results,
                  (is_error IS TRUE)::int AS errors,
                  is_denied::int AS denied,
                  input_bytes,
                  coalesce(output_bytes, 0) AS output_bytes,
                  coalesce(duration_ms, 0) AS duration_ms,
                  (duration_ms IS NOT NULL)::int AS timed_calls,
                  coalesce(
                    substring(
                      int8send (duration_ms)
                      FROM
                        3
                    ),
                    ''::bytea
                  ) AS durations,
                  "timestamp"
                FROM
                  "recount"."tool_calls"
                WHERE
                  is_own
              ) AS q
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
                  q.tool_name,
                  q.tool_kind,
                  q.mcp_server,
                  q.program,
                  q.subagent_type,
                  q.skill_name
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
  parted_u AS MATERIALIZED (
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
          d.workspace_id = $10
          AND d.last_bucket_start >= $11::timestamptz
          AND d.first_bucket_start > $12::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $13::timestamptz)
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
                  $14::text
              )
              AND q.session_id = s.session_id
              AND q.bucket_start BETWEEN s.first AND s.last
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
            OR (d.first_bucket_start >= $15::timestamptz)
          ) IS NOT TRUE
        OFFSET
          0
      ) AS q
  ),
  parted_r AS (
    SELECT
      q.workspace_id,
      q.session_id,
      q.bucket_start,
      q.bucket_start AS last_bucket_start,
      q.model,
      q.is_subagent,
      q.tool_name,
      q.tool_kind,
      q.mcp_server,
      q.program,
      q.subagent_type,
      q.skill_name,
      q.calls,
      q.results,
      q.errors,
      q.denied,
      q.input_bytes,
      q.output_bytes,
      q.duration_ms,
      q.timed_calls,
      q.durations
    FROM
      (
        SELECT
          d.session_id,
          min(d.first_bucket_start) AS first,
          max(d.last_bucket_start) AS last
        FROM
          "recount"."tool_day_rollup" AS d
        WHERE
          d.workspace_id = $16
          AND d.last_bucket_start >= $17::timestamptz
          AND d.first_bucket_start > $18::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $19::timestamptz)
          ) IS NOT TRUE
        GROUP BY
          1
      ) AS s
      CROSS JOIN LATERAL (
        SELECT
          q.*
        FROM
          (
            SELECT
              workspace_id,
              session_id,
              date_bin('15 minutes', "timestamp", '2000-01-01Z') AS bucket_start,
              model,
              is_subagent,
              tool_name,
              tool_kind,
              mcp_server,
              program,
              subagent_type,
              skill_name,
              1 AS calls,
              (is_error IS NOT NULL)::int AS results,
              (is_error IS TRUE)::int AS errors,
              is_denied::int AS denied,
              input_bytes,
              coalesce(output_bytes, 0) AS output_bytes,
              coalesce(duration_ms, 0) AS duration_ms,
              (duration_ms IS NOT NULL)::int AS timed_calls,
              coalesce(
                substring(
                  int8send (duration_ms)
                  FROM
                    3
                ),
                ''::bytea
              ) AS durations,
              "timestamp"
            FROM
              "recount"."tool_calls"
            WHERE
              is_own
          ) AS q
        WHERE
          q.workspace_id = (
            SELECT
              $20::text
          )
          AND q.session_id = s.session_id
          AND q.bucket_start BETWEEN s.first AND s.last
        OFFSET
          0
      ) AS q
  ),
  session_keys AS MATERIALIZED (
    SELECT DISTINCT
      r.subagent_type AS "subagent_type",
      r."session_id" AS "counted_session"
    FROM
      (
        SELECT
          d.workspace_id,
          d.session_id,
          d.first_bucket_start AS bucket_start,
          d.last_bucket_start,
          d.model,
          d.is_subagent,
          d.tool_name,
          d.tool_kind,
          d.mcp_server,
          d.program,
          d.subagent_type,
          d.skill_name,
          d.calls,
          d.results,
          d.errors,
          d.denied,
          d.input_bytes,
          d.output_bytes,
          d.duration_ms,
          d.timed_calls,
          d.durations
        FROM
          "recount"."tool_day_rollup" AS d
        WHERE
          d.workspace_id = $21
          AND d.last_bucket_start >= $22::timestamptz
          AND d.first_bucket_start > $23::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $24::timestamptz)
          )
        UNION ALL
        SELECT
          *
        FROM
          parted_r
      ) AS r
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $25
      AND s.session_id = r."session_id"
    WHERE
      r."workspace_id" = $26
      AND r."bucket_start" >= $27::timestamptz
      AND r.tool_kind = 'agent'
  )
SELECT
  g."calls" AS "calls",
  g."errors" AS "errors",
  g."denied" AS "denied",
  g."subagents" AS "subagents",
  g."priced_subagents" AS "priced_subagents",
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
  g."subagent_type" AS "key_subagent_type"
FROM
  (
    SELECT
      coalesce(recount.sum_bigint ("calls"), 0)::float8 AS "calls",
      coalesce(recount.sum_bigint ("errors"), 0)::float8 AS "errors",
      coalesce(recount.sum_bigint ("denied"), 0)::float8 AS "denied",
      (
        count(*) FILTER (
          WHERE
            subagent IS NOT NULL
        )
      )::float8 AS "subagents",
      (
        count(*) FILTER (
          WHERE
            subagent IS NOT NULL
            AND responses > unpriced_responses
        )
      )::float8 AS "priced_subagents",
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
        WHEN (GROUPING("subagent_type") = 1) THEN (
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
      (GROUPING("subagent_type") = 1) AS is_total,
      "subagent_type"
    FROM
      (
        SELECT
          r.subagent_type AS "subagent_type",
          recount.sum_bigint (r."calls") AS "calls",
          recount.sum_bigint (r."errors") AS "errors",
          recount.sum_bigint (r."denied") AS "denied",
          NULL::text AS "parent",
          NULL::text AS "subagent",
          NULL::bigint AS "responses",
          NULL::bigint AS "tokens_in",
          NULL::bigint AS "tokens_out",
          NULL::bigint AS "cache_read",
          NULL::bigint AS "cache_write",
          NULL::bigint AS "cache_write_1h",
          NULL::bigint AS "thinking_tokens",
          NULL::bigint AS "web_search_requests",
          NULL::bigint AS "cost_units",
          NULL::bigint AS "cost_input_units",
          NULL::bigint AS "cost_output_units",
          NULL::bigint AS "cost_cache_read_units",
          NULL::bigint AS "cost_cache_write_units",
          NULL::bigint AS "cost_web_search_units",
          NULL::bigint AS "unfinalised_responses",
          NULL::bigint AS "unfinalised_tokens_out",
          NULL::bigint AS "estimated_tokens_out",
          NULL::bigint AS "unpriced_responses",
          NULL::bigint AS "unpriced_tokens",
          NULL::bigint AS "default_priced_responses",
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
              t.tool_name,
              t.tool_kind,
              t.mcp_server,
              t.program,
              t.subagent_type,
              t.skill_name,
              t.calls,
              t.results,
              t.errors,
              t.denied,
              t.input_bytes,
              t.output_bytes,
              t.duration_ms,
              t.timed_calls,
              t.durations
            FROM
              "recount"."tool_day_total" AS t
            WHERE
              t.workspace_id = $28
              AND t.first_bucket_start >= $29::timestamptz
              AND date_bin('1 day', t.first_bucket_start, '2000-01-01Z') <> ALL ($30::timestamptz[])
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
                  d.tool_name,
                  d.tool_kind,
                  d.mcp_server,
                  d.program,
                  d.subagent_type,
                  d.skill_name,
                  d.calls,
                  d.results,
                  d.errors,
                  d.denied,
                  d.input_bytes,
                  d.output_bytes,
                  d.duration_ms,
                  d.timed_calls,
                  d.durations
                FROM
                  (
                    SELECT
                      d.*
                    FROM
                      (
                        SELECT DISTINCT
                          start
                        FROM
                          unnest($31::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."tool_day_rollup" AS t
                        WHERE
                          t.workspace_id = $32
                          AND t.first_bucket_start >= day.start
                          AND t.first_bucket_start < day.start + interval '24 hours'
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
                    OR (d.first_bucket_start >= $36::timestamptz)
                  )
                UNION ALL
                SELECT
                  *
                FROM
                  parted_stale_r
              ) AS stale_r
          ) AS r
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $37
          AND s.session_id = r."session_id"
        WHERE
          r."workspace_id" = $38
          AND r."bucket_start" >= $39::timestamptz
          AND r.tool_kind = 'agent'
        GROUP BY
          1
        UNION ALL
        SELECT
          kind.subagent_type AS "subagent_type",
          NULL::bigint AS "calls",
          NULL::bigint AS "errors",
          NULL::bigint AS "denied",
          coalesce(child.parent_session_id, u.session_id) AS "parent",
          u.agent_id AS "subagent",
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
              d.workspace_id = $40
              AND d.last_bucket_start >= $41::timestamptz
              AND d.first_bucket_start > $42::timestamptz - interval '24 hours'
              AND (
                d.first_bucket_start IS NULL
                OR (d.first_bucket_start >= $43::timestamptz)
              )
            UNION ALL
            SELECT
              *
            FROM
              parted_u
          ) AS u
          LEFT JOIN LATERAL (
            SELECT
              parent_session_id
            FROM
              recount.sessions
            WHERE
              workspace_id = $44
              AND session_id = u.session_id
              AND parent_session_id IS NOT NULL
          ) AS child ON true
          LEFT JOIN (
            SELECT
              session_id,
              subagent_id,
              min(subagent_type) AS subagent_type
            FROM
              recount.tool_calls
            WHERE
              workspace_id = $45
              AND subagent_id IS NOT NULL
            GROUP BY
              session_id,
              subagent_id
          ) AS kind ON kind.session_id = coalesce(child.parent_session_id, u.session_id)
          AND kind.subagent_id = u.agent_id
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $46
          AND s.session_id = coalesce(child.parent_session_id, u.session_id)
        WHERE
          u."workspace_id" = $47
          AND u."bucket_start" >= $48::timestamptz
          AND u.is_subagent
          AND NOT u.is_shared
        GROUP BY
          1,
          5,
          6
        UNION ALL
        SELECT
          "subagent_type",
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
          NULL,
          NULL,
          session_count
        FROM
          (
            SELECT
              "subagent_type",
              count(*) AS session_count
            FROM
              session_keys
            GROUP BY
              "subagent_type"
          ) AS counted
      ) AS x
    GROUP BY
      GROUPING SETS (("subagent_type"), ())
  ) AS g
ORDER BY
  is_total DESC,
  cost_units DESC,
  calls DESC,
  g."subagent_type" NULLS FIRST
LIMIT
  $49;
