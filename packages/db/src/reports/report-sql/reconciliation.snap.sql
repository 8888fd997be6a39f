SELECT
  g."reported_units" AS "reported_units",
  g."compared_units" AS "compared_units",
  g."computed_units" AS "computed_units",
  g."subagent_units" AS "subagent_units",
  g."unfinalised" AS "unfinalised",
  g."unpriced" AS "unpriced",
  g."close_sessions" AS "close_sessions",
  (count(*) OVER ())::float8 - 1 AS group_count,
  g."session_id" AS "key_session_id",
  g."title" AS "key_title",
  g."project" AS "key_project",
  g."first_timestamp" AS "key_first_timestamp"
FROM
  (
    SELECT
      coalesce(sum("reported_units"), 0)::float8 AS "reported_units",
      sum("compared_units")::float8 AS "compared_units",
      sum("computed_units")::float8 AS "computed_units",
      sum("subagent_units")::float8 AS "subagent_units",
      coalesce(sum("unfinalised"), 0)::float8 AS "unfinalised",
      coalesce(sum("unpriced"), 0)::float8 AS "unpriced",
      (
        count(*) FILTER (
          WHERE
            is_close
        )
      )::float8 AS "close_sessions",
      (GROUPING("session_id") = 1) AS is_total,
      "session_id",
      "title",
      "project",
      "first_timestamp"
    FROM
      (
        SELECT
          f.session_id AS "session_id",
          coalesce(f.title, left(f.initial_prompt, 80)) AS "title",
          f.project AS "project",
          to_char(
            f.first_timestamp AT TIME ZONE 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
          ) AS "first_timestamp",
          round(f.reported_cost_usd * 10000000000) AS "reported_units",
          CASE
            WHEN (
              f.api_response_count + child.responses - repeated.responses
            ) = 0
            OR (
              f.api_response_count + child.responses - repeated.responses
            ) > (
              f.unpriced_count + child.unpriced - repeated.unpriced
            ) THEN round(
              (
                coalesce(f.cost_estimate_usd, 0) + child.cost_usd - repeated.cost_usd
              ) * 10000000000
            )
          END AS "computed_units",
          CASE
            WHEN CASE
              WHEN (
                f.api_response_count + child.responses - repeated.responses
              ) = 0
              OR (
                f.api_response_count + child.responses - repeated.responses
              ) > (
                f.unpriced_count + child.unpriced - repeated.unpriced
              ) THEN round(
                (
                  coalesce(f.cost_estimate_usd, 0) + child.cost_usd - repeated.cost_usd
                ) * 10000000000
              )
            END IS NOT NULL THEN f.reported_cost_usd * 10000000000
          END AS "compared_units",
          CASE
            WHEN (child.responses - repeated.responses) = 0
            OR (child.responses - repeated.responses) > (child.unpriced - repeated.unpriced) THEN round(
              (child.cost_usd - repeated.cost_usd) * 10000000000
            )
          END AS "subagent_units",
          f.unfinalised_count + child.unfinalised - repeated.unfinalised AS "unfinalised",
          f.unpriced_count + child.unpriced - repeated.unpriced AS "unpriced",
          abs(
            CASE
              WHEN (
                f.api_response_count + child.responses - repeated.responses
              ) = 0
              OR (
                f.api_response_count + child.responses - repeated.responses
              ) > (
                f.unpriced_count + child.unpriced - repeated.unpriced
              ) THEN round(
                (
                  coalesce(f.cost_estimate_usd, 0) + child.cost_usd - repeated.cost_usd
                ) * 10000000000
              )
            END / 1e10 - f.reported_cost_usd
          ) <= 0.01 * f.reported_cost_usd AS "is_close",
          NULL::bigint AS session_count
        FROM
          recount.sessions AS f
          LEFT JOIN LATERAL (
            SELECT
              coalesce(sum(c.cost_estimate_usd), 0) AS cost_usd,
              coalesce(sum(c.api_response_count), 0) AS responses,
              coalesce(sum(c.unfinalised_count), 0) AS unfinalised,
              coalesce(sum(c.unpriced_count), 0) AS unpriced
            FROM
              recount.sessions AS c
            WHERE
              c.workspace_id = (
                SELECT
                  $1::text
              )
              AND c.parent_session_id = f.session_id
          ) AS child ON true
          CROSS JOIN LATERAL (
            SELECT
              coalesce(sum(e.cost_usd), 0) AS cost_usd,
              count(*) AS responses,
              count(*) FILTER (
                WHERE
                  e.is_unfinalised
              ) AS unfinalised,
              count(*) FILTER (
                WHERE
                  e.price_basis = 'unpriced'
              ) AS unpriced
            FROM
              recount.transcripts AS t
              JOIN recount.usage_entries AS e ON e.workspace_id = t.workspace_id
              AND e.row_set_id = t.row_set_id
            WHERE
              t.workspace_id = (
                SELECT
                  $2::text
              )
              AND t.id = f.primary_transcript_id
              AND e.is_subagent
              AND EXISTS (
                SELECT
                FROM
                  recount.usage_day_rollup AS r
                WHERE
                  r.workspace_id = (
                    SELECT
                      $3::text
                  )
                  AND r.session_id = f.session_id
                  AND r.is_subagent
              )
              AND EXISTS (
                SELECT
                FROM
                  recount.usage_entries AS
                copy
                JOIN recount.transcripts AS child ON child.workspace_id = copy.workspace_id
                AND child.row_set_id = copy.row_set_id
                AND NOT child.is_diverged
                JOIN recount.sessions AS c ON c.workspace_id = child.workspace_id
                AND c.session_id = child.session_id
                WHERE
                  copy.workspace_id = (
                    SELECT
                      $4::text
                  )
                  AND copy.agent = e.agent
                  AND copy.response_key = e.response_key
                  AND c.parent_session_id = f.session_id
              )
          ) AS repeated
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $5
          AND s.session_id = f."session_id"
        WHERE
          f."workspace_id" = $6
          AND f."first_timestamp" >= $7::timestamptz
          AND f.reported_cost_usd IS NOT NULL
      ) AS x
    GROUP BY
      GROUPING SETS (
        (
          "session_id",
          "title",
          "project",
          "first_timestamp"
        ),
        ()
      )
  ) AS g
ORDER BY
  is_total DESC,
  abs(g.computed_units - g.compared_units) DESC NULLS LAST,
  g."session_id" NULLS FIRST,
  g."title" NULLS FIRST,
  g."project" NULLS FIRST,
  g."first_timestamp" NULLS FIRST
LIMIT
  $8;
