import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { readPages } from '../database/read-pages.ts';
import { and, eq, gt, inArray, type SQL, sql } from '../drizzle.cjs';
import { sessionAnnotations } from '../schema/session-annotations.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { type Actor, addAuditEntry } from '../workspaces/audit-log.ts';

/** The name, star, tags and note that people gave to a session. */
export type SessionAnnotation = Pick<
  typeof sessionAnnotations.$inferSelect,
  'given_title' | 'is_starred' | 'tags' | 'note'
>;

export type AnnotationRow = Omit<typeof sessionAnnotations.$inferSelect, 'workspace_id'>;

/** The annotations of a session without any. */
export const NO_ANNOTATION: SessionAnnotation = { given_title: null, is_starred: false, tags: [], note: null };

const { workspace_id, session_id, given_title, is_starred, tags, note, updated_at } = sessionAnnotations;

/** The annotations of these sessions, by session; leaves out sessions without any. */
export async function readAnnotations(
  database: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<Map<string, SessionAnnotation>> {
  if (sessionIds.length === 0) return new Map();
  const rows = await database
    .select({ session_id, given_title, is_starred, tags, note })
    .from(sessionAnnotations)
    .where(and(eq(workspace_id, workspaceId), inArray(session_id, [...new Set(sessionIds)])));
  return new Map(rows.map(({ session_id: id, ...annotation }) => [id, annotation]));
}

/**
 * Changes the given fields of a session's annotation, with an entry in the audit log, which names the fields only.
 * Returns the annotation after that; undefined if there is no such session.
 */
export async function annotateSession(
  transaction: Database,
  { workspaceId, sessionId, actor }: { workspaceId: string; sessionId: string; actor: Actor },
  change: Partial<SessionAnnotation>,
): Promise<SessionAnnotation | undefined> {
  // The session cannot be deleted until the annotation is stored, which the deletion then finds.
  const { rows: known } = await transaction.execute(sql`
    SELECT FROM ${sessions} AS s WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId} FOR KEY SHARE`);
  if (known.length === 0) return undefined;
  const fields = Object.keys(change);
  const values = { ...change, ...(change.tags && { tags: [...new Set(change.tags)].sort() }) };
  const [row = NO_ANNOTATION] = await transaction
    .insert(sessionAnnotations)
    .values({ workspace_id: workspaceId, session_id: sessionId, ...values })
    .onConflictDoUpdate({
      target: [workspace_id, session_id],
      set: { ...values, updated_at: sql`excluded.updated_at` },
    })
    .returning({ given_title, is_starred, tags, note });
  await transaction
    .delete(sessionAnnotations)
    .where(
      and(
        ofSession(workspaceId, sessionId),
        sql`${given_title} IS NULL AND NOT ${is_starred} AND ${tags} = '{}' AND ${note} IS NULL`,
      ),
    );
  const details = { fields };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'session.annotate', subjects: [sessionId], details });
  return row;
}

const ofSession = (workspaceId: string, sessionId: string): SQL | undefined =>
  and(eq(workspace_id, workspaceId), eq(session_id, sessionId));

/** Deletes the annotation of a session that has no transcript any more. */
export async function deleteLostAnnotation(
  transaction: Database,
  workspaceId: string,
  sessionId: string,
): Promise<void> {
  await transaction.execute(sql`
    DELETE FROM ${sessionAnnotations} AS a
    WHERE a.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND a.session_id = ${sessionId} AND NOT EXISTS (
      SELECT FROM ${transcripts} AS t
      WHERE t.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND t.session_id = ${sessionId})`);
}

/** Deletes the texts of a session's annotation; its star and tags stay. */
export async function deleteAnnotationTexts(
  transaction: Database,
  workspaceId: string,
  sessionId: string,
): Promise<void> {
  await transaction
    .update(sessionAnnotations)
    .set({ given_title: null, note: null, updated_at: sql`now()` })
    .where(ofSession(workspaceId, sessionId));
}

/** The tags in use, the most frequent first, with the number of their sessions. */
export async function listSessionTags(
  database: Database,
  workspaceId: string,
  limit: number,
): Promise<{ tag: string; sessions: number }[]> {
  const { rows } = await database.execute<{ tag: string; sessions: number }>(sql`
    SELECT tag, count(*)::int AS sessions FROM ${sessionAnnotations} AS a CROSS JOIN LATERAL unnest(a.tags) AS tag
    WHERE a.workspace_id = ${workspaceId} GROUP BY tag ORDER BY sessions DESC, tag LIMIT ${limit}::int`);
  return rows;
}

/** Changes with each change of a workspace's annotations; undefined if it has none. */
export async function readAnnotationState(database: Database, workspaceId: string): Promise<string | undefined> {
  const { rows } = await database.execute<{ state: string | null }>(sql`
    SELECT sum(hashtextextended(jsonb_build_array(session_id, given_title, is_starred, tags, note)::text, 0))::text AS state
    FROM ${sessionAnnotations} WHERE workspace_id = ${workspaceId}`);
  return rows[0]?.state ?? undefined;
}

const PAGE_ROWS = 500;

/** All annotations of a workspace, page by page, in the order of their sessions' ids. */
export function listAnnotations(database: Database, workspaceId: string): AsyncGenerator<AnnotationRow[]> {
  return readPages<AnnotationRow>(PAGE_ROWS, (last) =>
    database
      .select({ session_id, given_title, is_starred, tags, note, updated_at })
      .from(sessionAnnotations)
      .where(and(eq(workspace_id, workspaceId), last && gt(session_id, last.session_id)))
      .orderBy(session_id)
      .limit(PAGE_ROWS),
  );
}

/** Stores annotations again, and leaves those alone that are there. */
export async function restoreAnnotations(
  transaction: Database,
  workspaceId: string,
  rows: readonly AnnotationRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await transaction
    .insert(sessionAnnotations)
    .values(rows.map((row) => ({ ...row, workspace_id: workspaceId })))
    .onConflictDoNothing();
}
