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
  )
SELECT
  g."calls" AS "calls",
  g."reads" AS "reads",
  g."edits" AS "edits",
  g."errors" AS "errors",
  g."output_bytes" AS "output_bytes",
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
      CASE
        WHEN (GROUPING("file_path") = 1) THEN (
          SELECT
            count(*)
          FROM
            (
              SELECT DISTINCT
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
            ) AS session
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
              d.workspace_id = $14
              AND d.last_bucket_start >= $15::timestamptz
              AND d.first_bucket_start > $16::timestamptz - interval '24 hours'
              AND (
                d.first_bucket_start IS NULL
                OR (d.first_bucket_start >= $17::timestamptz)
              )
            UNION ALL
            SELECT
              *
            FROM
              parted_r
          ) AS r
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $18
          AND s.session_id = r."session_id"
        WHERE
          r."workspace_id" = $19
          AND r."bucket_start" >= $20::timestamptz
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
  $21;

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
  "project",
  count(*)::float8 AS session_count
FROM
  (
    SELECT DISTINCT
      r.file_path AS "file_path",
      s.project AS "project",
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
  ) AS k
GROUP BY
  "file_path",
  "project";
