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
  parted_new_r AS (
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
                          "recount"."tool_day_rollup" AS t
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
                  "recount"."tool_day_rollup"
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
              $17::text
          )
          AND q.session_id = s.session_id
          AND q.bucket_start BETWEEN s.first AND s.last
        OFFSET
          0
      ) AS q
  )
SELECT
  g."calls" AS "calls",
  g."results" AS "results",
  g."errors" AS "errors",
  g."denied" AS "denied",
  g."output_bytes" AS "output_bytes",
  g."timed_calls" AS "timed_calls",
  g."sessions" AS "sessions",
  (count(*) OVER ())::float8 - 1 AS group_count,
  g."program" AS "key_program"
FROM
  (
    SELECT
      coalesce(recount.sum_bigint ("calls"), 0)::float8 AS "calls",
      coalesce(recount.sum_bigint ("results"), 0)::float8 AS "results",
      coalesce(recount.sum_bigint ("errors"), 0)::float8 AS "errors",
      coalesce(recount.sum_bigint ("denied"), 0)::float8 AS "denied",
      coalesce(recount.sum_bigint ("output_bytes"), 0)::float8 AS "output_bytes",
      coalesce(recount.sum_bigint ("timed_calls"), 0)::float8 AS "timed_calls",
      CASE
        WHEN (GROUPING("program") = 1) THEN (
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
                    r."session_id" AS counted_session,
                    min(r."bucket_start") AS first_seen
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
                                        "recount"."tool_day_rollup" AS t
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
                                "recount"."tool_day_rollup"
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
                        parted_new_r
                    ) AS r
                    LEFT JOIN recount.sessions AS s ON s.workspace_id = $30
                    AND s.session_id = r."session_id"
                  WHERE
                    r."workspace_id" = $31
                    AND r."bucket_start" >= $32::timestamptz
                    AND r.program IS NOT NULL
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
      (GROUPING("program") = 1) AS is_total,
      "program"
    FROM
      (
        SELECT
          r.program AS "program",
          recount.sum_bigint (r."calls") AS "calls",
          recount.sum_bigint (r."results") AS "results",
          recount.sum_bigint (r."errors") AS "errors",
          recount.sum_bigint (r."denied") AS "denied",
          recount.sum_bigint (r."output_bytes") AS "output_bytes",
          recount.sum_bigint (r."timed_calls") AS "timed_calls",
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
                          unnest($37::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."tool_day_rollup" AS t
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
                  parted_stale_r
              ) AS stale_r
          ) AS r
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $43
          AND s.session_id = r."session_id"
        WHERE
          r."workspace_id" = $44
          AND r."bucket_start" >= $45::timestamptz
          AND r.program IS NOT NULL
        GROUP BY
          1
        UNION ALL
        SELECT
          "program",
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
              "program",
              sum(session_count)::bigint AS session_count
            FROM
              (
                SELECT
                  t.key AS "program",
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
                  "program",
                  1
                FROM
                  (
                    SELECT
                      r.program AS "program",
                      r."session_id" AS counted_session,
                      min(r."bucket_start") AS first_seen
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
                                          "recount"."tool_day_rollup" AS t
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
                                  "recount"."tool_day_rollup"
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
                          parted_new_r
                      ) AS r
                      LEFT JOIN recount.sessions AS s ON s.workspace_id = $58
                      AND s.session_id = r."session_id"
                    WHERE
                      r."workspace_id" = $59
                      AND r."bucket_start" >= $60::timestamptz
                      AND r.program IS NOT NULL
                    GROUP BY
                      1,
                      2
                  ) AS seen
                WHERE
                  first_seen IS NULL
                  OR date_bin('1 day', first_seen, '2000-01-01Z') = ANY ($61::timestamptz[])
              ) AS new
            GROUP BY
              "program"
          ) AS counted
      ) AS x
    GROUP BY
      GROUPING SETS (("program"), ())
  ) AS g
ORDER BY
  is_total DESC,
  calls DESC,
  g."program" NULLS FIRST
LIMIT
  $62;

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
  )
SELECT
  "durations",
  g."program" AS "program"
FROM
  (
    SELECT
      r.program AS "program",
      string_agg(r.durations, ''::bytea) AS "durations"
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
          t.workspace_id = $10
          AND t.first_bucket_start >= $11::timestamptz
          AND date_bin('1 day', t.first_bucket_start, '2000-01-01Z') <> ALL ($12::timestamptz[])
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
                      unnest($13::timestamptz[]) AS start
                  ) AS day
                  CROSS JOIN LATERAL (
                    SELECT
                      *
                    FROM
                      "recount"."tool_day_rollup" AS t
                    WHERE
                      t.workspace_id = $14
                      AND t.first_bucket_start >= day.start
                      AND t.first_bucket_start < day.start + interval '24 hours'
                    OFFSET
                      0
                  ) AS d
              ) AS d
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
              parted_stale_r
          ) AS stale_r
      ) AS r
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $19
      AND s.session_id = r."session_id"
    WHERE
      r."workspace_id" = $20
      AND r."bucket_start" >= $21::timestamptz
      AND r.timed_calls > 0
      AND r.program IS NOT NULL
    GROUP BY
      1
  ) AS g;
