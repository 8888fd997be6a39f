import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import type { ReplacedRows } from '../derive/derived-rows.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { findings } from '../schema/findings.ts';
import { ROLLUPS } from '../schema/rollup-tables.ts';
import { usageDayRollup } from '../schema/rollups.ts';
import { toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import { isReplaced } from '../transcripts/replaced-usage.ts';
import type { RowSet } from '../transcripts/transcript-rows.ts';
import { markReattributed } from '../usage/attribution.ts';
import { ofBuckets, ofDays, ofSessions } from '../usage/rollup-definitions.ts';
import { lockSessionRows } from './lock-session-rows.ts';
import { refreshSessions } from './refresh-sessions.ts';

/** A session that grew, and what the parse of its new lines gave. */
export interface GrownSession {
  agent: string;
  sessionId: string;
  rowSet: RowSet;
  replaces: ReplacedRows;
}

/**
 * Deletes the rows that the derived ones of a session that grew take the place of, and refreshes the session's row.
 * False, with nothing changed, if the session shares a response with another one, so that its stored rows depend on that
 * one, too. With the session's row locked, no one else changes that.
 */
export async function replaceDerived(
  transaction: Database,
  workspaceId: string,
  grown: GrownSession,
): Promise<boolean> {
  const { sessionId } = grown;
  const stored = await lockSessionRows(transaction, workspaceId, [sessionId]);
  if (await sharesResponses(transaction, workspaceId, sessionId)) return false;
  const deletions = listDeletions(workspaceId, grown).map(
    (deletion, index) => sql`${sql.raw(`deleted_${index}`)} AS (DELETE FROM ${deletion})`,
  );
  await transaction.execute(sql`WITH ${sql.join(deletions, sql`, `)} SELECT`);
  // No other version of the session has rows.
  const refreshed = await refreshSessions(transaction, workspaceId, [sessionId], new Set());
  await markReattributed(transaction, workspaceId, stored, refreshed);
  return true;
}

/** True if a response of the session has a copy in another one. It is also true of one with several entries here. */
async function sharesResponses(transaction: Database, workspaceId: string, sessionId: string): Promise<boolean> {
  const ofSession = sql`workspace_id = ${opaqueWorkspaceId(workspaceId)} AND session_id = ${sessionId}`;
  const { rows } = await transaction.execute<{ is_shared: boolean }>(sql`
    SELECT EXISTS (SELECT FROM ${usageLedger} WHERE ${ofSession} AND copy_count > 1)
      OR EXISTS (SELECT FROM ${usageDayRollup} WHERE ${ofSession} AND is_shared) AS is_shared`);
  return rows[0]?.is_shared === true;
}

function listDeletions(workspaceId: string, { agent, sessionId, rowSet, replaces }: GrownSession): SQL[] {
  const workspace = opaqueWorkspaceId(workspaceId);
  const scope = { sessionIds: [sessionId], buckets: replaces.buckets };
  const change = { written: [rowSet], removedRowSetIds: [] };
  const rollups = Object.values(ROLLUPS).flatMap(({ buckets, days }) => [
    ...(buckets === undefined
      ? []
      : [sql`${buckets} AS r WHERE ${ofBuckets('r', sql.raw('r.bucket_start'), workspaceId, scope)}`]),
    sql`${days} AS r WHERE ${ofDays('r', 'first_bucket_start', workspaceId, scope)}`,
  ]);
  return [
    ...rollups,
    sql`${findings} AS f WHERE ${ofSessions('f', workspaceId, scope)}`,
    sql`${usageLedger} AS l WHERE l.workspace_id = ${workspace} AND l.agent = ${agent}
      AND l.response_key = ANY(${sql.param(replaces.responseKeys)}::text[])`,
    sql`${usageEntries} AS e WHERE e.workspace_id = ${workspace} AND ${isReplaced(change, 'e', 'entry')}`,
    sql`${toolCalls} AS c WHERE c.workspace_id = ${workspace} AND ${isReplaced(change, 'c', 'call')}`,
  ];
}
