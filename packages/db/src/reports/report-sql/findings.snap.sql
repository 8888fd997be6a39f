WITH
  found AS MATERIALIZED (
    SELECT
      row_number() OVER () AS finding,
      each.*
    FROM
      (
        SELECT
          x.session_id,
          x.message_id,
          x.line_number,
          x."timestamp",
          x.tool_name AS tool,
          x.subject,
          x.times,
          x.output_bytes,
          x.tokens,
          x.pause_ms::float8 AS pause_ms,
          x.response_keys,
          x.cost_usd AS cost
        FROM
          recount.findings AS x
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
          AND s.session_id = x."session_id"
        WHERE
          x."workspace_id" = $2
          AND x."timestamp" >= $3::timestamptz
          AND x.kind = 'repeated-call'
      ) AS each
  ),
  repeat AS MATERIALIZED (
    SELECT DISTINCT
      finding,
      session_id,
      unnest(response_keys) AS response_key
    FROM
      found
  ),
  response_cost AS MATERIALIZED (
    SELECT
      r.session_id,
      r.response_key,
      l.agent,
      l.cost_usd
    FROM
      (
        SELECT DISTINCT
          session_id,
          response_key
        FROM
          repeat
      ) AS r
      JOIN LATERAL (
        SELECT
          s.agent
        FROM
          recount.sessions AS s
        WHERE
          s.workspace_id = $4
          AND s.session_id = r.session_id
        OFFSET
          0
      ) AS s ON true
      JOIN LATERAL (
        SELECT
          l.agent,
          l.cost_usd
        FROM
          recount.usage_ledger AS l
        WHERE
          l.workspace_id = $5
          AND l.agent = s.agent
          AND l.response_key = r.response_key
        OFFSET
          0
      ) AS l ON true
  ),
  repeat_cost AS (
    SELECT
      r.finding,
      sum(c.cost_usd) AS cost
    FROM
      repeat AS r
      JOIN response_cost AS c USING (session_id, response_key)
    GROUP BY
      1
  ),
  shown AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(found.cost, repeat_cost.cost)::float8 AS finding_cost
    FROM
      found
      LEFT JOIN repeat_cost USING (finding)
    ORDER BY
      finding_cost DESC NULLS LAST,
      tokens DESC,
      output_bytes DESC,
      session_id,
      line_number
    LIMIT
      $6
  )
SELECT
  NULL AS session_id,
  NULL AS title,
  NULL AS project,
  NULL::float8 AS at_ms,
  NULL AS message_id,
  NULL::float8 AS line_number,
  NULL AS tool,
  NULL AS subject,
  coalesce(sum(times), 0)::float8 AS times,
  coalesce(sum(output_bytes), 0)::float8 AS output_bytes,
  coalesce(sum(tokens), 0)::float8 AS tokens,
  NULL::float8 AS pause_ms,
  coalesce(
    sum(cost),
    (
      SELECT
        sum(cost_usd)
      FROM
        (
          SELECT DISTINCT
            agent,
            response_key,
            cost_usd
          FROM
            response_cost
        ) AS once
    )
  )::float8 AS cost,
  count(*)::float8 AS findings,
  count(DISTINCT session_id)::float8 AS sessions
FROM
  found
UNION ALL
(
  SELECT
    p.session_id,
    f.title,
    f.project,
    extract(
      epoch
      FROM
        p."timestamp"
    )::float8 * 1000,
    p.message_id,
    p.line_number,
    p.tool,
    p.subject,
    p.times,
    coalesce(p.output_bytes, 0)::float8 AS output_bytes,
    p.tokens::float8 AS tokens,
    p.pause_ms,
    p.finding_cost AS cost,
    1,
    1
  FROM
    shown AS p
    JOIN LATERAL (
      SELECT
        coalesce(f.title, left(f.initial_prompt, 80)) AS title,
        f.project
      FROM
        recount.sessions AS f
      WHERE
        f.workspace_id = $7
        AND f.session_id = p.session_id
      OFFSET
        0
    ) AS f ON true
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
);

WITH
  found AS MATERIALIZED (
    SELECT
      row_number() OVER () AS finding,
      each.*
    FROM
      (
        SELECT
          x.session_id,
          x.message_id,
          x.line_number,
          x."timestamp",
          x.tool_name AS tool,
          x.subject,
          x.times,
          x.output_bytes,
          x.tokens,
          x.pause_ms::float8 AS pause_ms,
          x.response_keys,
          x.cost_usd AS cost
        FROM
          recount.findings AS x
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
          AND s.session_id = x."session_id"
        WHERE
          x."workspace_id" = $2
          AND x."timestamp" >= $3::timestamptz
          AND x.kind = 'repeated-error'
      ) AS each
  ),
  repeat AS MATERIALIZED (
    SELECT DISTINCT
      finding,
      session_id,
      unnest(response_keys) AS response_key
    FROM
      found
  ),
  response_cost AS MATERIALIZED (
    SELECT
      r.session_id,
      r.response_key,
      l.agent,
      l.cost_usd
    FROM
      (
        SELECT DISTINCT
          session_id,
          response_key
        FROM
          repeat
      ) AS r
      JOIN LATERAL (
        SELECT
          s.agent
        FROM
          recount.sessions AS s
        WHERE
          s.workspace_id = $4
          AND s.session_id = r.session_id
        OFFSET
          0
      ) AS s ON true
      JOIN LATERAL (
        SELECT
          l.agent,
          l.cost_usd
        FROM
          recount.usage_ledger AS l
        WHERE
          l.workspace_id = $5
          AND l.agent = s.agent
          AND l.response_key = r.response_key
        OFFSET
          0
      ) AS l ON true
  ),
  repeat_cost AS (
    SELECT
      r.finding,
      sum(c.cost_usd) AS cost
    FROM
      repeat AS r
      JOIN response_cost AS c USING (session_id, response_key)
    GROUP BY
      1
  ),
  shown AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(found.cost, repeat_cost.cost)::float8 AS finding_cost
    FROM
      found
      LEFT JOIN repeat_cost USING (finding)
    ORDER BY
      finding_cost DESC NULLS LAST,
      tokens DESC,
      output_bytes DESC,
      session_id,
      line_number
    LIMIT
      $6
  )
SELECT
  NULL AS session_id,
  NULL AS title,
  NULL AS project,
  NULL::float8 AS at_ms,
  NULL AS message_id,
  NULL::float8 AS line_number,
  NULL AS tool,
  NULL AS subject,
  coalesce(sum(times), 0)::float8 AS times,
  coalesce(sum(output_bytes), 0)::float8 AS output_bytes,
  coalesce(sum(tokens), 0)::float8 AS tokens,
  NULL::float8 AS pause_ms,
  coalesce(
    sum(cost),
    (
      SELECT
        sum(cost_usd)
      FROM
        (
          SELECT DISTINCT
            agent,
            response_key,
            cost_usd
          FROM
            response_cost
        ) AS once
    )
  )::float8 AS cost,
  count(*)::float8 AS findings,
  count(DISTINCT session_id)::float8 AS sessions
FROM
  found
UNION ALL
(
  SELECT
    p.session_id,
    f.title,
    f.project,
    extract(
      epoch
      FROM
        p."timestamp"
    )::float8 * 1000,
    p.message_id,
    p.line_number,
    p.tool,
    p.subject,
    p.times,
    coalesce(p.output_bytes, 0)::float8 AS output_bytes,
    p.tokens::float8 AS tokens,
    p.pause_ms,
    p.finding_cost AS cost,
    1,
    1
  FROM
    shown AS p
    JOIN LATERAL (
      SELECT
        coalesce(f.title, left(f.initial_prompt, 80)) AS title,
        f.project
      FROM
        recount.sessions AS f
      WHERE
        f.workspace_id = $7
        AND f.session_id = p.session_id
      OFFSET
        0
    ) AS f ON true
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
);

WITH
  found AS MATERIALIZED (
    SELECT
      row_number() OVER () AS finding,
      each.*
    FROM
      (
        SELECT
          x.session_id,
          x.message_id,
          x.line_number,
          x."timestamp",
          x.tool_name AS tool,
          x.subject,
          x.times,
          x.output_bytes,
          x.tokens,
          x.pause_ms::float8 AS pause_ms,
          x.response_keys,
          x.cost_usd AS cost
        FROM
          recount.findings AS x
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
          AND s.session_id = x."session_id"
        WHERE
          x."workspace_id" = $2
          AND x."timestamp" >= $3::timestamptz
          AND x.kind = 'repeated-read'
      ) AS each
  ),
  repeat AS MATERIALIZED (
    SELECT DISTINCT
      finding,
      session_id,
      unnest(response_keys) AS response_key
    FROM
      found
  ),
  response_cost AS MATERIALIZED (
    SELECT
      r.session_id,
      r.response_key,
      l.agent,
      l.cost_usd
    FROM
      (
        SELECT DISTINCT
          session_id,
          response_key
        FROM
          repeat
      ) AS r
      JOIN LATERAL (
        SELECT
          s.agent
        FROM
          recount.sessions AS s
        WHERE
          s.workspace_id = $4
          AND s.session_id = r.session_id
        OFFSET
          0
      ) AS s ON true
      JOIN LATERAL (
        SELECT
          l.agent,
          l.cost_usd
        FROM
          recount.usage_ledger AS l
        WHERE
          l.workspace_id = $5
          AND l.agent = s.agent
          AND l.response_key = r.response_key
        OFFSET
          0
      ) AS l ON true
  ),
  repeat_cost AS (
    SELECT
      r.finding,
      sum(c.cost_usd) AS cost
    FROM
      repeat AS r
      JOIN response_cost AS c USING (session_id, response_key)
    GROUP BY
      1
  ),
  shown AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(found.cost, repeat_cost.cost)::float8 AS finding_cost
    FROM
      found
      LEFT JOIN repeat_cost USING (finding)
    ORDER BY
      finding_cost DESC NULLS LAST,
      tokens DESC,
      output_bytes DESC,
      session_id,
      line_number
    LIMIT
      $6
  )
SELECT
  NULL AS session_id,
  NULL AS title,
  NULL AS project,
  NULL::float8 AS at_ms,
  NULL AS message_id,
  NULL::float8 AS line_number,
  NULL AS tool,
  NULL AS subject,
  coalesce(sum(times), 0)::float8 AS times,
  coalesce(sum(output_bytes), 0)::float8 AS output_bytes,
  coalesce(sum(tokens), 0)::float8 AS tokens,
  NULL::float8 AS pause_ms,
  coalesce(
    sum(cost),
    (
      SELECT
        sum(cost_usd)
      FROM
        (
          SELECT DISTINCT
            agent,
            response_key,
            cost_usd
          FROM
            response_cost
        ) AS once
    )
  )::float8 AS cost,
  count(*)::float8 AS findings,
  count(DISTINCT session_id)::float8 AS sessions
FROM
  found
UNION ALL
(
  SELECT
    p.session_id,
    f.title,
    f.project,
    extract(
      epoch
      FROM
        p."timestamp"
    )::float8 * 1000,
    p.message_id,
    p.line_number,
    p.tool,
    p.subject,
    p.times,
    coalesce(p.output_bytes, 0)::float8 AS output_bytes,
    p.tokens::float8 AS tokens,
    p.pause_ms,
    p.finding_cost AS cost,
    1,
    1
  FROM
    shown AS p
    JOIN LATERAL (
      SELECT
        coalesce(f.title, left(f.initial_prompt, 80)) AS title,
        f.project
      FROM
        recount.sessions AS f
      WHERE
        f.workspace_id = $7
        AND f.session_id = p.session_id
      OFFSET
        0
    ) AS f ON true
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
);

WITH
  found AS MATERIALIZED (
    SELECT
      row_number() OVER () AS finding,
      each.*
    FROM
      (
        SELECT
          c.session_id,
          c.message_id,
          c.line_number,
          c."timestamp",
          c.tool_name AS tool,
          coalesce(c.file_path, c.program) AS subject,
          1 AS times,
          c.output_bytes,
          0 AS tokens,
          NULL::float8 AS pause_ms,
          NULL::text[] AS response_keys,
          NULL::numeric AS cost
        FROM
          recount.tool_calls AS c
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
          AND s.session_id = c."session_id"
        WHERE
          c."workspace_id" = $2
          AND c."timestamp" >= $3::timestamptz
          AND c.is_own
          AND c.output_bytes >= $4
          AND c.output_bytes >= 40000
      ) AS each
  ),
  repeat AS MATERIALIZED (
    SELECT DISTINCT
      finding,
      session_id,
      unnest(response_keys) AS response_key
    FROM
      found
  ),
  response_cost AS MATERIALIZED (
    SELECT
      r.session_id,
      r.response_key,
      l.agent,
      l.cost_usd
    FROM
      (
        SELECT DISTINCT
          session_id,
          response_key
        FROM
          repeat
      ) AS r
      JOIN LATERAL (
        SELECT
          s.agent
        FROM
          recount.sessions AS s
        WHERE
          s.workspace_id = $5
          AND s.session_id = r.session_id
        OFFSET
          0
      ) AS s ON true
      JOIN LATERAL (
        SELECT
          l.agent,
          l.cost_usd
        FROM
          recount.usage_ledger AS l
        WHERE
          l.workspace_id = $6
          AND l.agent = s.agent
          AND l.response_key = r.response_key
        OFFSET
          0
      ) AS l ON true
  ),
  repeat_cost AS (
    SELECT
      r.finding,
      sum(c.cost_usd) AS cost
    FROM
      repeat AS r
      JOIN response_cost AS c USING (session_id, response_key)
    GROUP BY
      1
  ),
  shown AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(found.cost, repeat_cost.cost)::float8 AS finding_cost
    FROM
      found
      LEFT JOIN repeat_cost USING (finding)
    ORDER BY
      finding_cost DESC NULLS LAST,
      tokens DESC,
      output_bytes DESC,
      session_id,
      line_number
    LIMIT
      $7
  )
SELECT
  NULL AS session_id,
  NULL AS title,
  NULL AS project,
  NULL::float8 AS at_ms,
  NULL AS message_id,
  NULL::float8 AS line_number,
  NULL AS tool,
  NULL AS subject,
  coalesce(sum(times), 0)::float8 AS times,
  coalesce(sum(output_bytes), 0)::float8 AS output_bytes,
  coalesce(sum(tokens), 0)::float8 AS tokens,
  NULL::float8 AS pause_ms,
  coalesce(
    sum(cost),
    (
      SELECT
        sum(cost_usd)
      FROM
        (
          SELECT DISTINCT
            agent,
            response_key,
            cost_usd
          FROM
            response_cost
        ) AS once
    )
  )::float8 AS cost,
  count(*)::float8 AS findings,
  count(DISTINCT session_id)::float8 AS sessions
FROM
  found
UNION ALL
(
  SELECT
    p.session_id,
    f.title,
    f.project,
    extract(
      epoch
      FROM
        p."timestamp"
    )::float8 * 1000,
    p.message_id,
    p.line_number,
    p.tool,
    p.subject,
    p.times,
    coalesce(p.output_bytes, 0)::float8 AS output_bytes,
    p.tokens::float8 AS tokens,
    p.pause_ms,
    p.finding_cost AS cost,
    1,
    1
  FROM
    shown AS p
    JOIN LATERAL (
      SELECT
        coalesce(f.title, left(f.initial_prompt, 80)) AS title,
        f.project
      FROM
        recount.sessions AS f
      WHERE
        f.workspace_id = $8
        AND f.session_id = p.session_id
      OFFSET
        0
    ) AS f ON true
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
);

WITH
  found AS MATERIALIZED (
    SELECT
      row_number() OVER () AS finding,
      each.*
    FROM
      (
        SELECT
          x.session_id,
          x.message_id,
          x.line_number,
          x."timestamp",
          x.tool_name AS tool,
          x.subject,
          x.times,
          x.output_bytes,
          x.tokens,
          x.pause_ms::float8 AS pause_ms,
          x.response_keys,
          x.cost_usd AS cost
        FROM
          recount.findings AS x
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
          AND s.session_id = x."session_id"
        WHERE
          x."workspace_id" = $2
          AND x."timestamp" >= $3::timestamptz
          AND x.kind = 'cold-cache'
      ) AS each
  ),
  repeat AS MATERIALIZED (
    SELECT DISTINCT
      finding,
      session_id,
      unnest(response_keys) AS response_key
    FROM
      found
  ),
  response_cost AS MATERIALIZED (
    SELECT
      r.session_id,
      r.response_key,
      l.agent,
      l.cost_usd
    FROM
      (
        SELECT DISTINCT
          session_id,
          response_key
        FROM
          repeat
      ) AS r
      JOIN LATERAL (
        SELECT
          s.agent
        FROM
          recount.sessions AS s
        WHERE
          s.workspace_id = $4
          AND s.session_id = r.session_id
        OFFSET
          0
      ) AS s ON true
      JOIN LATERAL (
        SELECT
          l.agent,
          l.cost_usd
        FROM
          recount.usage_ledger AS l
        WHERE
          l.workspace_id = $5
          AND l.agent = s.agent
          AND l.response_key = r.response_key
        OFFSET
          0
      ) AS l ON true
  ),
  repeat_cost AS (
    SELECT
      r.finding,
      sum(c.cost_usd) AS cost
    FROM
      repeat AS r
      JOIN response_cost AS c USING (session_id, response_key)
    GROUP BY
      1
  ),
  shown AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(found.cost, repeat_cost.cost)::float8 AS finding_cost
    FROM
      found
      LEFT JOIN repeat_cost USING (finding)
    ORDER BY
      finding_cost DESC NULLS LAST,
      tokens DESC,
      output_bytes DESC,
      session_id,
      line_number
    LIMIT
      $6
  )
SELECT
  NULL AS session_id,
  NULL AS title,
  NULL AS project,
  NULL::float8 AS at_ms,
  NULL AS message_id,
  NULL::float8 AS line_number,
  NULL AS tool,
  NULL AS subject,
  coalesce(sum(times), 0)::float8 AS times,
  coalesce(sum(output_bytes), 0)::float8 AS output_bytes,
  coalesce(sum(tokens), 0)::float8 AS tokens,
  NULL::float8 AS pause_ms,
  coalesce(
    sum(cost),
    (
      SELECT
        sum(cost_usd)
      FROM
        (
          SELECT DISTINCT
            agent,
            response_key,
            cost_usd
          FROM
            response_cost
        ) AS once
    )
  )::float8 AS cost,
  count(*)::float8 AS findings,
  count(DISTINCT session_id)::float8 AS sessions
FROM
  found
UNION ALL
(
  SELECT
    p.session_id,
    f.title,
    f.project,
    extract(
      epoch
      FROM
        p."timestamp"
    )::float8 * 1000,
    p.message_id,
    p.line_number,
    p.tool,
    p.subject,
    p.times,
    coalesce(p.output_bytes, 0)::float8 AS output_bytes,
    p.tokens::float8 AS tokens,
    p.pause_ms,
    p.finding_cost AS cost,
    1,
    1
  FROM
    shown AS p
    JOIN LATERAL (
      SELECT
        coalesce(f.title, left(f.initial_prompt, 80)) AS title,
        f.project
      FROM
        recount.sessions AS f
      WHERE
        f.workspace_id = $7
        AND f.session_id = p.session_id
      OFFSET
        0
    ) AS f ON true
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
);

WITH
  found AS MATERIALIZED (
    SELECT
      row_number() OVER () AS finding,
      each.*
    FROM
      (
        SELECT
          x.session_id,
          x.message_id,
          x.line_number,
          x."timestamp",
          x.tool_name AS tool,
          x.subject,
          x.times,
          x.output_bytes,
          x.tokens,
          x.pause_ms::float8 AS pause_ms,
          x.response_keys,
          x.cost_usd AS cost
        FROM
          recount.findings AS x
          JOIN LATERAL (
            SELECT
              *
            FROM
              recount.sessions
            WHERE
              workspace_id = $1
              AND session_id = x.session_id
            OFFSET
              0
          ) AS f ON true
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $2
          AND s.session_id = f."session_id"
        WHERE
          f."workspace_id" = $3
          AND f."first_timestamp" >= $4::timestamptz
          AND x.workspace_id = $5
          AND x.kind = 'unfinished-session'
          AND f.last_timestamp < $6::timestamptz - interval '1 hour'
      ) AS each
  ),
  repeat AS MATERIALIZED (
    SELECT DISTINCT
      finding,
      session_id,
      unnest(response_keys) AS response_key
    FROM
      found
  ),
  response_cost AS MATERIALIZED (
    SELECT
      r.session_id,
      r.response_key,
      l.agent,
      l.cost_usd
    FROM
      (
        SELECT DISTINCT
          session_id,
          response_key
        FROM
          repeat
      ) AS r
      JOIN LATERAL (
        SELECT
          s.agent
        FROM
          recount.sessions AS s
        WHERE
          s.workspace_id = $7
          AND s.session_id = r.session_id
        OFFSET
          0
      ) AS s ON true
      JOIN LATERAL (
        SELECT
          l.agent,
          l.cost_usd
        FROM
          recount.usage_ledger AS l
        WHERE
          l.workspace_id = $8
          AND l.agent = s.agent
          AND l.response_key = r.response_key
        OFFSET
          0
      ) AS l ON true
  ),
  repeat_cost AS (
    SELECT
      r.finding,
      sum(c.cost_usd) AS cost
    FROM
      repeat AS r
      JOIN response_cost AS c USING (session_id, response_key)
    GROUP BY
      1
  ),
  shown AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(found.cost, repeat_cost.cost)::float8 AS finding_cost
    FROM
      found
      LEFT JOIN repeat_cost USING (finding)
    ORDER BY
      finding_cost DESC NULLS LAST,
      tokens DESC,
      output_bytes DESC,
      session_id,
      line_number
    LIMIT
      $9
  )
SELECT
  NULL AS session_id,
  NULL AS title,
  NULL AS project,
  NULL::float8 AS at_ms,
  NULL AS message_id,
  NULL::float8 AS line_number,
  NULL AS tool,
  NULL AS subject,
  coalesce(sum(times), 0)::float8 AS times,
  coalesce(sum(output_bytes), 0)::float8 AS output_bytes,
  coalesce(sum(tokens), 0)::float8 AS tokens,
  NULL::float8 AS pause_ms,
  coalesce(
    sum(cost),
    (
      SELECT
        sum(cost_usd)
      FROM
        (
          SELECT DISTINCT
            agent,
            response_key,
            cost_usd
          FROM
            response_cost
        ) AS once
    )
  )::float8 AS cost,
  count(*)::float8 AS findings,
  count(DISTINCT session_id)::float8 AS sessions
FROM
  found
UNION ALL
(
  SELECT
    p.session_id,
    f.title,
    f.project,
    extract(
      epoch
      FROM
        p."timestamp"
    )::float8 * 1000,
    p.message_id,
    p.line_number,
    p.tool,
    p.subject,
    p.times,
    coalesce(p.output_bytes, 0)::float8 AS output_bytes,
    p.tokens::float8 AS tokens,
    p.pause_ms,
    p.finding_cost AS cost,
    1,
    1
  FROM
    shown AS p
    JOIN LATERAL (
      SELECT
        coalesce(f.title, left(f.initial_prompt, 80)) AS title,
        f.project
      FROM
        recount.sessions AS f
      WHERE
        f.workspace_id = $10
        AND f.session_id = p.session_id
      OFFSET
        0
    ) AS f ON true
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
);

WITH
  found AS MATERIALIZED (
    SELECT
      row_number() OVER () AS finding,
      each.*
    FROM
      (
        SELECT
          f.session_id,
          NULL::text AS message_id,
          NULL::int AS line_number,
          f.first_timestamp AS "timestamp",
          NULL::text AS tool,
          NULL::text AS subject,
          1 AS times,
          0 AS output_bytes,
          coalesce(own.tokens, 0) AS tokens,
          NULL::float8 AS pause_ms,
          NULL::text[] AS response_keys,
          own.cost
        FROM
          recount.sessions AS f
          LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
          AND s.session_id = f."session_id"
          JOIN (
            SELECT
              session_id
            FROM
              recount.usage_day_rollup
            WHERE
              workspace_id = $2
              AND NOT is_shared
            GROUP BY
              session_id
            HAVING
              sum(cost_units::float8) >= $3
          ) AS candidate ON candidate.session_id = f.session_id
          JOIN LATERAL (
            SELECT
              sum(
                u.tokens_in + u.tokens_out + u.cache_read + u.cache_write
              ) AS tokens,
              CASE
                WHEN sum(u.responses) > sum(u.unpriced_responses) THEN sum(u.cost_units) / 1e10
              END AS cost
            FROM
              recount.usage_day_rollup AS u
            WHERE
              u.workspace_id = (
                SELECT
                  $4::text
              )
              AND u.session_id = f.session_id
              AND NOT u.is_shared
            OFFSET
              0
          ) AS own ON own.cost >= $5
        WHERE
          f."workspace_id" = $6
          AND f."first_timestamp" >= $7::timestamptz
      ) AS each
  ),
  repeat AS MATERIALIZED (
    SELECT DISTINCT
      finding,
      session_id,
      unnest(response_keys) AS response_key
    FROM
      found
  ),
  response_cost AS MATERIALIZED (
    SELECT
      r.session_id,
      r.response_key,
      l.agent,
      l.cost_usd
    FROM
      (
        SELECT DISTINCT
          session_id,
          response_key
        FROM
          repeat
      ) AS r
      JOIN LATERAL (
        SELECT
          s.agent
        FROM
          recount.sessions AS s
        WHERE
          s.workspace_id = $8
          AND s.session_id = r.session_id
        OFFSET
          0
      ) AS s ON true
      JOIN LATERAL (
        SELECT
          l.agent,
          l.cost_usd
        FROM
          recount.usage_ledger AS l
        WHERE
          l.workspace_id = $9
          AND l.agent = s.agent
          AND l.response_key = r.response_key
        OFFSET
          0
      ) AS l ON true
  ),
  repeat_cost AS (
    SELECT
      r.finding,
      sum(c.cost_usd) AS cost
    FROM
      repeat AS r
      JOIN response_cost AS c USING (session_id, response_key)
    GROUP BY
      1
  ),
  shown AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(found.cost, repeat_cost.cost)::float8 AS finding_cost
    FROM
      found
      LEFT JOIN repeat_cost USING (finding)
    ORDER BY
      finding_cost DESC NULLS LAST,
      tokens DESC,
      output_bytes DESC,
      session_id,
      line_number
    LIMIT
      $10
  )
SELECT
  NULL AS session_id,
  NULL AS title,
  NULL AS project,
  NULL::float8 AS at_ms,
  NULL AS message_id,
  NULL::float8 AS line_number,
  NULL AS tool,
  NULL AS subject,
  coalesce(sum(times), 0)::float8 AS times,
  coalesce(sum(output_bytes), 0)::float8 AS output_bytes,
  coalesce(sum(tokens), 0)::float8 AS tokens,
  NULL::float8 AS pause_ms,
  coalesce(
    sum(cost),
    (
      SELECT
        sum(cost_usd)
      FROM
        (
          SELECT DISTINCT
            agent,
            response_key,
            cost_usd
          FROM
            response_cost
        ) AS once
    )
  )::float8 AS cost,
  count(*)::float8 AS findings,
  count(DISTINCT session_id)::float8 AS sessions
FROM
  found
UNION ALL
(
  SELECT
    p.session_id,
    f.title,
    f.project,
    extract(
      epoch
      FROM
        p."timestamp"
    )::float8 * 1000,
    p.message_id,
    p.line_number,
    p.tool,
    p.subject,
    p.times,
    coalesce(p.output_bytes, 0)::float8 AS output_bytes,
    p.tokens::float8 AS tokens,
    p.pause_ms,
    p.finding_cost AS cost,
    1,
    1
  FROM
    shown AS p
    JOIN LATERAL (
      SELECT
        coalesce(f.title, left(f.initial_prompt, 80)) AS title,
        f.project
      FROM
        recount.sessions AS f
      WHERE
        f.workspace_id = $11
        AND f.session_id = p.session_id
      OFFSET
        0
    ) AS f ON true
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
);
