import { opaqueWorkspaceId } from '../database/planner.ts';
import { getTableColumns, type SQL, sql } from '../drizzle.cjs';
import { transcriptMessages } from '../schema/messages.ts';
import { ROLLUPS, type RollupName } from '../schema/rollup-tables.ts';
import { messageRollup } from '../schema/rollups.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { sessionEvents, toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import { COST_COLUMNS, COST_UNIT_COLUMNS, SUMMED_TOKENS, sumOfTokens } from '../schema/usage-columns.ts';
import { FIGURE_ORDER } from './ledger-definition.ts';

/** Start of the 15-minute bucket of a column `timestamp`. */
const BUCKET_START = sql.raw(`date_bin('15 minutes', "timestamp", '2000-01-01Z')`);

const COST_UNITS_PER_USD = '1e10';

/** In place of 15-minute buckets for tools and files, one row for each call. */
export const CALLS: Readonly<Partial<Record<RollupName, SQL>>> = {
  tool: sql`(
    SELECT
      workspace_id, session_id, ${BUCKET_START} AS bucket_start, model, is_subagent, tool_name, tool_kind, mcp_server, program,
      subagent_type, skill_name, 1 AS calls, (is_error IS NOT NULL)::int AS results, (is_error IS TRUE)::int AS errors,
      is_denied::int AS denied, input_bytes, coalesce(output_bytes, 0) AS output_bytes,
      coalesce(duration_ms, 0) AS duration_ms, (duration_ms IS NOT NULL)::int AS timed_calls,
      coalesce(substring(int8send(duration_ms) FROM 3), ''::bytea) AS durations, "timestamp"
    FROM ${toolCalls} WHERE is_own)`,
  file: sql`(
    SELECT
      workspace_id, session_id, ${BUCKET_START} AS bucket_start, model, is_subagent, file_path, 1 AS calls,
      (tool_kind = 'read')::int AS reads, (tool_kind <> 'read' AND is_error IS NOT TRUE)::int AS edits,
      (is_error IS TRUE)::int AS errors, coalesce(output_bytes, 0) AS output_bytes, "timestamp"
    FROM ${toolCalls} WHERE is_own AND file_path IS NOT NULL)`,
};

/** Sessions whose rows a roll-up sums. */
export interface RollupScope {
  sessionIds: readonly string[];
}

/** Rows of a roll-up by UTC days, by their definition, from `buckets`, the rows by 15-minute buckets. */
export function selectDayRollup(name: RollupName, buckets: SQL): SQL {
  const { days, keys, sums, lists } = ROLLUPS[name];
  const summed = Object.values(getTableColumns(days)).filter((column) => sums.includes(column.name));
  const group = sql.raw(['workspace_id', 'session_id', ...keys].join(', '));
  return sql`
    SELECT ${group}, min(bucket_start) AS first_bucket_start, max(bucket_start) AS last_bucket_start,
      ${sql.raw(
        [
          ...summed.map((column) => `sum(${column.name})::${column.getSQLType()} AS ${column.name}`),
          ...lists.map(concatenateInOrder),
        ].join(', '),
      )}
    FROM ${buckets} AS bucketed
    GROUP BY ${group}, date_bin('1 day', bucket_start, '2000-01-01Z')`;
}

/**
 * Sorts each group's lists on their own. An ordered aggregate would have all rows sorted by every key, and most rows of
 * a long session have equal keys.
 */
const concatenateInOrder = (list: string): string => `(
  SELECT string_agg(list, ''::bytea ORDER BY bucket, list)
  FROM unnest(array_agg(bucketed.bucket_start), array_agg(bucketed.${list})) AS each (bucket, list)) AS ${list}`;

/** Condition on the rows of a table that belong to some sessions, or to any. */
export const ofSessions = (alias: string, workspaceId: string, scope: RollupScope | undefined): SQL =>
  scope === undefined
    ? sql`${sql.raw(alias)}.workspace_id = ${workspaceId}`
    : sql`${sql.raw(alias)}.workspace_id = ${opaqueWorkspaceId(workspaceId)}
        AND ${sql.raw(alias)}.session_id = ANY(${sql.param([...scope.sessionIds])}::text[])`;

/** The kind of work of the turn of a row of the ledger, or of an entry; rows of older parsers have none. */
export const kindOfTurn = (alias: string, workspaceId: string): SQL => sql`coalesce((
  SELECT turn.name FROM ${sessionEvents} AS turn
  WHERE turn.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND turn.row_set_id = ${sql.raw(`${alias}.row_set_id`)}
    AND turn.line_number = ${sql.raw(`${alias}.turn_line`)} AND turn.kind = 'turn'
), 'unknown')`;

/** Rows of usage_rollup by their definition, for a scope, or all of a workspace. */
export function selectUsageRollup(workspaceId: string, scope?: RollupScope): SQL {
  const workspace = opaqueWorkspaceId(workspaceId);
  return sql`
    SELECT
      workspace_id, session_id, ${BUCKET_START} AS bucket_start, model, is_subagent,
      agent_id, git_branch, agent_version, kind_of_work, is_shared, count(*)::int AS responses,
      ${sums([...SUMMED_TOKENS, 'web_search_requests'], 'bigint')},
      ${sql.raw(
        COST_COLUMNS.map(
          (column, index) =>
            `round(coalesce(sum(${column}), 0) * ${COST_UNITS_PER_USD}) AS ${COST_UNIT_COLUMNS[index]}`,
        ).join(', '),
      )},
      count(*) FILTER (WHERE is_unfinalised)::int AS unfinalised_responses,
      coalesce(sum(tokens_out) FILTER (WHERE is_unfinalised), 0)::bigint AS unfinalised_tokens_out,
      coalesce(sum(estimated_tokens_out) FILTER (WHERE is_unfinalised), 0)::bigint AS estimated_tokens_out,
      count(*) FILTER (WHERE price_basis = 'unpriced')::int AS unpriced_responses,
      coalesce(sum(${sql.raw(sumOfTokens())}) FILTER (WHERE price_basis = 'unpriced'), 0)::bigint
        AS unpriced_tokens,
      count(*) FILTER (WHERE price_basis = 'default')::int AS default_priced_responses
    FROM (
      SELECT false AS is_shared, ${rolledUpColumns('l')}, ${kindOfTurn('l', workspaceId)} AS kind_of_work FROM ${usageLedger} AS l
      WHERE ${ofSessions('l', workspaceId, scope)}
      UNION ALL
      SELECT true, * FROM (
        SELECT DISTINCT ON (e.session_id, e.agent, e.response_key) ${rolledUpColumns('e')}, ${kindOfTurn('e', workspaceId)}
        FROM ${transcripts} AS t
        -- Entries are looked up one by one. While a workspace is filled it has no statistics, and a join would read all.
        JOIN LATERAL (
          SELECT * FROM ${usageEntries}
          WHERE workspace_id = ${workspace} AND row_set_id = t.row_set_id OFFSET 0
        ) AS e ON true
        JOIN LATERAL (
          SELECT l.session_id FROM ${usageLedger} AS l
          WHERE l.workspace_id = ${workspace} AND l.agent = e.agent AND l.response_key = e.response_key OFFSET 0
        ) AS credited ON credited.session_id <> e.session_id
        WHERE ${ofSessions('t', workspaceId, scope)}
        ORDER BY e.session_id, e.agent, e.response_key, ${FIGURE_ORDER}, t.sha256, e.entry_number
      ) AS shared
    ) AS response
    GROUP BY workspace_id, session_id, 3, model, is_subagent, agent_id, git_branch, agent_version, kind_of_work,
      is_shared`;
}

/** The source rows of daily sums of tools or files (one row for each call), for a scope, or all of a workspace. */
export function selectCalls(name: 'tool' | 'file', workspaceId: string, scope?: RollupScope): SQL {
  return sql`SELECT * FROM ${CALLS[name]} AS c WHERE ${ofSessions('c', workspaceId, scope)}`;
}

const sums = (columns: readonly string[], type: string): SQL =>
  sql.raw(columns.map((column) => `coalesce(sum(${column}), 0)::${type} AS ${column}`).join(', '));

const rolledUpColumns = (alias: string) =>
  sql.raw(
    [
      'workspace_id',
      'session_id',
      'timestamp',
      'model',
      'is_subagent',
      'agent_id',
      'git_branch',
      'agent_version',
      ...SUMMED_TOKENS,
      'web_search_requests',
      ...COST_COLUMNS,
      'is_unfinalised',
      'estimated_tokens_out',
      'price_basis',
    ]
      .map((column) => `${alias}."${column}"`)
      .join(', '),
  );

/** For a row `r` of message_rollup where its session's messages are gone, and it is their only record. */
export const hasDeletedMessages = (workspaceId: string): SQL => sql`EXISTS (
  SELECT FROM ${sessions} AS s
  JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
  WHERE s.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND s.session_id = r.session_id
    AND t.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND t.rows_deleted_at IS NOT NULL)`;

/** Messages to count, for a scope, or all of a workspace. */
export function selectMessageCounts(workspaceId: string, scope?: RollupScope): SQL {
  return sql`
    SELECT s.workspace_id, s.session_id, ${BUCKET_START} AS bucket_start, m.model,
      s.is_subagent OR m.is_sidechain AS is_subagent,
      count(*)::int AS messages, count(*) FILTER (WHERE m.message_type = 'user')::int AS user_messages
    FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    JOIN ${transcriptMessages} AS m ON m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id
    WHERE ${ofSessions('s', workspaceId, scope)}
    GROUP BY s.workspace_id, s.session_id, 3, m.model, 5`;
}

/**
 * Rows of a workspace's message_rollup by their definition. If retention has deleted the messages, the stored counts
 * stay.
 */
export function selectMessageRollup(workspaceId: string): SQL {
  return sql`
    ${selectMessageCounts(workspaceId)}
    UNION ALL
    SELECT r.workspace_id, r.session_id, r.bucket_start, r.model, r.is_subagent, r.messages, r.user_messages
    FROM ${messageRollup} AS r
    WHERE r.workspace_id = ${workspaceId} AND ${hasDeletedMessages(workspaceId)}`;
}
