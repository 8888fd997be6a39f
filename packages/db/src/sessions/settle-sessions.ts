import type { Database } from '../database/database.ts';
import { writeFindings, writeTouchedFindings } from '../findings/write-findings.ts';
import { deleteReplacedUsage, type UsageChange } from '../transcripts/replaced-usage.ts';
import { markReattributed } from '../usage/attribution.ts';
import { settleUsageLedger } from '../usage/settle-usage-ledger.ts';
import { writeRollups } from '../usage/write-rollups.ts';
import { lockSessionRows } from './lock-session-rows.ts';
import { refreshSessions } from './refresh-sessions.ts';
import { findTouchedRows, type TouchedRows } from './touched-rows.ts';

/**
 * Makes everything derived from the transcripts of sessions agree with them. The usage ledger, even where it credits
 * other sessions, the sessions' rows and the roll-ups. It is the last step of every write or deletion of transcripts'
 * rows; the caller holds the sessions' locks.
 *
 * Locks are always taken in the same order, ledger rows by key, then session rows by id. Each statement sees what
 * earlier lock holders committed.
 */
export async function settleSessions(transaction: Database, change: UsageChange): Promise<void> {
  const { workspaceId, sessionIds } = change;
  const affected = await settleUsageLedger(transaction, change);
  for (const sessionId of sessionIds) affected.add(sessionId);
  const affectedIds = [...affected].sort();
  const stored = await lockSessionRows(transaction, workspaceId, affectedIds);
  const storedIds = new Set(stored.keys());
  const touched = await findTouchedRows(transaction, change);
  await deleteReplacedUsage(transaction, change);
  const refreshed = await refreshSessions(transaction, workspaceId, sessionIds, storedIds);
  await markReattributed(transaction, workspaceId, stored, refreshed);
  if (touched === undefined) {
    await writeRollups(transaction, change, affectedIds, { storedIds });
    await writeFindings(transaction, workspaceId, affectedIds, storedIds);
  } else await writeTouched(transaction, change, affectedIds, touched, storedIds);
}

/** Makes again what is touched of a session that grew, and all of the other sessions whose credit changed. */
async function writeTouched(
  transaction: Database,
  { workspaceId, sessionIds }: UsageChange,
  affectedIds: readonly string[],
  touched: TouchedRows,
  storedIds: ReadonlySet<string>,
): Promise<void> {
  const { buckets, findings } = touched;
  await writeRollups(transaction, { workspaceId, sessionIds }, sessionIds, { buckets, storedIds });
  const otherIds = affectedIds.filter((id) => !sessionIds.includes(id));
  if (otherIds.length > 0) await writeRollups(transaction, { workspaceId, sessionIds: [] }, otherIds);
  await writeFindings(transaction, workspaceId, findings === undefined ? affectedIds : otherIds, storedIds);
  if (findings === undefined) return;
  for (const sessionId of sessionIds) await writeTouchedFindings(transaction, workspaceId, sessionId, findings);
}
