WITH
call AS MATERIALIZED (
  SELECT
    c.session_id,
    c.row_set_id,
    c.is_subagent,
    c.message_id,
    c.line_number,
    c."timestamp",
    c.call_key,
    c.response_key,
    c.tool_name,
    c.tool_kind,
    c.file_path,
    c.program,
    c.input_bytes,
    c.output_bytes,
    c.is_error IS TRUE
    AND NOT c.is_denied AS is_failed,
    row_number() OVER (
      PARTITION BY
        c.row_set_id,
        c.is_subagent
      ORDER BY
        c.line_number,
        c.call_number
    ) AS place
  FROM
    recount.tool_calls AS c
    LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
    AND s.session_id = c."session_id"
  WHERE
    c."workspace_id" = $2
    AND c."timestamp" >= $3::timestamptz
    AND c.is_own
    AND true
),
alike AS MATERIALIZED (
  SELECT
    *
  FROM
    (
      SELECT
        *,
        count(*) OVER (
          PARTITION BY
            row_set_id,
            is_subagent,
            tool_name,
            input_bytes,
            file_path,
            program,
            alike_run
        ) AS alike_length
      FROM
        (
          SELECT
            *,
            place - row_number() OVER (
              PARTITION BY
                row_set_id,
                is_subagent,
                tool_name,
                input_bytes,
                file_path,
                program
              ORDER BY
                place
            ) AS alike_run
          FROM
          call
        ) AS numbered
    ) AS counted
  WHERE
    alike_length >= 3
),
input AS MATERIALIZED (
  SELECT
    c.*,
    b.input
  FROM
    alike AS c
    JOIN LATERAL (
      SELECT
        md5(b.tool_input::text) AS input
      FROM
        recount.content_blocks AS b
      WHERE
        b.workspace_id = (
          SELECT
            $4::text
        )
        AND b.row_set_id = c.row_set_id
        AND b.message_id = c.message_id
        AND b.tool_kind IS NOT NULL
        AND b.tool_use_id = split_part(c.call_key, '/', -1)
        AND b.metadata -> 'truncated' IS NULL
      LIMIT
        1
    ) AS b ON true
),
same AS MATERIALIZED (
  SELECT
    *
  FROM
    (
      SELECT
        *,
        count(*) OVER (
          PARTITION BY
            row_set_id,
            is_subagent,
            tool_name,
            input,
            same_run
        ) AS same_length
      FROM
        (
          SELECT
            *,
            place - row_number() OVER (
              PARTITION BY
                row_set_id,
                is_subagent,
                tool_name,
                input
              ORDER BY
                place
            ) AS same_run
          FROM
            input
        ) AS numbered
    ) AS counted
  WHERE
    same_length >= 3
),
found AS MATERIALIZED (
  SELECT
    session_id,
    (
      array_agg(
        message_id
        ORDER BY
          place
      )
    ) [1] AS message_id,
    min(line_number) AS line_number,
    min("timestamp") AS "timestamp",
    min(tool_name) AS tool,
    min(coalesce(file_path, program)) AS subject,
    count(*) AS times,
    sum(output_bytes) - coalesce(
      (
        array_agg(
          output_bytes
          ORDER BY
            place
        )
      ) [1],
      0
    ) AS output_bytes,
    0 AS tokens,
    NULL::float8 AS pause_ms,
    (
      array_agg(
        response_key
        ORDER BY
          place
      )
    ) [2:] AS response_keys,
    NULL::numeric AS cost
  FROM
    same
  GROUP BY
    session_id,
    row_set_id,
    is_subagent,
    tool_name,
    input,
    same_run
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
        unnest(response_keys) AS response_key
      FROM
        found
    ) AS r
    JOIN recount.sessions AS s ON s.workspace_id = $5
    AND s.session_id = r.session_id
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
priced AS MATERIALIZED (
  SELECT
    found.*,
    coalesce(
      cost,
      (
        SELECT
          sum(c.cost_usd)
        FROM
          response_cost AS c
        WHERE
          c.session_id = found.session_id
          AND c.response_key = ANY (found.response_keys)
      )
    ) AS finding_cost
  FROM
    found
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
    coalesce(f.title, left(f.initial_prompt, 80)),
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
    p.finding_cost::float8 AS cost,
    1,
    1
  FROM
    priced AS p
    JOIN recount.sessions AS f ON f.workspace_id = $7
    AND f.session_id = p.session_id
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
  LIMIT
    $8
);

WITH
call AS MATERIALIZED (
  SELECT
    c.session_id,
    c.row_set_id,
    c.is_subagent,
    c.message_id,
    c.line_number,
    c."timestamp",
    c.call_key,
    c.response_key,
    c.tool_name,
    c.tool_kind,
    c.file_path,
    c.program,
    c.input_bytes,
    c.output_bytes,
    c.is_error IS TRUE
    AND NOT c.is_denied AS is_failed,
    row_number() OVER (
      PARTITION BY
        c.row_set_id,
        c.is_subagent
      ORDER BY
        c.line_number,
        c.call_number
    ) AS place
  FROM
    recount.tool_calls AS c
    LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
    AND s.session_id = c."session_id"
  WHERE
    c."workspace_id" = $2
    AND c."timestamp" >= $3::timestamptz
    AND c.is_own
    AND true
),
alike AS MATERIALIZED (
  SELECT
    *
  FROM
    (
      SELECT
        *,
        count(*) OVER (
          PARTITION BY
            row_set_id,
            is_subagent,
            tool_name,
            is_failed,
            output_bytes,
            alike_run
        ) AS alike_length
      FROM
        (
          SELECT
            *,
            place - row_number() OVER (
              PARTITION BY
                row_set_id,
                is_subagent,
                tool_name,
                is_failed,
                output_bytes
              ORDER BY
                place
            ) AS alike_run
          FROM
          call
        ) AS numbered
    ) AS counted
  WHERE
    alike_length >= 3
),
result AS MATERIALIZED (
  SELECT
    t.row_set_id,
    b.tool_result_id,
    min(md5(b.result_text)) AS error
  FROM
    (
      SELECT
        row_set_id,
        array_agg(split_part(call_key, '/', -1)) AS ids
      FROM
        alike
      WHERE
        is_failed
      GROUP BY
        row_set_id
    ) AS t
    JOIN LATERAL (
      SELECT
        b.tool_result_id,
        b.result_text
      FROM
        recount.content_blocks AS b
      WHERE
        b.workspace_id = (
          SELECT
            $4::text
        )
        AND b.row_set_id = t.row_set_id
        AND b.tool_result_id = ANY (t.ids)
        AND b.result_text <> ''
      OFFSET
        0
    ) AS b ON true
  GROUP BY
    t.row_set_id,
    b.tool_result_id
),
failed AS (
  SELECT
    alike.*,
    result.error
  FROM
    alike
    JOIN result ON result.row_set_id = alike.row_set_id
    AND result.tool_result_id = split_part(alike.call_key, '/', -1)
  WHERE
    alike.is_failed
),
same AS MATERIALIZED (
  SELECT
    *
  FROM
    (
      SELECT
        *,
        count(*) OVER (
          PARTITION BY
            row_set_id,
            is_subagent,
            tool_name,
            error,
            same_run
        ) AS same_length
      FROM
        (
          SELECT
            *,
            place - row_number() OVER (
              PARTITION BY
                row_set_id,
                is_subagent,
                tool_name,
                error
              ORDER BY
                place
            ) AS same_run
          FROM
            failed
        ) AS numbered
    ) AS counted
  WHERE
    same_length >= 3
),
found AS MATERIALIZED (
  SELECT
    session_id,
    (
      array_agg(
        message_id
        ORDER BY
          place
      )
    ) [1] AS message_id,
    min(line_number) AS line_number,
    min("timestamp") AS "timestamp",
    min(tool_name) AS tool,
    min(coalesce(file_path, program)) AS subject,
    count(*) AS times,
    sum(output_bytes) - coalesce(
      (
        array_agg(
          output_bytes
          ORDER BY
            place
        )
      ) [1],
      0
    ) AS output_bytes,
    0 AS tokens,
    NULL::float8 AS pause_ms,
    (
      array_agg(
        response_key
        ORDER BY
          place
      )
    ) [2:] AS response_keys,
    NULL::numeric AS cost
  FROM
    same
  GROUP BY
    session_id,
    row_set_id,
    is_subagent,
    tool_name,
    error,
    same_run
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
        unnest(response_keys) AS response_key
      FROM
        found
    ) AS r
    JOIN recount.sessions AS s ON s.workspace_id = $5
    AND s.session_id = r.session_id
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
priced AS MATERIALIZED (
  SELECT
    found.*,
    coalesce(
      cost,
      (
        SELECT
          sum(c.cost_usd)
        FROM
          response_cost AS c
        WHERE
          c.session_id = found.session_id
          AND c.response_key = ANY (found.response_keys)
      )
    ) AS finding_cost
  FROM
    found
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
    coalesce(f.title, left(f.initial_prompt, 80)),
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
    p.finding_cost::float8 AS cost,
    1,
    1
  FROM
    priced AS p
    JOIN recount.sessions AS f ON f.workspace_id = $7
    AND f.session_id = p.session_id
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
  LIMIT
    $8
);

WITH
call AS MATERIALIZED (
  SELECT
    c.session_id,
    c.row_set_id,
    c.is_subagent,
    c.message_id,
    c.line_number,
    c."timestamp",
    c.call_key,
    c.response_key,
    c.tool_name,
    c.tool_kind,
    c.file_path,
    c.program,
    c.input_bytes,
    c.output_bytes,
    c.is_error IS TRUE
    AND NOT c.is_denied AS is_failed,
    row_number() OVER (
      PARTITION BY
        c.row_set_id,
        c.is_subagent
      ORDER BY
        c.line_number,
        c.call_number
    ) AS place
  FROM
    recount.tool_calls AS c
    LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
    AND s.session_id = c."session_id"
  WHERE
    c."workspace_id" = $2
    AND c."timestamp" >= $3::timestamptz
    AND c.is_own
    AND c.tool_kind IN ('read', 'edit')
    AND c.file_path IS NOT NULL
),
known AS (
  SELECT
    *,
    count(*) FILTER (
      WHERE
        tool_kind = 'edit'
        AND NOT is_failed
    ) OVER (
      PARTITION BY
        row_set_id,
        file_path
      ORDER BY
        line_number,
        place
    ) AS epoch
  FROM
  call
),
alike AS MATERIALIZED (
  SELECT
    *
  FROM
    (
      SELECT
        *,
        count(*) OVER (
          PARTITION BY
            row_set_id,
            file_path,
            epoch,
            input_bytes
        ) AS alike_count
      FROM
        known
      WHERE
        tool_kind = 'read'
        AND NOT is_failed
    ) AS counted
  WHERE
    alike_count >= 3
),
input AS MATERIALIZED (
  SELECT
    c.*,
    b.input
  FROM
    alike AS c
    JOIN LATERAL (
      SELECT
        md5(b.tool_input::text) AS input
      FROM
        recount.content_blocks AS b
      WHERE
        b.workspace_id = (
          SELECT
            $4::text
        )
        AND b.row_set_id = c.row_set_id
        AND b.message_id = c.message_id
        AND b.tool_kind IS NOT NULL
        AND b.tool_use_id = split_part(c.call_key, '/', -1)
        AND b.metadata -> 'truncated' IS NULL
      LIMIT
        1
    ) AS b ON true
),
same AS (
  SELECT
    *
  FROM
    (
      SELECT
        *,
        count(*) OVER (
          PARTITION BY
            row_set_id,
            file_path,
            epoch,
            input
        ) AS same_count
      FROM
        input
    ) AS counted
  WHERE
    same_count >= 3
),
found AS MATERIALIZED (
  SELECT
    session_id,
    (
      array_agg(
        message_id
        ORDER BY
          place
      )
    ) [1] AS message_id,
    min(line_number) AS line_number,
    min("timestamp") AS "timestamp",
    min(tool_name) AS tool,
    min(coalesce(file_path, program)) AS subject,
    count(*) AS times,
    sum(output_bytes) - coalesce(
      (
        array_agg(
          output_bytes
          ORDER BY
            place
        )
      ) [1],
      0
    ) AS output_bytes,
    0 AS tokens,
    NULL::float8 AS pause_ms,
    (
      array_agg(
        response_key
        ORDER BY
          place
      )
    ) [2:] AS response_keys,
    NULL::numeric AS cost
  FROM
    same
  GROUP BY
    session_id,
    row_set_id,
    file_path,
    epoch,
    input
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
        unnest(response_keys) AS response_key
      FROM
        found
    ) AS r
    JOIN recount.sessions AS s ON s.workspace_id = $5
    AND s.session_id = r.session_id
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
priced AS MATERIALIZED (
  SELECT
    found.*,
    coalesce(
      cost,
      (
        SELECT
          sum(c.cost_usd)
        FROM
          response_cost AS c
        WHERE
          c.session_id = found.session_id
          AND c.response_key = ANY (found.response_keys)
      )
    ) AS finding_cost
  FROM
    found
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
    coalesce(f.title, left(f.initial_prompt, 80)),
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
    p.finding_cost::float8 AS cost,
    1,
    1
  FROM
    priced AS p
    JOIN recount.sessions AS f ON f.workspace_id = $7
    AND f.session_id = p.session_id
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
  LIMIT
    $8
);

WITH
  found AS MATERIALIZED (
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
          unnest(response_keys) AS response_key
        FROM
          found
      ) AS r
      JOIN recount.sessions AS s ON s.workspace_id = $5
      AND s.session_id = r.session_id
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
  priced AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(
        cost,
        (
          SELECT
            sum(c.cost_usd)
          FROM
            response_cost AS c
          WHERE
            c.session_id = found.session_id
            AND c.response_key = ANY (found.response_keys)
        )
      ) AS finding_cost
    FROM
      found
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
    coalesce(f.title, left(f.initial_prompt, 80)),
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
    p.finding_cost::float8 AS cost,
    1,
    1
  FROM
    priced AS p
    JOIN recount.sessions AS f ON f.workspace_id = $7
    AND f.session_id = p.session_id
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
  LIMIT
    $8
);

WITH
  response AS (
    SELECT
      u.session_id,
      u.message_id,
      u.row_set_id,
      u.agent,
      u.response_key,
      u.model,
      u."timestamp",
      u.cache_write,
      u."timestamp" - lag(u."timestamp") OVER conversation AS pause,
      lag(u.model) OVER conversation AS model_before,
      greatest(
        u.cache_write_1h,
        lag(u.cache_write_1h) OVER conversation
      ) > 0 AS is_long,
      least(
        u.cache_write,
        lag(u.cache_read + u.cache_write) OVER conversation - u.cache_read
      ) AS tokens,
      u.cost_cache_write_usd / nullif(u.cache_write, 0) AS write_rate,
      coalesce(
        u.cost_cache_read_usd / nullif(u.cache_read, 0),
        lag(u.cost_cache_read_usd / nullif(u.cache_read, 0)) OVER conversation
      ) AS read_rate
    FROM
      recount.usage_ledger AS u
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
      AND s.session_id = u."session_id"
    WHERE
      u."workspace_id" = $2
      AND u."timestamp" >= $3::timestamptz
      AND u."timestamp" IS NOT NULL
    WINDOW
      conversation AS (
        PARTITION BY
          u.session_id,
          u.is_subagent,
          coalesce(u.agent_id, '')
        ORDER BY
          u."timestamp",
          u.response_key
      )
  ),
  found AS MATERIALIZED (
    SELECT
      session_id,
      message_id,
      (
        SELECT
          min(e.line_number)
        FROM
          recount.usage_entries AS e
        WHERE
          e.workspace_id = (
            SELECT
              $4::text
          )
          AND e.agent = response.agent
          AND e.response_key = response.response_key
          AND e.row_set_id = response.row_set_id
      ) AS line_number,
      "timestamp",
      NULL::text AS tool,
      model AS subject,
      1 AS times,
      0 AS output_bytes,
      tokens,
      extract(
        epoch
        FROM
          pause
      )::float8 * 1000 AS pause_ms,
      NULL::text[] AS response_keys,
      round(tokens * (write_rate - read_rate), 10) AS cost
    FROM
      response
    WHERE
      tokens > 0
      AND model = model_before
      AND pause > CASE
        WHEN is_long THEN interval '1 hour'
        ELSE interval '5 minutes'
      END
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
          unnest(response_keys) AS response_key
        FROM
          found
      ) AS r
      JOIN recount.sessions AS s ON s.workspace_id = $5
      AND s.session_id = r.session_id
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
  priced AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(
        cost,
        (
          SELECT
            sum(c.cost_usd)
          FROM
            response_cost AS c
          WHERE
            c.session_id = found.session_id
            AND c.response_key = ANY (found.response_keys)
        )
      ) AS finding_cost
    FROM
      found
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
    coalesce(f.title, left(f.initial_prompt, 80)),
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
    p.finding_cost::float8 AS cost,
    1,
    1
  FROM
    priced AS p
    JOIN recount.sessions AS f ON f.workspace_id = $7
    AND f.session_id = p.session_id
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
  LIMIT
    $8
);

WITH
  quiet AS (
    SELECT
      f.*,
      t.row_set_id
    FROM
      recount.sessions AS f
      LEFT JOIN recount.sessions AS s ON s.workspace_id = $1
      AND s.session_id = f."session_id"
      JOIN recount.transcripts AS t ON t.workspace_id = f.workspace_id
      AND t.id = f.primary_transcript_id
    WHERE
      f."workspace_id" = $2
      AND f."first_timestamp" >= $3::timestamptz
      AND NOT f.is_subagent
      AND f.last_timestamp < $4::timestamptz - interval '1 hour'
  ),
  last AS (
    SELECT
      row_set_id,
      'call' AS what,
      max(c.line_number) AS line_number
    FROM
      quiet
      JOIN recount.tool_calls AS c USING (workspace_id, row_set_id)
    WHERE
      c.workspace_id = (
        SELECT
          $5::text
      )
      AND c.is_error IS NULL
      AND c.output_bytes IS NULL
      AND NOT c.is_denied
      AND NOT c.is_subagent
    GROUP BY
      row_set_id
    UNION ALL
    SELECT
      row_set_id,
      'prompt',
      max(e.line_number)
    FROM
      quiet
      JOIN recount.session_events AS e USING (workspace_id, row_set_id)
    WHERE
      e.workspace_id = (
        SELECT
          $6::text
      )
      AND quiet.prompt_count > quiet.turn_count
      AND e.kind = 'prompt'
      AND NOT e.is_subagent
    GROUP BY
      row_set_id
  ),
  found AS MATERIALIZED (
    SELECT
      f.session_id,
      c.message_id,
      last.line_number,
      coalesce(c."timestamp", f.last_timestamp) AS "timestamp",
      c.tool_name AS tool,
      coalesce(c.file_path, c.program) AS subject,
      1 AS times,
      0 AS output_bytes,
      coalesce(own.tokens, 0) AS tokens,
      NULL::float8 AS pause_ms,
      NULL::text[] AS response_keys,
      own.cost
    FROM
      quiet AS f
      JOIN last USING (row_set_id)
      LEFT JOIN LATERAL (
        SELECT
          c.*
        FROM
          recount.tool_calls AS c
        WHERE
          c.workspace_id = (
            SELECT
              $7::text
          )
          AND c.row_set_id = f.row_set_id
          AND c.line_number = last.line_number
          AND last.what = 'call'
        ORDER BY
          c.call_number
        LIMIT
          1
      ) AS c ON true
      LEFT JOIN LATERAL (
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
              $8::text
          )
          AND u.session_id = f.session_id
          AND NOT u.is_shared
        OFFSET
          0
      ) AS own ON true
    WHERE
      NOT EXISTS (
        SELECT
          1
        FROM
          recount.usage_entries AS e
        WHERE
          e.workspace_id = (
            SELECT
              $9::text
          )
          AND e.row_set_id = f.row_set_id
          AND e.line_number > last.line_number
          AND NOT e.is_subagent
      )
      AND NOT EXISTS (
        SELECT
          1
        FROM
          recount.session_events AS e
        WHERE
          e.workspace_id = (
            SELECT
              $10::text
          )
          AND e.row_set_id = f.row_set_id
          AND e.line_number > last.line_number
          AND e.kind = 'prompt'
      )
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
          unnest(response_keys) AS response_key
        FROM
          found
      ) AS r
      JOIN recount.sessions AS s ON s.workspace_id = $11
      AND s.session_id = r.session_id
      JOIN LATERAL (
        SELECT
          l.agent,
          l.cost_usd
        FROM
          recount.usage_ledger AS l
        WHERE
          l.workspace_id = $12
          AND l.agent = s.agent
          AND l.response_key = r.response_key
        OFFSET
          0
      ) AS l ON true
  ),
  priced AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(
        cost,
        (
          SELECT
            sum(c.cost_usd)
          FROM
            response_cost AS c
          WHERE
            c.session_id = found.session_id
            AND c.response_key = ANY (found.response_keys)
        )
      ) AS finding_cost
    FROM
      found
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
    coalesce(f.title, left(f.initial_prompt, 80)),
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
    p.finding_cost::float8 AS cost,
    1,
    1
  FROM
    priced AS p
    JOIN recount.sessions AS f ON f.workspace_id = $13
    AND f.session_id = p.session_id
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
  LIMIT
    $14
);

WITH
  found AS MATERIALIZED (
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
      LEFT JOIN LATERAL (
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
              $2::text
          )
          AND u.session_id = f.session_id
          AND NOT u.is_shared
        OFFSET
          0
      ) AS own ON true
    WHERE
      f."workspace_id" = $3
      AND f."first_timestamp" >= $4::timestamptz
      AND own.cost >= $5
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
          unnest(response_keys) AS response_key
        FROM
          found
      ) AS r
      JOIN recount.sessions AS s ON s.workspace_id = $6
      AND s.session_id = r.session_id
      JOIN LATERAL (
        SELECT
          l.agent,
          l.cost_usd
        FROM
          recount.usage_ledger AS l
        WHERE
          l.workspace_id = $7
          AND l.agent = s.agent
          AND l.response_key = r.response_key
        OFFSET
          0
      ) AS l ON true
  ),
  priced AS MATERIALIZED (
    SELECT
      found.*,
      coalesce(
        cost,
        (
          SELECT
            sum(c.cost_usd)
          FROM
            response_cost AS c
          WHERE
            c.session_id = found.session_id
            AND c.response_key = ANY (found.response_keys)
        )
      ) AS finding_cost
    FROM
      found
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
    coalesce(f.title, left(f.initial_prompt, 80)),
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
    p.finding_cost::float8 AS cost,
    1,
    1
  FROM
    priced AS p
    JOIN recount.sessions AS f ON f.workspace_id = $8
    AND f.session_id = p.session_id
  ORDER BY
    cost DESC NULLS LAST,
    tokens DESC,
    output_bytes DESC,
    p.session_id,
    p.line_number
  LIMIT
    $9
);
