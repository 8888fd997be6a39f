import type { Database } from '../database/database.ts';
import { getTableColumns, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { preferScans } from '../planner.ts';
import { SESSION_COLUMNS, selectSessions, selectVersions } from '../sessions/refresh-sessions.ts';
import { sessions, transcripts } from '../transcripts/schema.ts';
import { ALL_ENTRIES, IS_CREDITED_CALL, list, selectLedgerRows } from './ledger-definition.ts';
import { HAS_ROWS, RECOUNTED_FIGURES, selectRecountedFigures } from './recounted-figures.ts';
import { ROLLUPS, type RollupName } from './rollups-schema.ts';
import { toolCalls, usageEntries, usageLedger } from './schema.ts';
import { selectCalls, selectDayRollup, selectMessageRollup, selectUsageRollup } from './write-rollups.ts';

/** How the rows of a derived table compare with a full recount. */
export interface DerivedTableCheck {
  table:
    | 'transcripts'
    | 'sessions'
    | 'tool_calls'
    | 'usage_ledger'
    | `${RollupName}_rollup`
    | `${RollupName}_day_rollup`;
  rows: number;
  /** Rows that the recount gives and the table lacks. */
  missing: number;
  /** Rows that the table has and the recount does not give. */
  surplus: number;
}

/**
 * Counts everything again that is derived from a workspace's rows, and compares every row: the figures of transcripts from
 * messages, blocks, usage entries and events, sessions from transcripts, which copies of tool calls and of responses count, and the
 * roll-ups. To be called with one snapshot (`withSnapshot`), or writers between two of its queries would look like faults.
 */
export async function verifyUsage(snapshot: Database, workspaceId: string): Promise<DerivedTableCheck[]> {
  const compare = (table: DerivedTableCheck['table'], comparison: Comparison) =>
    check(snapshot, workspaceId, table, comparison);
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
      recounted: sql`WITH version AS (${selectVersions(sql`t.workspace_id = ${workspaceId}`)}) ${selectSessions()}`,
    }),
    await compare('tool_calls', {
      stored: toolCalls,
      columns: ['row_set_id', 'call_number', 'is_own'],
      recounted: selectOwnCalls(workspaceId),
    }),
  ]);
  const ledger = selectLedgerRows(ALL_ENTRIES, sql`e.workspace_id = ${workspaceId}`);
  checks.push(await compare('usage_ledger', { stored: usageLedger, recounted: ledger }));
  const rollups = {
    usage: selectUsageRollup(workspaceId),
    tool: selectCalls('tool', workspaceId),
    message: selectMessageRollup(workspaceId),
    file: selectCalls('file', workspaceId),
  };
  for (const name of ['usage', 'tool', 'message', 'file'] as const) {
    const { quarters, days } = ROLLUPS[name];
    if (quarters !== undefined) {
      checks.push(await compare(`${name}_rollup`, { stored: quarters, recounted: rollups[name] }));
    }
    const recounted = selectDayRollup(name, sql`(${rollups[name]})`);
    checks.push(await compare(`${name}_day_rollup`, { stored: days, recounted }));
  }
  return checks;
}

/** Every tool call with whether it counts: one whose response is no API response has no other copy. */
function selectOwnCalls(workspaceId: string): SQL {
  return sql`
    SELECT row_set_id, call_number, bool_or(is_own) AS is_own FROM (
      SELECT c.row_set_id, c.call_number, e.row_set_id IS NULL OR ${IS_CREDITED_CALL} AS is_own
      FROM ${toolCalls} AS c
      -- Looked up one by one: while a workspace is filled nobody has counted its rows, and a join would read all for each.
      LEFT JOIN LATERAL (
        SELECT * FROM ${transcripts} WHERE workspace_id = c.workspace_id AND row_set_id = c.row_set_id OFFSET 0
      ) AS t ON true
      LEFT JOIN LATERAL (
        SELECT * FROM ${usageEntries}
        WHERE workspace_id = c.workspace_id AND agent = t.agent AND response_key = c.response_key OFFSET 0
      ) AS e ON e.row_set_id = c.row_set_id AND e.source = 'message'
      WHERE c.workspace_id = ${workspaceId}
    ) AS copy
    GROUP BY row_set_id, call_number`;
}

interface Comparison {
  stored: PgTable;
  /** Default: all. */
  columns?: readonly string[];
  /** Which of the stored rows, `t`, are compared. Default: all. */
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
  const columns = list(names, (name) => name);
  const { rows } = await snapshot.execute<Record<'rows' | 'missing' | 'surplus', number>>(sql`
    WITH stored AS (SELECT ${columns} FROM ${stored} AS t WHERE t.workspace_id = ${workspaceId} AND ${where}),
      recounted AS (SELECT ${columns} FROM (${recounted}) AS every)
    SELECT
      (SELECT count(*)::int FROM stored) AS rows,
      (SELECT count(*)::int FROM (SELECT * FROM recounted EXCEPT ALL SELECT * FROM stored) AS m) AS missing,
      (SELECT count(*)::int FROM (SELECT * FROM stored EXCEPT ALL SELECT * FROM recounted) AS s) AS surplus`);
  return { table, rows: 0, missing: 0, surplus: 0, ...rows[0] };
}
