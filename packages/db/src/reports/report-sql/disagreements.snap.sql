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

WITH
  disputed AS MATERIALIZED (
    SELECT
      workspace_id,
      agent,
      response_key,
      disagreements,
      coalesce(highest_cost_usd - lowest_cost_usd, 0) AS cost_range
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
      ) AS disputed
    ORDER BY
      cost_range DESC,
      agent,
      response_key
    LIMIT
      $5
  )
SELECT
  d.response_key AS response_id,
  d.disagreements,
  d.cost_range::float8 AS cost_range_usd,
  e.session_id,
  t.id AS transcript_id,
  e.line_number,
  t.uploader_key_id,
  row_number() OVER (
    PARTITION BY
      d.agent,
      d.response_key
    ORDER BY
      e.source = 'progress',
      t.is_stream,
      e."timestamp" NULLS LAST,
      e.is_marked_copy,
      e.is_subagent,
      t.first_timestamp NULLS LAST,
      e.session_id,
      t.size_bytes DESC,
      t.sha256,
      e.entry_number
  ) = 1 AS is_credited,
  row_number() OVER (
    PARTITION BY
      d.agent,
      d.response_key
    ORDER BY
      e.is_unfinalised,
      e.tokens_out DESC,
      e.tokens_in + e.cache_read + e.cache_write DESC,
      e.web_search_requests DESC,
      coalesce(e.model = 'unknown', false),
      e.cost_usd NULLS LAST,
      e.source = 'progress',
      t.is_stream,
      e."timestamp" NULLS LAST,
      e.is_marked_copy,
      e.is_subagent,
      t.first_timestamp NULLS LAST,
      e.session_id,
      t.size_bytes DESC,
      t.sha256,
      e.entry_number
  ) = 1 AS has_figures,
  e.model,
  to_char(
    e."timestamp" AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
  ) AS "timestamp",
  e.is_unfinalised,
  e.tokens_in::float8 AS tokens_in,
  e.tokens_out::float8 AS tokens_out,
  e.cache_read::float8 AS cache_read,
  e.cache_write::float8 AS cache_write,
  e.cost_usd::float8 AS cost_usd
FROM
  disputed AS d
  JOIN recount.usage_entries AS e ON e.workspace_id = (
    SELECT
      $6::text
  )
  AND e.agent = d.agent
  AND e.response_key = d.response_key
  JOIN recount.transcripts AS t ON t.workspace_id = (
    SELECT
      $7::text
  )
  AND t.row_set_id = e.row_set_id
ORDER BY
  d.cost_range DESC,
  d.agent,
  d.response_key,
  is_credited DESC,
  t.id,
  e.entry_number
LIMIT
  $8;
