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
  usage AS (
    SELECT
      u.model,
      sum(u.unfinalised_responses) AS unfinalised_responses,
      sum(u.unfinalised_tokens_out) AS unfinalised_tokens_out,
      sum(u.estimated_tokens_out) AS estimated_tokens_out,
      sum(u.unpriced_responses) AS unpriced_responses,
      sum(u.unpriced_tokens) AS unpriced_tokens,
      sum(u.default_priced_responses) AS default_priced_responses
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
                      unnest($13::timestamptz[]) AS start
                  ) AS day
                  CROSS JOIN LATERAL (
                    SELECT
                      *
                    FROM
                      "recount"."usage_day_rollup" AS t
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
              parted_stale_u
          ) AS stale_u
      ) AS u
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $19
      AND s.session_id = u."session_id"
    WHERE
      u."workspace_id" = $20
      AND u."bucket_start" >= $21::timestamptz
      AND NOT u.is_shared
    GROUP BY
      u.model
  )
SELECT
  coalesce(sum(unfinalised_responses), 0)::float8 AS unfinalised_responses,
  coalesce(sum(unfinalised_tokens_out), 0)::float8 AS unfinalised_tokens_out,
  coalesce(sum(estimated_tokens_out), 0)::float8 AS estimated_tokens_out,
  coalesce(sum(unpriced_responses), 0)::float8 AS unpriced_responses,
  coalesce(sum(unpriced_tokens), 0)::float8 AS unpriced_tokens,
  coalesce(sum(default_priced_responses), 0)::float8 AS default_priced_responses,
  ARRAY(
    SELECT
      model
    FROM
      usage
    WHERE
      unpriced_responses > 0
      AND model IS NOT NULL
    ORDER BY
      unpriced_tokens DESC,
      model
    LIMIT
      $22
  ) AS models,
  (
    SELECT
      coalesce(sum(u.responses), 0)::float8
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
          d.workspace_id = $23
      ) AS u
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $24
      AND s.session_id = u."session_id"
    WHERE
      u."workspace_id" = $25
      AND NOT u.is_shared
      AND u.bucket_start IS NULL
  ) AS without_timestamp
FROM
  usage;

SELECT
  count(*) FILTER (
    WHERE
      f.tokens_in IS NULL
      AND NOT EXISTS (
        SELECT
        FROM
          "recount"."sessions" AS child
        WHERE
          child.workspace_id = $1
          AND child.parent_session_id = f.session_id
          AND child.api_response_count > 0
      )
  )::float8 AS without_usage,
  count(*) FILTER (
    WHERE
      f.output_only_count > 0
  )::float8 AS output_only
FROM
  "recount"."sessions" AS f
  LEFT JOIN recount.sessions AS s ON s.workspace_id = $2
  AND s.session_id = f."session_id"
WHERE
  f."workspace_id" = $3
  AND f."first_timestamp" >= $4::timestamptz
  AND (
    f.tokens_in IS NULL
    OR f.output_only_count > 0
  );

SELECT
  count(*)::float8 AS responses,
  coalesce(sum(cost_usd), 0)::float8 AS cost_usd,
  coalesce(sum(lowest_cost_usd), 0)::float8 AS lowest_cost_usd,
  coalesce(sum(highest_cost_usd), 0)::float8 AS highest_cost_usd
FROM
  (
    SELECT
      l.*
    FROM
      recount.usage_ledger AS l
    WHERE
      l.workspace_id = $1
      AND l.disagreements IS NOT NULL
      AND EXISTS (
        SELECT
        FROM
          recount.usage_entries AS e
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $2
          AND s.session_id = e."session_id"
        WHERE
          e.agent = l.agent
          AND e.response_key = l.response_key
          AND e."workspace_id" = $3
          AND e."timestamp" >= $4::timestamptz
      )
  ) AS disputed;
