import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { contentBlocks } from '../schema/messages.ts';
import { toolCalls } from '../schema/usage.ts';
import { type FindingScope, isInScope } from './finding-scope.ts';

/** Number of equal calls, errors or reads that makes a finding. */
const MIN_REPEATS = sql.raw('3');

/**
 * The sessions that may have repeats, judged by the calls alone, without their texts. Few do, and for a session without
 * any, this is faster than planning and starting all of `repeatQueries`.
 */
export const selectSessionsWithRepeats = (scope: FindingScope): SQL => sql`
  WITH ${callQuery(scope)}
  SELECT DISTINCT session_id FROM (
    SELECT session_id, may_repeat OR may_fail_again OR tool_kind = 'read' AND NOT is_failed AND file_path IS NOT NULL
      AND count(*) OVER (PARTITION BY row_set_id, file_path, input_bytes, tool_kind, is_failed) >= ${MIN_REPEATS} AS may_be_found
    FROM call
  ) AS c WHERE may_be_found`;

/**
 * Columns that are equal in a run of calls or errors, before their texts are compared. Neighbours are compared by them.
 */
const CALL_COLUMNS = 'tool_name, input_bytes, file_path, program';
const ERROR_COLUMNS = 'tool_name, output_bytes';

/**
 * Queries for a WITH. The last three, `repeated_call`, `repeated_error` and `repeated_read`, have one row per finding.
 * Inputs and results are read only of calls that resemble their neighbours, which are few.
 */
export const repeatQueries = (scope: FindingScope): SQL => sql`
  ${callQuery(scope)},
  ${runQuery('alike_call', sql`(SELECT * FROM call WHERE may_repeat)`, CALL_COLUMNS)},
  ${inputQuery('call_input', 'alike_call', scope)},
  ${runQuery('same_call', sql`call_input`, `${CALL_COLUMNS}, input`)},
  ${findingQuery('repeated_call', 'same_call', `is_subagent, ${CALL_COLUMNS}, input, same_call_run`)},
  ${runQuery('alike_error', sql`(SELECT * FROM call WHERE may_fail_again)`, `${ERROR_COLUMNS}, is_failed`)},
  ${errorQuery(scope)},
  ${runQuery('same_error', sql`failed`, `${ERROR_COLUMNS}, error`)},
  ${findingQuery('repeated_error', 'same_error', `is_subagent, ${ERROR_COLUMNS}, error, same_error_run`)},
  ${readQuery(scope)},
  ${findingQuery('repeated_read', 'same_read', 'file_path, epoch, input')}`;

/** Condition on a call `c`. A denied call did not run. */
const IS_CALL_FAILED = sql.raw('(c.is_error IS TRUE AND NOT c.is_denied)');

/** Conditions on a call `c`, in a window `conversation` that may equal the previous call, or fail in the same way. */
const IS_CALL_REPEATED = sql.raw(`(c.tool_name = lag(c.tool_name) OVER conversation
        AND c.input_bytes = lag(c.input_bytes) OVER conversation
        AND c.file_path IS NOT DISTINCT FROM lag(c.file_path) OVER conversation
        AND c.program IS NOT DISTINCT FROM lag(c.program) OVER conversation)`);
const IS_ERROR_REPEATED = sql.raw(`(c.is_error IS TRUE AND NOT c.is_denied
        AND lag(c.is_error IS TRUE AND NOT c.is_denied) OVER conversation
        AND c.tool_name = lag(c.tool_name) OVER conversation
        AND c.output_bytes IS NOT DISTINCT FROM lag(c.output_bytes) OVER conversation)`);

/**
 * Calls that count, numbered within their transcript in the order of their start (they are stored in the order of their
 * results). Their neighbours show which may be part of a run of three.
 */
const callQuery = (scope: FindingScope): SQL => sql`
  compared AS (
    SELECT c.session_id, c.row_set_id, c.call_number, c.is_subagent, c.message_id, c.line_number, c."timestamp", c.call_key,
      c.response_key, c.model, c.tool_name, c.tool_kind, c.file_path, c.program, c.input_bytes, c.output_bytes,
      ${IS_CALL_FAILED} AS is_failed,
      row_number() OVER conversation AS place,
      ${IS_CALL_REPEATED} AS repeats,
      ${IS_ERROR_REPEATED} AS fails_again
    FROM ${toolCalls} AS c
    WHERE ${isInScope('c', scope)} AND c.is_own
    WINDOW conversation AS (PARTITION BY c.row_set_id, c.is_subagent ORDER BY c.line_number, c.call_number)
  ), call AS MATERIALIZED (
    SELECT *, ${isPartOfRun('repeats')} AS may_repeat, ${isPartOfRun('fails_again')} AS may_fail_again
    FROM compared
    WINDOW conversation AS (PARTITION BY row_set_id, is_subagent ORDER BY line_number, call_number)
  )`;

/**
 * True if a call is one of three in a row. `isLikeBefore` is the column that says whether a call resembles the previous
 * one.
 */
const isPartOfRun = (isLikeBefore: string): SQL =>
  sql.raw(`(
      ${isLikeBefore} AND (lag(${isLikeBefore}) OVER conversation OR lead(${isLikeBefore}) OVER conversation)
      OR lead(${isLikeBefore}) OVER conversation AND lead(${isLikeBefore}, 2) OVER conversation)`);

/** Consecutive rows of `from` with the same `columns`, as runs, which are numbered in `<name>_run`. */
const runQuery = (name: string, from: SQL, columns: string): SQL => {
  const series = sql.raw(`row_set_id, is_subagent, ${columns}`);
  const [runs, run, length] = [name, `${name}_run`, `${name}_length`].map((part) => sql.raw(part));
  return sql`
  ${runs} AS MATERIALIZED (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY ${series}, ${run}) AS ${length}
      FROM (
        SELECT *, place - row_number() OVER (PARTITION BY ${series} ORDER BY place) AS ${run} FROM ${from} AS single
      ) AS numbered
    ) AS counted WHERE ${length} >= ${MIN_REPEATS}
  )`;
};

/** The calls of `from` with a hash of their input, without those whose texts were truncated or deleted. */
const inputQuery = (name: string, from: string, { workspaceId }: FindingScope): SQL => sql`
  ${sql.raw(name)} AS MATERIALIZED (
    SELECT c.*, b.input FROM ${sql.raw(from)} AS c JOIN LATERAL (
      SELECT md5(b.tool_input::text) AS input FROM ${contentBlocks} AS b
      WHERE b.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND b.row_set_id = c.row_set_id AND b.message_id = c.message_id
        AND b.tool_kind IS NOT NULL AND b.tool_use_id = split_part(c.call_key, '/', -1) AND b.metadata -> 'truncated' IS NULL
      LIMIT 1
    ) AS b ON true
  )`;

/**
 * The calls of `alike_error` with a hash of their error. Result texts have no index, so they are looked up one
 * transcript at a time.
 */
const errorQuery = ({ workspaceId }: FindingScope): SQL => sql`
  result AS MATERIALIZED (
    SELECT t.row_set_id, b.tool_result_id, min(md5(b.result_text)) AS error
    FROM (
      SELECT row_set_id, array_agg(split_part(call_key, '/', -1)) AS ids FROM alike_error GROUP BY row_set_id
    ) AS t JOIN LATERAL (
      SELECT b.tool_result_id, b.result_text FROM ${contentBlocks} AS b
      WHERE b.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND b.row_set_id = t.row_set_id
        AND b.tool_result_id = ANY(t.ids) AND b.result_text <> ''
      OFFSET 0
    ) AS b ON true
    GROUP BY t.row_set_id, b.tool_result_id
  ), failed AS MATERIALIZED (
    SELECT alike_error.*, result.error FROM alike_error JOIN result
      ON result.row_set_id = alike_error.row_set_id AND result.tool_result_id = split_part(alike_error.call_key, '/', -1)
  )`;

/** `epoch` is the number of preceding edits of the file. A read after an edit is not a repeat. */
const readQuery = (scope: FindingScope): SQL => sql`
  known_read AS (
    SELECT *, count(*) FILTER (WHERE tool_kind = 'edit' AND NOT is_failed) OVER (
      PARTITION BY row_set_id, file_path ORDER BY line_number, call_number) AS epoch
    FROM call WHERE tool_kind IN ('read', 'edit') AND file_path IS NOT NULL
  ), alike_read AS MATERIALIZED (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, file_path, epoch, input_bytes) AS alike_count
      FROM known_read WHERE tool_kind = 'read' AND NOT is_failed
    ) AS counted WHERE alike_count >= ${MIN_REPEATS}
  ),
  ${inputQuery('read_input', 'alike_read', scope)},
  same_read AS (
    SELECT * FROM (
      SELECT *, count(*) OVER (PARTITION BY row_set_id, file_path, epoch, input) AS same_count FROM read_input
    ) AS counted WHERE same_count >= ${MIN_REPEATS}
  )`;

/** A finding for each group of `from`. All calls except the first are repeats. */
const findingQuery = (name: string, from: string, group: string): SQL => {
  const first = (column: string): string => `(array_agg(${column} ORDER BY line_number, call_number))[1]`;
  return sql.raw(`
  ${name} AS (
    SELECT session_id, row_set_id, ${first('is_subagent')} AS is_subagent, ${first('model')} AS model,
      min("timestamp") AS "timestamp", ${first('message_id')} AS message_id, min(line_number) AS line_number,
      min(tool_name COLLATE "C") AS tool_name, min(coalesce(file_path, program) COLLATE "C") AS subject, count(*)::int AS times,
      coalesce(sum(output_bytes), 0)::bigint - coalesce(${first('output_bytes')}, 0) AS output_bytes,
      (array_agg(response_key ORDER BY line_number, call_number))[2:] AS response_keys
    FROM ${from} GROUP BY session_id, row_set_id, ${group}
  )`);
};
