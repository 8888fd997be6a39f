import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import type { ReplacedRows } from '../derive/derived-rows.ts';
import { toDayMs, toIso } from '../derive/keys.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { findings } from '../schema/findings.ts';
import { ROLLUPS } from '../schema/rollup-tables.ts';
import { usageDayRollup } from '../schema/rollups.ts';
import { toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import { isReplaced } from '../transcripts/replaced-usage.ts';
import type { RowSet } from '../transcripts/transcript-rows.ts';
import { type Attributions, markReattributed } from '../usage/attribution.ts';
import { toDay } from '../usage/stale-days.ts';
import type { DerivedTranscript } from './add-derived-rows.ts';
import { refreshSessions } from './refresh-sessions.ts';

/**
 * Deletes the rows that the derived ones of a session that grew take the place of, and refreshes the session's row. The
 * caller holds that row, which is among `stored`, and has deleted what is replaced in the ledger.
 */
export async function replaceDerived(
  transaction: Database,
  workspaceId: string,
  { transcript, rowSet, derived }: DerivedTranscript,
  stored: Attributions,
): Promise<void> {
  if (derived.replaces === undefined) return;
  const sessionId = transcript.session_id;
  const deletions = listDeletions(workspaceId, { sessionId, rowSet, replaces: derived.replaces }).map(
    (deletion, index) => sql`${sql.raw(`deleted_${index}`)} AS (DELETE FROM ${deletion})`,
  );
  await transaction.execute(sql`WITH ${sql.join(deletions, sql`, `)} SELECT`);
  // No other version of the session has rows.
  const refreshed = await refreshSessions(transaction, workspaceId, [sessionId], new Set());
  await markReattributed(transaction, workspaceId, stored, refreshed);
}

/** The sessions with a response that has a copy in another one. Those with several entries of one are among them. */
export async function sharesResponses(
  transaction: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<Set<string>> {
  const workspace = opaqueWorkspaceId(workspaceId);
  const { rows } = await transaction.execute<{ session_id: string }>(sql`
    SELECT s.session_id FROM unnest(${sql.param([...sessionIds])}::text[]) AS s(session_id)
    WHERE EXISTS (
      SELECT FROM ${usageLedger} AS l
      WHERE l.workspace_id = ${workspace} AND l.session_id = s.session_id AND l.copy_count > 1
    ) OR EXISTS (
      SELECT FROM ${usageDayRollup} AS r
      WHERE r.workspace_id = ${workspace} AND r.session_id = s.session_id AND r.is_shared
    )`);
  return new Set(rows.map(({ session_id }) => session_id));
}

/** Deletes the rows of the ledger that sessions which grew have derived again. */
export async function deleteReplacedLedger(
  transaction: Database,
  workspaceId: string,
  all: readonly DerivedTranscript[],
): Promise<void> {
  const replaced = all.flatMap(({ transcript, derived }) =>
    (derived.replaces?.responseKeys ?? []).map((key) => ({ agent: transcript.agent, key })),
  );
  if (replaced.length === 0) return;
  await transaction.execute(sql`
    DELETE FROM ${usageLedger} AS l
    USING unnest(${sql.param(replaced.map(({ agent }) => agent))}::text[],
      ${sql.param(replaced.map(({ key }) => key))}::text[]) AS k(agent, response_key)
    WHERE l.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND l.agent = k.agent AND l.response_key = k.response_key`);
}

interface Replacement {
  sessionId: string;
  rowSet: RowSet;
  replaces: ReplacedRows;
}

function listDeletions(workspaceId: string, { sessionId, rowSet, replaces }: Replacement): SQL[] {
  const workspace = opaqueWorkspaceId(workspaceId);
  const ofSession = sql`r.workspace_id = ${workspace} AND r.session_id = ${sessionId}`;
  const times = replaces.buckets.map((bucketMs) => new Date(bucketMs).toISOString());
  const days = [...new Set(replaces.buckets.map((bucketMs) => toIso(toDayMs(bucketMs))))];
  const change = { written: [rowSet], removedRowSetIds: [] };
  const rollups = Object.values(ROLLUPS).flatMap((rollup) => [
    ...(rollup.buckets === undefined
      ? []
      : [
          sql`${rollup.buckets} AS r WHERE ${ofSession}
            AND (bucket_start IS NULL OR bucket_start = ANY(${sql.param(times)}::timestamptz[]))`,
        ]),
    sql`${rollup.days} AS r WHERE ${ofSession}
      AND (first_bucket_start IS NULL OR ${toDay('first_bucket_start')} = ANY(${sql.param(days)}::timestamptz[]))`,
  ]);
  const deletions = [...rollups, sql`${findings} AS r WHERE ${ofSession}`];
  // Citus cannot run a part of a WITH that deletes nothing for certain.
  const { entry, call } = rowSet.firstNewNumbers;
  if (entry > 0) {
    deletions.push(
      sql`${usageEntries} AS e WHERE e.workspace_id = ${workspace} AND ${isReplaced(change, 'e', 'entry')}`,
    );
  }
  if (call > 0) {
    deletions.push(sql`${toolCalls} AS c WHERE c.workspace_id = ${workspace} AND ${isReplaced(change, 'c', 'call')}`);
  }
  return deletions;
}
