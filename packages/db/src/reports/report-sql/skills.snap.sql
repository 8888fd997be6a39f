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
              $14::text
          )
          AND q.session_id = s.session_id
          AND q.bucket_start BETWEEN s.first AND s.last
        OFFSET
          0
      ) AS q
  ),
  session_keys AS MATERIALIZED (
    SELECT DISTINCT
      r.skill_name AS "skill_name",
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
          d.workspace_id = $15
          AND d.last_bucket_start >= $16::timestamptz
          AND d.first_bucket_start > $17::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $18::timestamptz)
          )
        UNION ALL
        SELECT
          *
        FROM
          parted_r
      ) AS r
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $19
      AND s.session_id = r."session_id"
    WHERE
      r."workspace_id" = $20
      AND r."bucket_start" >= $21::timestamptz
      AND r.skill_name IS NOT NULL
  )
SELECT
  g."calls" AS "calls",
  g."results" AS "results",
  g."errors" AS "errors",
  g."denied" AS "denied",
  g."output_bytes" AS "output_bytes",
  g."sessions" AS "sessions",
  (count(*) OVER ())::float8 - 1 AS group_count,
  g."skill_name" AS "key_skill_name"
FROM
  (
    SELECT
      coalesce(recount.sum_bigint ("calls"), 0)::float8 AS "calls",
      coalesce(recount.sum_bigint ("results"), 0)::float8 AS "results",
      coalesce(recount.sum_bigint ("errors"), 0)::float8 AS "errors",
      coalesce(recount.sum_bigint ("denied"), 0)::float8 AS "denied",
      coalesce(recount.sum_bigint ("output_bytes"), 0)::float8 AS "output_bytes",
      CASE
        WHEN (GROUPING("skill_name") = 1) THEN (
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
      (GROUPING("skill_name") = 1) AS is_total,
      "skill_name"
    FROM
      (
        SELECT
          r.skill_name AS "skill_name",
          recount.sum_bigint (r."calls") AS "calls",
          recount.sum_bigint (r."results") AS "results",
          recount.sum_bigint (r."errors") AS "errors",
          recount.sum_bigint (r."denied") AS "denied",
          recount.sum_bigint (r."output_bytes") AS "output_bytes",
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
              t.workspace_id = $22
              AND t.first_bucket_start >= $23::timestamptz
              AND date_bin('1 day', t.first_bucket_start, '2000-01-01Z') <> ALL ($24::timestamptz[])
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
                          unnest($25::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."tool_day_rollup" AS t
                        WHERE
                          t.workspace_id = $26
                          AND t.first_bucket_start >= day.start
                          AND t.first_bucket_start < day.start + interval '24 hours'
                        OFFSET
                          0
                      ) AS d
                  ) AS d
                WHERE
                  d.workspace_id = $27
                  AND d.last_bucket_start >= $28::timestamptz
                  AND d.first_bucket_start > $29::timestamptz - interval '24 hours'
                  AND (
                    d.first_bucket_start IS NULL
                    OR (d.first_bucket_start >= $30::timestamptz)
                  )
                UNION ALL
                SELECT
                  *
                FROM
                  parted_stale_r
              ) AS stale_r
          ) AS r
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $31
          AND s.session_id = r."session_id"
        WHERE
          r."workspace_id" = $32
          AND r."bucket_start" >= $33::timestamptz
          AND r.skill_name IS NOT NULL
        GROUP BY
          1
        UNION ALL
        SELECT
          "skill_name",
          NULL,
          NULL,
          NULL,
          NULL,
          NULL,
          session_count
        FROM
          (
            SELECT
              "skill_name",
              count(*) AS session_count
            FROM
              session_keys
            GROUP BY
              "skill_name"
          ) AS counted
      ) AS x
    GROUP BY
      GROUPING SETS (("skill_name"), ())
  ) AS g
ORDER BY
  is_total DESC,
  calls DESC,
  g."skill_name" NULLS FIRST
LIMIT
  $34;
