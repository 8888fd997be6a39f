import type { Database } from '../database.ts';
import { lockSessionRows } from './lock-session-rows.ts';
import { refreshSession } from './refresh-session.ts';
import { deleteReplacedUsage, type UsageChange } from './replaced-usage.ts';
import { settleSearchIndex } from './search/settle-search-index.ts';
import { settleUsageLedger } from './settle-usage-ledger.ts';
import { writeRollups } from './write-rollups.ts';

/**
 * Makes everything that is derived from a session's transcripts agree with them: the usage ledger, also where it
 * credits other sessions, the session's row and the roll-ups. The last step of whatever writes or deletes the rows of a
 * transcript; the caller holds the session's lock.
 *
 * Locks are taken in one order by all: ledger rows by key, then session rows by id. Each statement sees what the
 * holders before it committed.
 */
export async function settleSession(transaction: Database, change: UsageChange): Promise<void> {
  const { workspaceId, sessionId } = change;
  const affected = await settleUsageLedger(transaction, change);
  affected.add(sessionId);
  const sessionIds = [...affected].sort();
  await lockSessionRows(transaction, workspaceId, sessionIds);
  await deleteReplacedUsage(transaction, change);
  await refreshSession(transaction, workspaceId, sessionId);
  await writeRollups(transaction, change, sessionIds);
  await settleSearchIndex(transaction, change);
}
