SELECT DISTINCT
  day::text AS day
FROM
  "recount"."stale_days"
WHERE
  workspace_id = $1
LIMIT
  $2;

WITH
  parted_r AS MATERIALIZED (
    SELECT
      q.workspace_id,
      q.session_id,
      q.bucket_start,
      q.bucket_start AS last_bucket_start,
      q.model,
      q.is_subagent,
      q.file_path,
      q.calls,
      q.reads,
      q.edits,
      q.errors,
      q.output_bytes
    FROM
      (
        SELECT
          d.session_id,
          min(d.first_bucket_start) AS first,
          max(d.last_bucket_start) AS last
        FROM
          "recount"."file_day_rollup" AS d
        WHERE
          d.workspace_id = $1
          AND d.last_bucket_start >= $2::timestamptz
          AND d.first_bucket_start > $3::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $4::timestamptz)
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
                  file_path,
                  1 AS calls,
                  (tool_kind = 'read')::int AS reads,
                  (
                    tool_kind <> 'read'
                    AND is_error IS NOT TRUE
                  )::int AS edits,
                  (is_error IS TRUE)::int AS errors,
                  coalesce(output_bytes, 0) AS output_bytes,
                  "timestamp"
                FROM
                  "recount"."tool_calls"
                WHERE
                  is_own
                  AND file_path IS NOT NULL
              ) AS q
            WHERE
              q.workspace_id = (
                SELECT
                  $5::text
              )
              AND q.session_id = s.session_id
              AND q.bucket_start BETWEEN s.first AND s.last
            WINDOW
              day AS (
                PARTITION BY
                  date_bin('1 day', q.bucket_start, '2000-01-01Z'),
                  q.model,
                  q.is_subagent,
                  q.file_path
              )
          ) AS d
        WHERE
          (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $6::timestamptz)
          ) IS NOT TRUE
        OFFSET
          0
      ) AS q
  ),
  parted_new_r AS MATERIALIZED (
    SELECT
      q.workspace_id,
      q.session_id,
      q.bucket_start,
      q.bucket_start AS last_bucket_start,
      q.model,
      q.is_subagent,
      q.file_path,
      q.calls,
      q.reads,
      q.edits,
      q.errors,
      q.output_bytes
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
                          unnest($7::timestamptz[]) AS start
                      ) AS day
                      CROSS JOIN LATERAL (
                        SELECT
                          *
                        FROM
                          "recount"."file_day_rollup" AS t
                        WHERE
                          t.workspace_id = $8
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
                  "recount"."file_day_rollup"
                WHERE
                  workspace_id = (
                    SELECT
                      $9::text
                  )
                  AND session_id = s.session_id
                OFFSET
                  0
              ) AS d
          ) AS d
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
              (
                SELECT
                  workspace_id,
                  session_id,
                  date_bin('15 minutes', "timestamp", '2000-01-01Z') AS bucket_start,
                  model,
                  is_subagent,
                  file_path,
                  1 AS calls,
                  (tool_kind = 'read')::int AS reads,
                  (
                    tool_kind <> 'read'
                    AND is_error IS NOT TRUE
                  )::int AS edits,
                  (is_error IS TRUE)::int AS errors,
                  coalesce(output_bytes, 0) AS output_bytes,
                  "timestamp"
                FROM
                  "recount"."tool_calls"
                WHERE
                  is_own
                  AND file_path IS NOT NULL
              ) AS q
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
                  q.file_path
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
  )
SELECT
  g."calls" AS "calls",
  g."reads" AS "reads",
  g."edits" AS "edits",
  g."errors" AS "errors",
  g."output_bytes" AS "output_bytes",
  g."projects" AS "projects",
  g."sessions" AS "sessions",
  (count(*) OVER ())::float8 - 1 AS group_count,
  g."file_path" AS "key_file_path",
  g."project" AS "key_project"
FROM
  (
    SELECT
      coalesce(recount.sum_bigint ("calls"), 0)::float8 AS "calls",
      coalesce(recount.sum_bigint ("reads"), 0)::float8 AS "reads",
      coalesce(recount.sum_bigint ("edits"), 0)::float8 AS "edits",
      coalesce(recount.sum_bigint ("errors"), 0)::float8 AS "errors",
      coalesce(recount.sum_bigint ("output_bytes"), 0)::float8 AS "output_bytes",
      count(*) OVER (
        PARTITION BY
          file_path
      )::float8 AS "projects",
      CASE
        WHEN (GROUPING("file_path") = 1) THEN (
          SELECT
            coalesce(sum(session_count), 0)::bigint
          FROM
            (
              SELECT
                t.sessions AS session_count
              FROM
                "recount"."session_total" AS t
              WHERE
                t.workspace_id = $16
                AND t.counted = $17
                AND t.period_start >= $18::timestamptz
                AND date_bin('1 day', t.period_start, '2000-01-01Z') <> ALL ($19::timestamptz[])
                AND (
                  t.previous_bucket_start IS NULL
                  OR t.previous_bucket_start < $20::timestamptz
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
                        d.file_path,
                        d.calls,
                        d.reads,
                        d.edits,
                        d.errors,
                        d.output_bytes
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
                                        unnest($21::timestamptz[]) AS start
                                    ) AS day
                                    CROSS JOIN LATERAL (
                                      SELECT
                                        *
                                      FROM
                                        "recount"."file_day_rollup" AS t
                                      WHERE
                                        t.workspace_id = $22
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
                                "recount"."file_day_rollup"
                              WHERE
                                workspace_id = (
                                  SELECT
                                    $23::text
                                )
                                AND session_id = s.session_id
                              OFFSET
                                0
                            ) AS d
                        ) AS d
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
                        parted_new_r
                    ) AS r
                    LEFT JOIN recount.sessions AS s ON s.workspace_id = $28
                    AND s.session_id = r."session_id"
                  WHERE
                    r."workspace_id" = $29
                    AND r."bucket_start" >= $30::timestamptz
                  GROUP BY
                    1
                ) AS seen
              WHERE
                first_seen IS NULL
                OR date_bin('1 day', first_seen, '2000-01-01Z') = ANY ($31::timestamptz[])
            ) AS new
        )
        ELSE coalesce(max(session_count), 0)
      END::float8 AS "sessions",
      (GROUPING("file_path") = 1) AS is_total,
      "file_path",
      "project"
    FROM
      (
        SELECT
          r.file_path AS "file_path",
          s.project AS "project",
          recount.sum_bigint (r."calls") AS "calls",
          recount.sum_bigint (r."reads") AS "reads",
          recount.sum_bigint (r."edits") AS "edits",
          recount.sum_bigint (r."errors") AS "errors",
          recount.sum_bigint (r."output_bytes") AS "output_bytes",
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
              d.file_path,
              d.calls,
              d.reads,
              d.edits,
              d.errors,
              d.output_bytes
            FROM
              "recount"."file_day_rollup" AS d
            WHERE
              d.workspace_id = $32
              AND d.last_bucket_start >= $33::timestamptz
              AND d.first_bucket_start > $34::timestamptz - interval '24 hours'
              AND (
                d.first_bucket_start IS NULL
                OR (d.first_bucket_start >= $35::timestamptz)
              )
            UNION ALL
            SELECT
              *
            FROM
              parted_r
          ) AS r
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $36
          AND s.session_id = r."session_id"
        WHERE
          r."workspace_id" = $37
          AND r."bucket_start" >= $38::timestamptz
        GROUP BY
          1,
          2
      ) AS x
    GROUP BY
      GROUPING SETS (("file_path", "project"), ())
  ) AS g
ORDER BY
  is_total DESC,
  calls DESC,
  g."file_path" NULLS FIRST,
  g."project" NULLS FIRST
LIMIT
  $39;

WITH
  parted_r AS MATERIALIZED (
    SELECT
      q.workspace_id,
      q.session_id,
      q.bucket_start,
      q.bucket_start AS last_bucket_start,
      q.model,
      q.is_subagent,
      q.file_path,
      q.calls,
      q.reads,
      q.edits,
      q.errors,
      q.output_bytes
    FROM
      (
        SELECT
          d.session_id,
          min(d.first_bucket_start) AS first,
          max(d.last_bucket_start) AS last
        FROM
          "recount"."file_day_rollup" AS d
        WHERE
          d.workspace_id = $1
          AND d.last_bucket_start >= $2::timestamptz
          AND d.first_bucket_start > $3::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $4::timestamptz)
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
                  file_path,
                  1 AS calls,
                  (tool_kind = 'read')::int AS reads,
                  (
                    tool_kind <> 'read'
                    AND is_error IS NOT TRUE
                  )::int AS edits,
                  (is_error IS TRUE)::int AS errors,
                  coalesce(output_bytes, 0) AS output_bytes,
                  "timestamp"
                FROM
                  "recount"."tool_calls"
                WHERE
                  is_own
                  AND file_path IS NOT NULL
              ) AS q
            WHERE
              q.workspace_id = (
                SELECT
                  $5::text
              )
              AND q.session_id = s.session_id
              AND q.bucket_start BETWEEN s.first AND s.last
            WINDOW
              day AS (
                PARTITION BY
                  date_bin('1 day', q.bucket_start, '2000-01-01Z'),
                  q.model,
                  q.is_subagent,
                  q.file_path
              )
          ) AS d
        WHERE
          (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $6::timestamptz)
          ) IS NOT TRUE
        OFFSET
          0
      ) AS q
  )
SELECT
  "file_path",
  count(*)::float8 AS session_count
FROM
  (
    SELECT DISTINCT
      r.file_path AS "file_path",
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
          d.file_path,
          d.calls,
          d.reads,
          d.edits,
          d.errors,
          d.output_bytes
        FROM
          "recount"."file_day_rollup" AS d
        WHERE
          d.workspace_id = $7
          AND d.last_bucket_start >= $8::timestamptz
          AND d.first_bucket_start > $9::timestamptz - interval '24 hours'
          AND (
            d.first_bucket_start IS NULL
            OR (d.first_bucket_start >= $10::timestamptz)
          )
        UNION ALL
        SELECT
          *
        FROM
          parted_r
      ) AS r
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $11
      AND s.session_id = r."session_id"
    WHERE
      r."workspace_id" = $12
      AND r."bucket_start" >= $13::timestamptz
      AND r.file_path = ANY ($14::text[])
  ) AS k
GROUP BY
  "file_path";
