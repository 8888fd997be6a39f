import { FORMATS_WITHOUT_USAGE } from '@recount/core';
import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId, preferScans } from '../database/planner.ts';
import { getTableColumns, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { selectFindings } from '../findings/write-findings.ts';
import { findings } from '../schema/findings.ts';
import { listColumns } from '../schema/list-columns.ts';
import { contentBlocks, transcriptMessages } from '../schema/messages.ts';
import { ROLLUPS, type RollupName, TOTALS_KINDS, toTotalUnit } from '../schema/rollup-tables.ts';
import { sessionTotal, staleDays } from '../schema/rollups.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { sessionEvents, toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import { TOKEN_CLASSES } from '../schema/usage-columns.ts';
import { SESSION_COLUMNS, selectSessions, selectVersions } from '../sessions/refresh-sessions.ts';
import { selectActiveTimes } from '../transcripts/active-times.ts';
import { COST_OF_ENTRIES, SEARCHES_OF_ENTRIES } from '../transcripts/transcript-totals.ts';
import { ALL_ENTRIES, IS_CREDITED_CALL, selectLedgerRows } from '../usage/ledger-definition.ts';
import { listTotals, selectTotals } from '../usage/refresh-totals.ts';
import { selectCalls, selectDayRollup, selectMessageRollup, selectUsageRollup } from '../usage/rollup-definitions.ts';
import { COUNTED_ROLLUPS, selectSessionTotals } from '../usage/session-totals.ts';
import { toDay } from '../usage/stale-days.ts';
import type { RowCheck } from './compare-rows.ts';

/** Derived from messages and blocks, which retention deletes without changing the figures. */
const TEXT_FIGURES = [
  'total_messages',
  'user_messages',
  'assistant_messages',
  'active_ms',
  'content_block_count',
  'tool_use_count',
  'thinking_blocks',
  'subagent_count',
] as const;

/**
 * Columns of transcripts that `selectRecountedFigures` computes. The others are derived from the transcript's text, not
 * from its rows.
 */
const RECOUNTED_FIGURES = [
  'id',
  'is_diverged',
  ...TEXT_FIGURES,
  'api_response_count',
  ...TOKEN_CLASSES,
  'cost_estimate_usd',
  'unfinalised_count',
  'unpriced_count',
  'web_search_count',
  'prompt_count',
];

/** Transcripts `t` that have rows to count. */
const HAS_ROWS = sql`t.ingested_at IS NOT NULL AND t.row_set_id IS NOT NULL`;

/** The figures of all transcripts of a workspace that have rows, computed from these. */
function selectRecountedFigures(workspaceId: string): SQL {
  const ofWorkspace = sql`workspace_id = ${workspaceId} GROUP BY row_set_id`;
  const textFigures = sql.raw(
    TEXT_FIGURES.map(
      (name) => `CASE WHEN t.rows_deleted_at IS NULL THEN coalesce(recounted.${name}, 0) ELSE t.${name} END AS ${name}`,
    ).join(', '),
  );
  const isWithoutUsage = sql`t.format = ANY(${sql.param(FORMATS_WITHOUT_USAGE)}::text[])`;
  // Without a response, null if there is, or must have been, an answer whose usage is unknown. If messages are gone,
  // the value stays as it was.
  const ifKnown = (name: string) => sql`
    CASE WHEN u.row_set_id IS NOT NULL THEN u.${sql.raw(name)}
      WHEN t.rows_deleted_at IS NOT NULL AND t.tokens_in IS NULL THEN NULL
      WHEN recounted.unmetered_messages > 0 OR ${isWithoutUsage} THEN NULL ELSE 0 END`;
  return sql`
    SELECT t.id, NOT t.is_primary AS is_diverged, ${textFigures},
      coalesce(u.responses, 0) AS api_response_count,
      ${sql.join(
        TOKEN_CLASSES.map((name) => sql`${ifKnown(name)} AS ${sql.identifier(name)}`),
        sql`, `,
      )},
      ${ifKnown('cost_usd')} AS cost_estimate_usd,
      coalesce(u.unfinalised, 0) AS unfinalised_count, coalesce(u.unpriced, 0) AS unpriced_count,
      coalesce(u.web_searches, 0) AS web_search_count, coalesce(e.prompts, 0) AS prompt_count
    FROM (${selectVersions(sql`t.workspace_id = ${workspaceId}`)}) AS t
    LEFT JOIN (
      SELECT * FROM (
        SELECT row_set_id, count(*) AS total_messages, count(*) FILTER (WHERE message_type = 'user') AS user_messages,
          count(*) FILTER (WHERE message_type = 'assistant') AS assistant_messages,
          count(*) FILTER (WHERE message_type = 'assistant' AND tokens_in IS NULL) AS unmetered_messages
        FROM ${transcriptMessages} WHERE ${ofWorkspace}
      ) AS m
      FULL JOIN (
        SELECT row_set_id, count(*) AS content_block_count,
          count(*) FILTER (WHERE block_type = 'tool_use') AS tool_use_count,
          count(*) FILTER (WHERE block_type = 'tool_use' AND tool_kind = 'agent') AS subagent_count,
          count(*) FILTER (WHERE block_type IN ('thinking', 'redacted_thinking')) AS thinking_blocks
        FROM ${contentBlocks} WHERE ${ofWorkspace}
      ) AS b USING (row_set_id)
      FULL JOIN (${selectActiveTimes(sql`m.workspace_id = ${workspaceId}`)}) AS a USING (row_set_id)
    ) AS recounted USING (row_set_id)
    LEFT JOIN (
      SELECT row_set_id, count(*) AS responses,
        ${sql.raw(TOKEN_CLASSES.map((name) => `sum(${name}) AS ${name}`).join(', '))}, ${COST_OF_ENTRIES} AS cost_usd,
        count(*) FILTER (WHERE is_unfinalised) AS unfinalised, count(*) FILTER (WHERE price_basis = 'unpriced') AS unpriced,
        ${SEARCHES_OF_ENTRIES} AS web_searches
      FROM ${usageEntries} WHERE ${ofWorkspace}
    ) AS u USING (row_set_id)
    LEFT JOIN (
      SELECT row_set_id, count(*) FILTER (WHERE kind = 'prompt') AS prompts FROM ${sessionEvents} WHERE ${ofWorkspace}
    ) AS e USING (row_set_id)
    WHERE ${HAS_ROWS}`;
}

/**
 * Number of tables that `verifyUsage` recounts (transcripts, sessions, tool calls, the ledger, findings, counts of
 * sessions, and the roll-ups with their totals).
 */
export const VERIFIED_TABLE_COUNT =
  6 +
  TOTALS_KINDS.flatMap(listTotals).length +
  Object.values(ROLLUPS).reduce((count, { buckets }) => count + (buckets === undefined ? 1 : 2), 0);

/** The comparison of a derived table's rows with a full recount. */
export interface DerivedTableCheck extends RowCheck {
  table:
    | 'transcripts'
    | 'sessions'
    | 'tool_calls'
    | 'usage_ledger'
    | 'findings'
    | `${RollupName}_rollup`
    | `${RollupName}_day_rollup`
    | `${RollupName}_${'hour' | 'day' | 'attribution'}_total`
    | 'session_total';
}

/**
 * Recounts everything derived from a workspace's rows, and compares every row. These are the figures of transcripts
 * from messages, blocks, usage entries and events, sessions from transcripts, which copies of tool calls and of
 * responses count, the roll-ups, and findings. Call it with one snapshot (`withSnapshot`); otherwise concurrent writes
 * would look like faults. `onTable` is called before each table.
 */
export async function verifyUsage(
  snapshot: Database,
  workspaceId: string,
  onTable: (table: DerivedTableCheck['table']) => void = () => undefined,
): Promise<DerivedTableCheck[]> {
  const compare: Compare = (table, comparison) => {
    onTable(table);
    return check(snapshot, workspaceId, table, comparison);
  };
  const checks = await preferScans(snapshot, async () => [
    await compare('transcripts', {
      stored: transcripts,
      columns: RECOUNTED_FIGURES,
      where: HAS_ROWS,
      recounted: selectRecountedFigures(workspaceId),
    }),
    await compare('sessions', {
      stored: sessions,
      columns: SESSION_COLUMNS,
      recounted: selectSessions(workspaceId, sql`(${selectVersions(sql`t.workspace_id = ${workspaceId}`)})`),
    }),
    await compare('tool_calls', {
      stored: toolCalls,
      columns: ['row_set_id', 'call_number', 'is_own'],
      recounted: selectOwnCalls(workspaceId),
    }),
  ]);
  const ledger = selectLedgerRows(ALL_ENTRIES, sql`e.workspace_id = ${workspaceId}`);
  checks.push(
    await compare('usage_ledger', { stored: usageLedger, recounted: ledger }),
    ...(await verifyRollups(workspaceId, compare)),
    ...(await verifyTotals(workspaceId, compare)),
    await compare('findings', { stored: findings, recounted: selectFindings(workspaceId) }),
  );
  return checks;
}

type Compare = (table: DerivedTableCheck['table'], comparison: Comparison) => Promise<DerivedTableCheck>;

async function verifyRollups(workspaceId: string, compare: Compare): Promise<DerivedTableCheck[]> {
  const checks: DerivedTableCheck[] = [];
  const rollups = {
    usage: selectUsageRollup(workspaceId),
    tool: selectCalls('tool', workspaceId),
    message: selectMessageRollup(workspaceId),
    file: selectCalls('file', workspaceId),
  };
  for (const name of ['usage', 'tool', 'message', 'file'] as const) {
    const { buckets, days } = ROLLUPS[name];
    if (buckets !== undefined) {
      checks.push(await compare(`${name}_rollup`, { stored: buckets, recounted: rollups[name] }));
    }
    const recounted = selectDayRollup(name, sql`(${rollups[name]})`);
    checks.push(await compare(`${name}_day_rollup`, { stored: days, recounted }));
  }
  return checks;
}

/** Compares the totals of days that are not waiting to be summed again. */
async function verifyTotals(workspaceId: string, compare: Compare): Promise<DerivedTableCheck[]> {
  const checks: DerivedTableCheck[] = [];
  const isFresh = (time: string) => sql`NOT EXISTS (
    SELECT FROM ${staleDays} AS s WHERE s.workspace_id = ${workspaceId} AND s.day = ${toDay(time)})`;
  for (const kind of TOTALS_KINDS) {
    for (const { name, table: stored } of listTotals(kind)) {
      const where = isFresh('t.first_bucket_start');
      const recounted = sql`SELECT * FROM (${selectTotals(name, kind, workspaceId)}) AS t WHERE ${where}`;
      const type = kind === 'attributed' ? 'attribution' : toTotalUnit(ROLLUPS[name]);
      checks.push(await compare(`${name}_${type}_total`, { stored, where, recounted }));
    }
  }
  const where = isFresh('t.period_start');
  const counts = sql.join(
    COUNTED_ROLLUPS.map((rollup) => selectSessionTotals(rollup, workspaceId)),
    sql` UNION ALL `,
  );
  const recounted = sql`SELECT * FROM (${counts}) AS t WHERE ${where}`;
  checks.push(await compare('session_total', { stored: sessionTotal, where, recounted }));
  return checks;
}

/** Every tool call with a flag if it counts. If its response is not an API response, there is no other copy. */
function selectOwnCalls(workspaceId: string): SQL {
  const workspace = opaqueWorkspaceId(workspaceId);
  return sql`
    SELECT row_set_id, call_number, bool_or(is_own) AS is_own FROM (
      SELECT c.row_set_id, c.call_number, e.row_set_id IS NULL OR ${IS_CREDITED_CALL} AS is_own
      FROM ${toolCalls} AS c
      -- Rows are looked up one by one. While a workspace is filled it has no statistics, and a join would read all for each.
      LEFT JOIN LATERAL (
        SELECT * FROM ${transcripts} WHERE workspace_id = ${workspace} AND row_set_id = c.row_set_id OFFSET 0
      ) AS t ON true
      LEFT JOIN LATERAL (
        SELECT * FROM ${usageEntries}
        WHERE workspace_id = ${workspace} AND agent = t.agent AND response_key = c.response_key OFFSET 0
      ) AS e ON e.row_set_id = c.row_set_id AND e.source = 'message'
      WHERE c.workspace_id = ${workspaceId}
    ) AS copy
    GROUP BY row_set_id, call_number`;
}

interface Comparison {
  stored: PgTable;
  /** Defaults to all. */
  columns?: readonly string[];
  /** The stored rows `t` to compare. Defaults to all. */
  where?: SQL;
  /** Has the columns as well. */
  recounted: SQL;
}

async function check(
  snapshot: Database,
  workspaceId: string,
  table: DerivedTableCheck['table'],
  { stored, columns: names = Object.keys(getTableColumns(stored)), where = sql`true`, recounted }: Comparison,
): Promise<DerivedTableCheck> {
  const columns = listColumns(names, (name) => name);
  const { rows } = await snapshot.execute<Record<'rows' | 'missing' | 'surplus', number>>(sql`
    WITH stored AS (SELECT ${columns} FROM ${stored} AS t WHERE t.workspace_id = ${workspaceId} AND ${where}),
      recounted AS (SELECT ${columns} FROM (${recounted}) AS every)
    SELECT
      (SELECT count(*)::int FROM stored) AS rows,
      (SELECT count(*)::int FROM (SELECT * FROM recounted EXCEPT ALL SELECT * FROM stored) AS m) AS missing,
      (SELECT count(*)::int FROM (SELECT * FROM stored EXCEPT ALL SELECT * FROM recounted) AS s) AS surplus`);
  return { table, rows: 0, missing: 0, surplus: 0, ...rows[0] };
}
