import { type SQL, sql } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import { SESSION_SOURCE } from './read-sessions-report.ts';
import { joinSessions, type ReportFilter, toConditions, toReportSource } from './report-filter.ts';
import { TOOL_CALL_SOURCE } from './tool-call-figures.ts';

/** From how many on the same call, error or read is a finding. */
const MIN_REPEATS = 3;
/** What the vendors keep in their caches: a response that wrote for an hour says so. */
const CACHE_LIFETIME = sql.raw("interval '5 minutes'");
const LONG_CACHE_LIFETIME = sql.raw("interval '1 hour'");
/** What has been quiet for less may still be at work. */
const RUNNING_TIME = sql.raw("interval '1 hour'");

export interface FindingThresholds {
  minResultBytes: number;
  minSessionCostUsd: number;
  /** Milliseconds since 1970. */
  nowMs: number;
}

/** Queries for a WITH, the last of which, `found`, has a row for each finding of a kind: see `readFindingsReport`. */
type FindingQueries = (filter: ReportFilter, thresholds: FindingThresholds) => SQL;

/** Calls that count, numbered within their transcript as they were made: they are stored as their results came. */
const callQuery = (filter: ReportFilter, condition = sql`true`): SQL => sql`
  call AS MATERIALIZED (
    SELECT c.session_id, c.row_set_id, c.is_subagent, c.message_id, c.line_number, c."timestamp", c.call_key, c.response_key,
      c.tool_name, c.tool_kind, c.file_path, c.program, c.input_bytes, c.output_bytes,
      c.is_error IS TRUE AND NOT c.is_denied AS is_failed,
      row_number() OVER (PARTITION BY c.row_set_id, c.is_subagent ORDER BY c.line_number, c.call_number) AS place
    FROM recount.tool_calls AS c ${joinSessions(TOOL_CALL_SOURCE, filter)}
    WHERE ${toConditions(filter, TOOL_CALL_SOURCE)} AND c.is_own AND ${condition}
  )`;

/** Rows of `from` that stand next to each other in a run with the same `columns`; the run is numbered as `<name>_run`. */
const runQuery = (name: string, from: string, columns: string): SQL => {
  const series = `row_set_id, is_subagent, ${columns}`;
  return sql.raw(`
  ${name} AS MATERIALIZED (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY ${series}, ${name}_run) AS ${name}_length
      FROM (SELECT *, place - row_number() OVER (PARTITION BY ${series} ORDER BY place) AS ${name}_run FROM ${from}) AS numbered
    ) AS counted WHERE ${name}_length >= ${MIN_REPEATS}
  )`);
};

/** The calls of `alike` with a hash of their input; those whose texts were cut or deleted are left out. */
const inputQuery = ({ workspaceId }: ReportFilter): SQL => sql`
  input AS MATERIALIZED (
    SELECT c.*, b.input FROM alike AS c JOIN LATERAL (
      SELECT md5(b.tool_input::text) AS input FROM recount.content_blocks AS b
      WHERE b.workspace_id = ${toHiddenWorkspace(workspaceId)} AND b.row_set_id = c.row_set_id AND b.message_id = c.message_id
        AND b.tool_kind IS NOT NULL AND b.tool_use_id = split_part(c.call_key, '/', -1) AND b.metadata -> 'truncated' IS NULL
      LIMIT 1
    ) AS b ON true
  )`;

/** A finding for each group of `from`; what follows its first call is the repeat. */
const repeatedQuery = (from: string, group: string): SQL =>
  sql.raw(`
  found AS MATERIALIZED (
    SELECT session_id, (array_agg(message_id ORDER BY place))[1] AS message_id, min(line_number) AS line_number,
      min("timestamp") AS "timestamp", min(tool_name) AS tool, min(coalesce(file_path, program)) AS subject, count(*) AS times,
      sum(output_bytes) - coalesce((array_agg(output_bytes ORDER BY place))[1], 0) AS output_bytes, 0 AS tokens,
      NULL::float8 AS pause_ms, (array_agg(response_key ORDER BY place))[2:] AS response_keys, NULL::numeric AS cost
    FROM ${from} GROUP BY session_id, row_set_id, ${group}
  )`);

const repeatedCalls: FindingQueries = (filter) => sql`
  ${callQuery(filter)},
  ${runQuery('alike', 'call', 'tool_name, input_bytes, file_path, program')},
  ${inputQuery(filter)},
  ${runQuery('same', 'input', 'tool_name, input')},
  ${repeatedQuery('same', 'is_subagent, tool_name, input, same_run')}`;

/** The texts of results have no index: they are looked up a transcript at a time. */
const repeatedErrors: FindingQueries = (filter) => sql`
  ${callQuery(filter)},
  ${runQuery('alike', 'call', 'tool_name, is_failed, output_bytes')},
  result AS MATERIALIZED (
    SELECT t.row_set_id, b.tool_result_id, min(md5(b.result_text)) AS error
    FROM (
      SELECT row_set_id, array_agg(split_part(call_key, '/', -1)) AS ids FROM alike WHERE is_failed GROUP BY row_set_id
    ) AS t JOIN LATERAL (
      SELECT b.tool_result_id, b.result_text FROM recount.content_blocks AS b
      WHERE b.workspace_id = ${toHiddenWorkspace(filter.workspaceId)} AND b.row_set_id = t.row_set_id
        AND b.tool_result_id = ANY(t.ids) AND b.result_text <> ''
      OFFSET 0
    ) AS b ON true
    GROUP BY t.row_set_id, b.tool_result_id
  ), failed AS (
    SELECT alike.*, result.error FROM alike JOIN result
      ON result.row_set_id = alike.row_set_id AND result.tool_result_id = split_part(alike.call_key, '/', -1)
    WHERE alike.is_failed
  ),
  ${runQuery('same', 'failed', 'tool_name, error')},
  ${repeatedQuery('same', 'is_subagent, tool_name, error, same_run')}`;

/** `epoch` grows with each edit of the file: what is read after one is no repeat. */
const repeatedReads: FindingQueries = (filter) => sql`
  ${callQuery(filter, sql`c.tool_kind IN ('read', 'edit') AND c.file_path IS NOT NULL`)},
  known AS (
    SELECT *, count(*) FILTER (WHERE tool_kind = 'edit' AND NOT is_failed) OVER (
      PARTITION BY row_set_id, file_path ORDER BY line_number, place) AS epoch
    FROM call
  ), alike AS MATERIALIZED (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, file_path, epoch, input_bytes) AS alike_count
      FROM known WHERE tool_kind = 'read' AND NOT is_failed
    ) AS counted WHERE alike_count >= ${sql.raw(String(MIN_REPEATS))}
  ),
  ${inputQuery(filter)},
  same AS (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, file_path, epoch, input) AS same_count FROM input
    ) AS counted WHERE same_count >= ${sql.raw(String(MIN_REPEATS))}
  ),
  ${repeatedQuery('same', 'file_path, epoch, input')}`;

const largeResults: FindingQueries = (filter, { minResultBytes }) => sql`
  found AS MATERIALIZED (
    SELECT c.session_id, c.message_id, c.line_number, c."timestamp", c.tool_name AS tool,
      coalesce(c.file_path, c.program) AS subject, 1 AS times, c.output_bytes, 0 AS tokens, NULL::float8 AS pause_ms,
      NULL::text[] AS response_keys, NULL::numeric AS cost
    FROM recount.tool_calls AS c ${joinSessions(TOOL_CALL_SOURCE, filter)}
    WHERE ${toConditions(filter, TOOL_CALL_SOURCE)} AND c.is_own AND c.output_bytes >= ${minResultBytes}
  )`;

const RESPONSE_SOURCE = toReportSource('u', { time: 'timestamp', own: ['git_branch', 'agent_version', 'model'] });

/**
 * Responses after a pause longer than the cache lives, of the same model as the one before. What was in the cache before, and
 * was not read, was written again, as far as this one wrote.
 */
const coldCaches: FindingQueries = (filter) => sql`
  response AS (
    SELECT u.session_id, u.message_id, u.row_set_id, u.agent, u.response_key, u.model, u."timestamp", u.cache_write,
      u."timestamp" - lag(u."timestamp") OVER conversation AS pause,
      lag(u.model) OVER conversation AS model_before,
      greatest(u.cache_write_1h, lag(u.cache_write_1h) OVER conversation) > 0 AS is_long,
      least(u.cache_write, lag(u.cache_read + u.cache_write) OVER conversation - u.cache_read) AS tokens,
      u.cost_cache_write_usd / nullif(u.cache_write, 0) AS write_rate,
      coalesce(u.cost_cache_read_usd / nullif(u.cache_read, 0),
        lag(u.cost_cache_read_usd / nullif(u.cache_read, 0)) OVER conversation) AS read_rate
    FROM recount.usage_ledger AS u ${joinSessions(RESPONSE_SOURCE, filter)}
    WHERE ${toConditions(filter, RESPONSE_SOURCE)} AND u."timestamp" IS NOT NULL
    WINDOW conversation AS (
      PARTITION BY u.session_id, u.is_subagent, coalesce(u.agent_id, '') ORDER BY u."timestamp", u.response_key)
  ), found AS MATERIALIZED (
    SELECT session_id, message_id, (
        SELECT min(e.line_number) FROM recount.usage_entries AS e
        WHERE e.workspace_id = ${toHiddenWorkspace(filter.workspaceId)} AND e.agent = response.agent
          AND e.response_key = response.response_key AND e.row_set_id = response.row_set_id
      ) AS line_number, "timestamp", NULL::text AS tool, model AS subject, 1 AS times, 0 AS output_bytes, tokens,
      extract(epoch FROM pause)::float8 * 1000 AS pause_ms, NULL::text[] AS response_keys,
      round(tokens * (write_rate - read_rate), 10) AS cost
    FROM response
    WHERE tokens > 0 AND model = model_before AND pause > CASE WHEN is_long THEN ${LONG_CACHE_LIFETIME} ELSE ${CACHE_LIFETIME} END
  )`;

/** Own usage of sessions; null cost where none has a price. */
const ownUsage = ({ workspaceId }: ReportFilter): SQL => sql`
  LEFT JOIN LATERAL (
    SELECT sum(u.tokens_in + u.tokens_out + u.cache_read + u.cache_write) AS tokens,
      CASE WHEN sum(u.responses) > sum(u.unpriced_responses) THEN sum(u.cost_units) / 1e10 END AS cost
    FROM recount.usage_day_rollup AS u
    WHERE u.workspace_id = ${toHiddenWorkspace(workspaceId)} AND u.session_id = f.session_id AND NOT u.is_shared
    OFFSET 0
  ) AS own ON true`;

const WHOLE_SESSION =
  sql.raw(`1 AS times, 0 AS output_bytes, coalesce(own.tokens, 0) AS tokens, NULL::float8 AS pause_ms,
      NULL::text[] AS response_keys, own.cost`);

/** A call or a prompt after which the transcript has neither a result, nor a response, nor a prompt. */
const unfinishedSessions: FindingQueries = (filter, { nowMs }) => sql`
  quiet AS (
    SELECT f.*, t.row_set_id FROM recount.sessions AS f ${joinSessions(SESSION_SOURCE, filter)}
    JOIN recount.transcripts AS t ON t.workspace_id = f.workspace_id AND t.id = f.primary_transcript_id
    WHERE ${toConditions(filter, SESSION_SOURCE)} AND NOT f.is_subagent
      AND f.last_timestamp < ${new Date(nowMs).toISOString()}::timestamptz - ${RUNNING_TIME}
  ), last AS (
    SELECT row_set_id, 'call' AS what, max(c.line_number) AS line_number FROM quiet
    JOIN recount.tool_calls AS c USING (workspace_id, row_set_id)
    WHERE c.workspace_id = ${toHiddenWorkspace(filter.workspaceId)} AND c.is_error IS NULL AND c.output_bytes IS NULL AND NOT c.is_denied AND NOT c.is_subagent GROUP BY row_set_id
    UNION ALL
    SELECT row_set_id, 'prompt', max(e.line_number) FROM quiet JOIN recount.session_events AS e USING (workspace_id, row_set_id)
    WHERE e.workspace_id = ${toHiddenWorkspace(filter.workspaceId)} AND quiet.prompt_count > quiet.turn_count AND e.kind = 'prompt' AND NOT e.is_subagent GROUP BY row_set_id
  ), found AS MATERIALIZED (
    SELECT f.session_id, c.message_id, last.line_number, coalesce(c."timestamp", f.last_timestamp) AS "timestamp",
      c.tool_name AS tool, coalesce(c.file_path, c.program) AS subject, ${WHOLE_SESSION}
    FROM quiet AS f JOIN last USING (row_set_id)
    LEFT JOIN LATERAL (
      SELECT c.* FROM recount.tool_calls AS c
      WHERE c.workspace_id = ${toHiddenWorkspace(filter.workspaceId)} AND c.row_set_id = f.row_set_id
        AND c.line_number = last.line_number AND last.what = 'call'
      ORDER BY c.call_number LIMIT 1
    ) AS c ON true
    ${ownUsage(filter)}
    WHERE NOT EXISTS (
      SELECT 1 FROM recount.usage_entries AS e
      WHERE e.workspace_id = ${toHiddenWorkspace(filter.workspaceId)} AND e.row_set_id = f.row_set_id
        AND e.line_number > last.line_number AND NOT e.is_subagent
    ) AND NOT EXISTS (
      SELECT 1 FROM recount.session_events AS e
      WHERE e.workspace_id = ${toHiddenWorkspace(filter.workspaceId)} AND e.row_set_id = f.row_set_id
        AND e.line_number > last.line_number AND e.kind = 'prompt'
    )
  )`;

const expensiveSessions: FindingQueries = (filter, { minSessionCostUsd }) => sql`
  found AS MATERIALIZED (
    SELECT f.session_id, NULL::text AS message_id, NULL::int AS line_number, f.first_timestamp AS "timestamp",
      NULL::text AS tool, NULL::text AS subject, ${WHOLE_SESSION}
    FROM recount.sessions AS f ${joinSessions(SESSION_SOURCE, filter)} ${ownUsage(filter)}
    WHERE ${toConditions(filter, SESSION_SOURCE)} AND own.cost >= ${minSessionCostUsd}
  )`;

export const FINDING_QUERIES = {
  'repeated-call': repeatedCalls,
  'repeated-error': repeatedErrors,
  'repeated-read': repeatedReads,
  'large-result': largeResults,
  'cold-cache': coldCaches,
  'unfinished-session': unfinishedSessions,
  'expensive-session': expensiveSessions,
} satisfies Readonly<Record<string, FindingQueries>>;

export type FindingKind = keyof typeof FINDING_QUERIES;
