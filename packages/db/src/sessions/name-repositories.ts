import type { Database, DatabasePool } from '../database/database.ts';
import { tryLockSessions } from '../database/lock-sessions.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { sql } from '../drizzle.cjs';
import { toJsonText } from '../schema/column-types.ts';
import { type TranscriptRow, transcripts } from '../schema/transcripts.ts';
import { nameRepository } from '../transcripts/transcript-rows.ts';
import { markReattributed } from '../usage/attribution.ts';
import { lockSessionRows } from './lock-session-rows.ts';
import { refreshSessions } from './refresh-sessions.ts';

/** Transcripts named in one transaction, whose sessions wait for no more than these. */
const PAGE_ROWS = 200;

type Named = Pick<TranscriptRow, 'id' | 'session_id' | 'repository_url' | 'sent_repository' | 'project'>;

/**
 * Names the repositories of a workspace's transcripts that were ingested before repositories had names, and of their
 * sessions, a few at a time. Leaves sessions that are being written for a later call. Returns the number of transcripts
 * that now have a name.
 */
export async function nameRepositories(
  { withTransaction }: Pick<DatabasePool, 'withTransaction'>,
  workspaceId: string,
  signal?: AbortSignal,
): Promise<number> {
  let count = 0;
  for (let afterId = ''; ; ) {
    const page = await withTransaction((transaction) => namePage(transaction, workspaceId, afterId), { signal });
    count += page.namedCount;
    if (page.lastId === undefined) return count;
    afterId = page.lastId;
  }
}

async function namePage(
  transaction: Database,
  workspaceId: string,
  afterId: string,
): Promise<{ namedCount: number; lastId: string | undefined }> {
  const { rows } = await transaction.execute<Named & Record<string, unknown>>(sql`
    SELECT id, session_id, repository_url, sent_repository, project FROM ${transcripts}
    WHERE workspace_id = ${opaqueWorkspaceId(workspaceId)} AND id > ${afterId} AND ingested_at IS NOT NULL
      AND repository IS NULL AND coalesce(repository_url, sent_repository, project) IS NOT NULL
    ORDER BY id LIMIT ${PAGE_ROWS}`);
  const lastId = rows.length < PAGE_ROWS ? undefined : rows.at(-1)?.id;
  const named = rows.flatMap((row) => {
    const repository = nameRepository(row);
    return repository === null ? [] : [{ id: row.id, session_id: row.session_id, repository }];
  });
  if (named.length === 0) return { namedCount: 0, lastId };
  const locked = await tryLockSessions(
    transaction,
    workspaceId,
    named.map(({ session_id }) => session_id),
  );
  const sessionIds = [...locked].sort();
  const before = await lockSessionRows(transaction, workspaceId, sessionIds);
  const { rowCount } = await transaction.execute(sql`
    UPDATE ${transcripts} AS t SET repository = n.repository
    FROM jsonb_populate_recordset(NULL::${transcripts}, ${toJsonText(named)}::jsonb) AS n
    WHERE t.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND t.id = n.id AND t.session_id = ANY(${sql.param(sessionIds)}::text[])`);
  const after = await refreshSessions(transaction, workspaceId, sessionIds, new Set());
  await markReattributed(transaction, workspaceId, before, after);
  return { namedCount: rowCount ?? 0, lastId };
}
