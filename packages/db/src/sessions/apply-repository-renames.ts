import type { Database, DatabasePool } from '../database/database.ts';
import { tryLockSessions } from '../database/lock-sessions.ts';
import { waitForWriters } from '../database/locks.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { sql } from '../drizzle.cjs';
import { repositoryRenames } from '../schema/repository-renames.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { markReattributed } from '../usage/attribution.ts';
import { listUnapplied, markApplied, reportApplied } from '../workspaces/repository-renames.ts';
import { lockWorkspaceShared } from '../workspaces/workspace-settings.ts';
import { lockSessionRows } from './lock-session-rows.ts';
import { refreshSessions } from './refresh-sessions.ts';

/** Sessions looked at with one query. */
const PAGE_ROWS = 2000;
/** Sessions renamed in one transaction, which others wait for. */
const STEP_ROWS = 200;

type Pool = Pick<DatabasePool, 'database' | 'withTransaction'>;

/**
 * Gives stored sessions the names that their repositories were renamed to, or got back, a few at a time, and marks the
 * renamings as applied. What is written from then on has the names already. Leaves sessions that are being written, and
 * so the renamings, for a later call. Returns the number of sessions that it renamed.
 */
export async function applyRepositoryRenames(pool: Pool, workspaceId: string, signal?: AbortSignal): Promise<number> {
  const { database } = pool;
  const renameIds = await listUnapplied(database, workspaceId);
  if (renameIds.length === 0) return 0;
  const { rows } = await database.execute<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM ${sessions} WHERE workspace_id = ${workspaceId}`,
  );
  const sessionCount = rows[0]?.count ?? 0;
  const first = await applyToAll(pool, workspaceId, signal, (checkedCount) => {
    const counts = { checked_count: Math.min(checkedCount, sessionCount), session_count: sessionCount };
    return reportApplied(database, workspaceId, renameIds, counts);
  });
  // Transactions that began before the renaming may write earlier names until they end.
  await waitForWriters(database, signal);
  const last = await applyToAll(pool, workspaceId, signal);
  if (last.skippedCount === 0) {
    await pool.withTransaction((transaction) => markApplied(transaction, workspaceId, renameIds), { signal });
  }
  return first.renamedCount + last.renamedCount;
}

interface Applied {
  renamedCount: number;
  /** Sessions with other names that are being written. */
  skippedCount: number;
}

async function applyToAll(
  { database, withTransaction }: Pool,
  workspaceId: string,
  signal: AbortSignal | undefined,
  onProgress: (checkedCount: number) => Promise<void> = async () => undefined,
): Promise<Applied> {
  const applied = { renamedCount: 0, skippedCount: 0 };
  let afterId = '';
  for (let checkedCount = 0; ; ) {
    const page = await readPage(database, workspaceId, afterId);
    const differing = page.filter(({ differs }) => differs).map(({ session_id }) => session_id);
    for (let start = 0; start < differing.length; start += STEP_ROWS) {
      const step = differing.slice(start, start + STEP_ROWS);
      const count = await withTransaction((transaction) => renameSessions(transaction, workspaceId, step), { signal });
      applied.renamedCount += count;
      applied.skippedCount += step.length - count;
    }
    signal?.throwIfAborted();
    checkedCount += page.length;
    await onProgress(checkedCount);
    afterId = page.at(-1)?.session_id ?? afterId;
    if (page.length < PAGE_ROWS) return applied;
  }
}

async function readPage(
  database: Database,
  workspaceId: string,
  afterId: string,
): Promise<{ session_id: string; differs: boolean }[]> {
  const workspace = opaqueWorkspaceId(workspaceId);
  const { rows } = await database.execute<{ session_id: string; differs: boolean }>(sql`
    SELECT s.session_id, s.repository IS DISTINCT FROM coalesce(r.shown_name, t.repository) AS differs
    FROM (
      SELECT session_id, repository, primary_transcript_id FROM ${sessions}
      WHERE workspace_id = ${workspace} AND session_id > ${afterId} ORDER BY session_id LIMIT ${PAGE_ROWS}::int
    ) AS s
    JOIN ${transcripts} AS t ON t.workspace_id = ${workspace} AND t.id = s.primary_transcript_id
    LEFT JOIN ${repositoryRenames} AS r ON r.workspace_id = ${workspace} AND r.name = t.repository
    ORDER BY s.session_id`);
  return rows;
}

/** Returns the number of sessions that it could lock. */
async function renameSessions(transaction: Database, workspaceId: string, allIds: readonly string[]): Promise<number> {
  if ((await lockWorkspaceShared(transaction, workspaceId)) === undefined) return allIds.length;
  const sessionIds = [...(await tryLockSessions(transaction, workspaceId, allIds))].sort();
  if (sessionIds.length === 0) return 0;
  const before = await lockSessionRows(transaction, workspaceId, sessionIds);
  const after = await refreshSessions(transaction, workspaceId, sessionIds, new Set());
  await markReattributed(transaction, workspaceId, before, after);
  return sessionIds.length;
}
