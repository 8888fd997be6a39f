import type { Database } from '../database.ts';
import { getTableColumns, getTableName, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { transcriptMessages } from '../schema/messages.ts';
import { messageRollup, ROLLUPS, type RollupName } from '../schema/rollups.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import { toHiddenWorkspace } from './in-workspace.ts';
import { FIGURE_ORDER } from './ledger-definition.ts';

/** Beginning of the quarter of an hour that a column `timestamp` lies in. */
const BUCKET_START = sql.raw(`date_bin('15 minutes', "timestamp", '2000-01-01Z')`);

const COST_UNITS_PER_USD = '1e10';

/** What stands for quarters of an hour of files: one row a call. */
export const FILE_CALLS = sql`(
  SELECT
    workspace_id, session_id, ${BUCKET_START} AS bucket_start, model, is_subagent, file_path, 1 AS calls,
    (tool_name = 'Read')::int AS reads, (tool_name <> 'Read' AND is_error IS NOT TRUE)::int AS edits,
    (is_error IS TRUE)::int AS errors, coalesce(output_bytes, 0) AS output_bytes
  FROM ${toolCalls} WHERE is_own AND file_path IS NOT NULL)`;

/**
 * Makes the sums of the affected sessions anew from the ledger and the tool calls, and the counts of messages of those
 * whose transcripts changed. One statement: it is run for every transcript. The caller holds the sessions' rows.
 */
export async function writeRollups(
  transaction: Database,
  { workspaceId, sessionIds }: { workspaceId: string; sessionIds: readonly string[] },
  affectedIds: readonly string[],
): Promise<void> {
  const replaceRows = (table: PgTable, ids: readonly string[], rows: SQL): SQL => {
    const name = getTableName(table);
    return sql`
      ${sql.raw(`deleted_${name}`)} AS (DELETE FROM ${table} AS rolled_up WHERE ${ofSessions('rolled_up', workspaceId, ids)}),
      ${sql.raw(`written_${name}`)} AS (${insert(table, rows)} RETURNING *)`;
  };
  const replace = (name: RollupName, ids: readonly string[], rows: SQL): SQL => {
    const { quarters, days } = ROLLUPS[name];
    if (quarters === undefined) return replaceRows(days, ids, selectDayRollup(name, sql`(${rows})`));
    const written = sql.raw(`written_${getTableName(quarters)}`);
    return sql`${replaceRows(quarters, ids, rows)}, ${replaceRows(days, ids, selectDayRollup(name, written))}`;
  };
  await transaction.execute(sql`
    WITH ${replace('usage', affectedIds, selectUsageRollup(workspaceId, affectedIds))},
    ${replace('tool', affectedIds, selectToolRollup(workspaceId, affectedIds))},
    ${replace('file', affectedIds, selectFileCalls(workspaceId, affectedIds))},
    ${replace('message', sessionIds, selectMessageRollup(workspaceId, sessionIds))}
    SELECT`);
}

function insert(table: PgTable, rows: SQL): SQL {
  const columns = sql.raw(Object.keys(getTableColumns(table)).join(', '));
  return sql`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM (${rows}) AS rolled_up`;
}

/** Rows of a roll-up by UTC days by their definition: of `quarters`, rows of the one by quarters of an hour. */
export function selectDayRollup(name: RollupName, quarters: SQL): SQL {
  const { days, keys, sums, lists } = ROLLUPS[name];
  const summed = Object.values(getTableColumns(days)).filter((column) => sums.includes(column.name));
  const group = sql.raw(['workspace_id', 'session_id', ...keys].join(', '));
  return sql`
    SELECT ${group}, min(bucket_start) AS first_bucket_start, max(bucket_start) AS last_bucket_start,
      ${sql.raw(
        [
          ...summed.map((column) => `sum(${column.name})::${column.getSQLType()} AS ${column.name}`),
          ...lists.map((list) => `string_agg(${list}, ''::bytea ORDER BY bucket_start) AS ${list}`),
        ].join(', '),
      )}
    FROM ${quarters} AS quarter
    GROUP BY ${group}, date_bin('1 day', bucket_start, '2000-01-01Z')`;
}

/** Condition on the rows of a table: of some sessions, or of all. */
const ofSessions = (alias: string, workspaceId: string, sessionIds: readonly string[] | undefined): SQL =>
  sessionIds === undefined
    ? sql`${sql.raw(alias)}.workspace_id = ${workspaceId}`
    : sql`${sql.raw(alias)}.workspace_id = ${toHiddenWorkspace(workspaceId)}
        AND ${sql.raw(alias)}.session_id = ANY(${sql.param([...sessionIds])}::text[])`;

/** Rows of usage_rollup by their definition: of some sessions, or of all. */
export function selectUsageRollup(workspaceId: string, sessionIds?: readonly string[]): SQL {
  return sql`
    SELECT
      ${workspaceId} COLLATE "C" AS workspace_id, session_id, ${BUCKET_START} AS bucket_start, model, is_subagent,
      agent_id, git_branch, agent_version, is_shared, count(*)::int AS responses,
      ${sums(['tokens_in', 'tokens_out', 'cache_read', 'cache_write', 'cache_write_1h', 'thinking_tokens'], 'bigint')},
      ${sums(['web_search_requests'], 'int')},
      ${sql.raw(
        ['', '_input', '_output', '_cache_read', '_cache_write', '_web_search']
          .map((part) => `(coalesce(sum(cost${part}_usd), 0) * ${COST_UNITS_PER_USD})::bigint AS cost${part}_units`)
          .join(', '),
      )},
      count(*) FILTER (WHERE is_unfinalised)::int AS unfinalised_responses,
      coalesce(sum(tokens_out) FILTER (WHERE is_unfinalised), 0)::bigint AS unfinalised_tokens_out,
      coalesce(sum(estimated_tokens_out) FILTER (WHERE is_unfinalised), 0)::bigint AS estimated_tokens_out,
      count(*) FILTER (WHERE price_basis = 'unpriced')::int AS unpriced_responses,
      coalesce(sum(tokens_in + tokens_out + cache_read + cache_write) FILTER (WHERE price_basis = 'unpriced'), 0)::bigint
        AS unpriced_tokens,
      count(*) FILTER (WHERE price_basis = 'default')::int AS default_priced_responses
    FROM (
      SELECT false AS is_shared, ${rolledUpColumns('l')} FROM ${usageLedger} AS l
      WHERE ${ofSessions('l', workspaceId, sessionIds)}
      UNION ALL
      SELECT true, * FROM (
        SELECT DISTINCT ON (e.session_id, e.agent, e.response_key) ${rolledUpColumns('e')}
        FROM ${transcripts} AS t
        -- Looked up one by one: while a workspace is filled nobody has counted its rows, and a join would read them all.
        JOIN LATERAL (
          SELECT * FROM ${usageEntries} WHERE workspace_id = t.workspace_id AND row_set_id = t.row_set_id OFFSET 0
        ) AS e ON true
        JOIN LATERAL (
          SELECT l.session_id FROM ${usageLedger} AS l
          WHERE l.workspace_id = e.workspace_id AND l.agent = e.agent AND l.response_key = e.response_key OFFSET 0
        ) AS credited ON credited.session_id <> e.session_id
        WHERE ${ofSessions('t', workspaceId, sessionIds)}
        ORDER BY e.session_id, e.agent, e.response_key, ${FIGURE_ORDER}, t.sha256, e.entry_number
      ) AS shared
    ) AS response
    GROUP BY session_id, 3, model, is_subagent, agent_id, git_branch, agent_version, is_shared`;
}

/** Rows of tool_rollup by their definition: of some sessions, or of all. */
export function selectToolRollup(workspaceId: string, sessionIds?: readonly string[]): SQL {
  return sql`
    SELECT
      workspace_id, session_id, ${BUCKET_START} AS bucket_start, model, is_subagent, tool_name, mcp_server, program,
      subagent_type, skill_name, count(*)::int AS calls, count(is_error)::int AS results, count(*) FILTER (WHERE is_error)::int AS errors,
      count(*) FILTER (WHERE is_denied)::int AS denied, ${sums(['input_bytes', 'output_bytes', 'duration_ms'], 'bigint')},
      count(duration_ms)::int AS timed_calls,
      coalesce(string_agg(substring(int8send(duration_ms) FROM 3), ''::bytea ORDER BY duration_ms), ''::bytea) AS durations
    FROM ${toolCalls} AS c
    WHERE ${ofSessions('c', workspaceId, sessionIds)} AND is_own
    GROUP BY workspace_id, session_id, 3, model, is_subagent, tool_name, mcp_server, program, subagent_type, skill_name`;
}

/** What file_day_rollup is the sum of: one row a call, of some sessions, or of all. */
export function selectFileCalls(workspaceId: string, sessionIds?: readonly string[]): SQL {
  return sql`SELECT * FROM ${FILE_CALLS} AS f WHERE ${ofSessions('f', workspaceId, sessionIds)}`;
}

const sums = (columns: readonly string[], type: string): SQL =>
  sql.raw(columns.map((column) => `coalesce(sum(${column}), 0)::${type} AS ${column}`).join(', '));

const rolledUpColumns = (alias: string) =>
  sql.raw(
    [
      'session_id',
      'timestamp',
      'model',
      'is_subagent',
      'agent_id',
      'git_branch',
      'agent_version',
      'tokens_in',
      'tokens_out',
      'cache_read',
      'cache_write',
      'cache_write_1h',
      'thinking_tokens',
      'web_search_requests',
      'cost_usd',
      'cost_input_usd',
      'cost_output_usd',
      'cost_cache_read_usd',
      'cost_cache_write_usd',
      'cost_web_search_usd',
      'is_unfinalised',
      'estimated_tokens_out',
      'price_basis',
    ]
      .map((column) => `${alias}."${column}"`)
      .join(', '),
  );

/** Of the session `s`: its messages are gone, its roll-up is all that tells of them. */
const HAS_EXPIRED = sql`EXISTS (
  SELECT FROM ${transcripts} AS t
  WHERE t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id AND t.rows_deleted_at IS NOT NULL)`;

/**
 * Rows of message_rollup by their definition: of some sessions, or of all. Where retention took the messages away, what was
 * counted stays.
 */
export function selectMessageRollup(workspaceId: string, sessionIds?: readonly string[]): SQL {
  return sql`
    SELECT s.workspace_id, s.session_id, ${BUCKET_START} AS bucket_start, m.model,
      s.is_subagent OR m.is_sidechain AS is_subagent,
      count(*)::int AS messages, count(*) FILTER (WHERE m.message_type = 'user')::int AS user_messages
    FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    JOIN ${transcriptMessages} AS m ON m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id
    WHERE ${ofSessions('s', workspaceId, sessionIds)}
    GROUP BY s.workspace_id, s.session_id, 3, m.model, 5
    UNION ALL
    SELECT r.workspace_id, r.session_id, r.bucket_start, r.model, r.is_subagent, r.messages, r.user_messages
    FROM ${messageRollup} AS r
    JOIN ${sessions} AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
    WHERE ${ofSessions('r', workspaceId, sessionIds)}
      AND ${HAS_EXPIRED}`;
}
