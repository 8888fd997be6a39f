import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { getTableColumns, type SQL, sql } from '../drizzle.cjs';
import { findings } from '../schema/findings.ts';
import { transcripts } from '../schema/transcripts.ts';
import { toolCalls } from '../schema/usage.ts';
import { type FindingScope, isInScope } from './finding-scope.ts';
import { coldCacheQueries } from './select-cold-caches.ts';
import { repeatQueries, selectSessionsWithRepeats } from './select-repeats.ts';
import { unfinishedSessionQueries } from './select-unfinished-sessions.ts';

const COLUMNS = sql.raw(
  Object.keys(getTableColumns(findings))
    .map((name) => `"${name}"`)
    .join(', '),
);

/**
 * Rebuilds the findings of sessions from their calls, texts, responses and events. The caller holds the locks of the
 * sessions' rows, which are settled, as are the ledger and the roll-ups. `storedIds` names the sessions that may have
 * findings; default all.
 */
export async function writeFindings(
  transaction: Database,
  workspaceId: string,
  sessionIds: readonly string[],
  storedIds?: ReadonlySet<string>,
): Promise<void> {
  if (sessionIds.length === 0) return;
  const storedOfScope = sessionIds.filter((id) => storedIds?.has(id) ?? true);
  if (storedOfScope.length > 0) {
    const ofStored = isInScope('f', { workspaceId, sessionIds: storedOfScope });
    await transaction.execute(
      sql`DELETE FROM ${findings} AS f WHERE ${ofStored} AND NOT ${isKeptWithoutTexts(workspaceId)}`,
    );
  }
  const scope = { workspaceId, sessionIds };
  await insert(transaction, selectSessionFindings(scope));
  await insertRepeats(transaction, scope);
}

async function insertRepeats(transaction: Database, scope: FindingScope): Promise<void> {
  const { rows } = await transaction.execute<{ session_id: string }>(selectSessionsWithRepeats(scope));
  if (rows.length === 0) return;
  const sessionIds = rows.map(({ session_id }) => session_id).sort();
  await insert(transaction, selectRepeats({ ...scope, sessionIds }));
}

/**
 * Selects rows first and inserts them if there are any. Most sessions have none, and a server that distributes its
 * tables would plan the query of an INSERT again for every shard.
 */
async function insert(transaction: Database, rows: SQL): Promise<void> {
  const { rows: results } = await transaction.execute<{ found: string | null }>(
    sql`SELECT json_agg(found)::text AS found FROM (${rows}) AS found`,
  );
  const found = results[0]?.found ?? null;
  if (found === null) return;
  await transaction.execute(sql`
    INSERT INTO ${findings} (${COLUMNS}) SELECT ${COLUMNS} FROM json_populate_recordset(NULL::${findings}, ${found}::json)`);
}

/** The findings of a workspace by their definition. Findings about texts that retention deleted stay as they are. */
export function selectFindings(workspaceId: string): SQL {
  return sql`
    SELECT ${COLUMNS} FROM (${selectSessionFindings({ workspaceId })}) AS found
    UNION ALL
    SELECT ${COLUMNS} FROM (${selectRepeats({ workspaceId })}) AS found
    UNION ALL
    SELECT ${COLUMNS} FROM ${findings} AS f WHERE f.workspace_id = ${workspaceId} AND ${isKeptWithoutTexts(workspaceId)}`;
}

/**
 * Condition on a finding `f` that cannot be rebuilt but is still valid, because its texts were deleted, and its first
 * call still counts.
 */
const isKeptWithoutTexts = (workspaceId: string): SQL => sql`(f.kind LIKE 'repeated-%' AND EXISTS (
  SELECT FROM ${transcripts} AS t
  WHERE t.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND t.row_set_id = f.row_set_id AND t.rows_deleted_at IS NOT NULL
) AND EXISTS (
  SELECT FROM ${toolCalls} AS c
  WHERE c.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND c.row_set_id = f.row_set_id AND c.line_number = f.line_number
    AND c.tool_name = f.tool_name AND c.is_own
))`;

/** Cold caches and unfinished sessions, as columns of the table. */
function selectSessionFindings(scope: FindingScope): SQL {
  const workspace = sql`${scope.workspaceId}::text`;
  return sql`
    WITH ${coldCacheQueries(scope)}, ${unfinishedSessionQueries(scope)}
    SELECT ${workspace} AS workspace_id, session_id, row_set_id, 'cold-cache' AS kind, is_subagent, model, git_branch, "timestamp",
      message_id, line_number, NULL AS tool_name, model AS subject, 1 AS times, 0::bigint AS output_bytes, tokens, pause_ms,
      NULL::text[] AS response_keys, cost_usd
    FROM cold_cache
    UNION ALL
    SELECT ${workspace}, session_id, row_set_id, 'unfinished-session', false, NULL, NULL, "timestamp", message_id, line_number,
      tool_name, subject, 1, 0, tokens, NULL, NULL, cost_usd
    FROM unfinished_session`;
}

/** Repeats, as columns of the table. */
function selectRepeats(scope: FindingScope): SQL {
  const repeats = (kind: string, query: string): SQL => sql`
    SELECT ${scope.workspaceId}::text AS workspace_id, session_id, row_set_id, ${sql.raw(`'${kind}'`)} AS kind, is_subagent, model,
      NULL AS git_branch, "timestamp", message_id, line_number, tool_name, subject, times, output_bytes, 0::bigint AS tokens,
      NULL::bigint AS pause_ms, response_keys, NULL::numeric AS cost_usd
    FROM ${sql.raw(query)}`;
  return sql`
    WITH ${repeatQueries(scope)}
    ${repeats('repeated-call', 'repeated_call')}
    UNION ALL ${repeats('repeated-error', 'repeated_error')}
    UNION ALL ${repeats('repeated-read', 'repeated_read')}`;
}
