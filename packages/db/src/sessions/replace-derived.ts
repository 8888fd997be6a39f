import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import type { ReplacedRows } from '../derive/derived-rows.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { findings } from '../schema/findings.ts';
import { ROLLUPS } from '../schema/rollup-tables.ts';
import { toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import { hasDerivedState } from '../transcripts/checkpoints.ts';
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
 * False, with nothing changed, if SQL has derived the stored ones since, because other transcripts share responses with
 * the session.
 */
export async function replaceDerived(
  transaction: Database,
  workspaceId: string,
  grown: GrownSession,
): Promise<boolean> {
  const { sessionId, rowSet } = grown;
  const stored = await lockSessionRows(transaction, workspaceId, [sessionId]);
  if (!(await hasDerivedState(transaction, rowSet))) return false;
  const deletions = listDeletions(workspaceId, grown).map(
    (deletion, index) => sql`${sql.raw(`deleted_${index}`)} AS (DELETE FROM ${deletion})`,
  );
  await transaction.execute(sql`WITH ${sql.join(deletions, sql`, `)} SELECT`);
  // No other version of the session has rows.
  const refreshed = await refreshSessions(transaction, workspaceId, [sessionId], new Set());
  await markReattributed(transaction, workspaceId, stored, refreshed);
  return true;
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
