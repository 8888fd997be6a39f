import type { Database } from '../database/database.ts';
import { writeFindings } from '../findings/write-findings.ts';
import { settleSearchIndex } from '../search/search-index.ts';
import { deleteReplacedUsage, type UsageChange } from '../usage/replaced-usage.ts';
import { settleUsageLedger } from '../usage/settle-usage-ledger.ts';
import { findTouchedQuarters } from '../usage/touched-quarters.ts';
import { writeRollups } from '../usage/write-rollups.ts';
import { lockSessionRows } from './lock-sessions.ts';
import { refreshSessions } from './refresh-sessions.ts';

/**
 * Makes everything that is derived from the transcripts of sessions agree with them: the usage ledger, also where it
 * credits other sessions, the sessions' rows and the roll-ups. The last step of whatever writes or deletes the rows of
 * transcripts; the caller holds the sessions' locks.
 *
 * Locks are taken in one order by all: ledger rows by key, then session rows by id. Each statement sees what the
 * holders before it committed.
 */
export async function settleSessions(transaction: Database, change: UsageChange): Promise<void> {
  const { workspaceId, sessionIds } = change;
  const affected = await settleUsageLedger(transaction, change);
  for (const sessionId of sessionIds) affected.add(sessionId);
  const affectedIds = [...affected].sort();
  const storedIds = await lockSessionRows(transaction, workspaceId, affectedIds);
  const quarters = await findTouchedQuarters(transaction, change);
  await deleteReplacedUsage(transaction, change);
  await refreshSessions(transaction, workspaceId, sessionIds, storedIds);
  if (quarters === undefined) await writeRollups(transaction, change, affectedIds, { storedIds });
  else {
    await writeRollups(transaction, change, sessionIds, { quarters, storedIds });
    const otherIds = affectedIds.filter((id) => !sessionIds.includes(id));
    if (otherIds.length > 0) await writeRollups(transaction, { workspaceId, sessionIds: [] }, otherIds);
  }
  await writeFindings(transaction, workspaceId, affectedIds, storedIds);
  await settleSearchIndex(transaction, change, storedIds);
}
