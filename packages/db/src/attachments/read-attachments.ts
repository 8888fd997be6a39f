import type { AttachmentReference } from '@recount/core';
import type { Database } from '../database/database.ts';
import { isAfter, readPages } from '../database/read-pages.ts';
import { and, asc, eq, inArray, sql } from '../drizzle.cjs';
import { isOneOf } from '../filters/attributed-to.ts';
import { type AttachmentRow, attachments } from '../schema/attachments.ts';
import { sessions } from '../schema/transcripts.ts';

interface AttachmentPage {
  after?: { path: string; id: string } | undefined;
  limit: number;
  onlyNames?: readonly string[] | null;
}

/**
 * A page of a session's attachments, by path; a path has several if several uploaders uploaded different bytes. With
 * `onlyNames`, those that someone with one of these names, or the uploader of their session, has sent.
 */
export async function listAttachments(
  database: Database,
  workspaceId: string,
  sessionId: string,
  { after, limit, onlyNames }: AttachmentPage,
): Promise<AttachmentRow[]> {
  const isOfNames =
    onlyNames &&
    sql`CASE WHEN ${attachments.person} IS NOT NULL THEN ${isOneOf(sql`${attachments.person}`, onlyNames)}
      ELSE EXISTS (SELECT FROM ${sessions} AS s WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}
        AND s.uploader_key_id = ${attachments.uploader_key_id}) END`;
  return await database
    .select()
    .from(attachments)
    .where(
      and(
        eq(attachments.workspace_id, workspaceId),
        eq(attachments.session_id, sessionId),
        after && sql`(${attachments.path}, ${attachments.id}) > (${after.path}, ${after.id})`,
        isOfNames ?? undefined,
      ),
    )
    .orderBy(asc(attachments.path), asc(attachments.id))
    .limit(limit);
}

export async function findAttachment(
  database: Database,
  workspaceId: string,
  id: string,
): Promise<AttachmentRow | undefined> {
  const [row] = await database
    .select()
    .from(attachments)
    .where(and(eq(attachments.workspace_id, workspaceId), eq(attachments.id, id)));
  return row;
}

export async function findAttachmentByObject(
  database: Database,
  workspaceId: string,
  objectKey: string,
): Promise<AttachmentRow | undefined> {
  const [row] = await database
    .select()
    .from(attachments)
    .where(and(eq(attachments.workspace_id, workspaceId), eq(attachments.object_key, objectKey)));
  return row;
}

/**
 * The attachments at these places, in no order. If several uploaders uploaded the same path, the session owner's, or
 * else the first.
 */
export async function findReferencedAttachments(
  database: Database,
  workspaceId: string,
  references: readonly AttachmentReference[],
): Promise<AttachmentRow[]> {
  if (references.length === 0) return [];
  const rows = await database
    .select({ attachment: attachments, owner: sessions.uploader_key_id })
    .from(attachments)
    .leftJoin(sessions, and(eq(sessions.workspace_id, workspaceId), eq(sessions.session_id, attachments.session_id)))
    .where(
      and(
        eq(attachments.workspace_id, workspaceId),
        inArray(attachments.session_id, [...new Set(references.map(({ sessionId }) => sessionId))]),
        inArray(attachments.path, [...new Set(references.map(({ path }) => path))]),
      ),
    )
    .orderBy(asc(attachments.id));
  const byPlace = Map.groupBy(rows, ({ attachment }) => `${attachment.session_id}/${attachment.path}`);
  return [...byPlace.values()].flatMap((all) => {
    const chosen = all.find(({ attachment, owner }) => attachment.uploader_key_id === owner) ?? all[0];
    return chosen === undefined ? [] : [chosen.attachment];
  });
}

const PAGE_ROWS = 1000;

/** Every attachment of a workspace, or of all, page by page, for maintenance only. */
export function listAllAttachments(database: Database, workspaceId?: string): AsyncGenerator<AttachmentRow[]> {
  const { workspace_id, id } = attachments;
  return readPages<AttachmentRow>(PAGE_ROWS, (last) =>
    database
      .select()
      .from(attachments)
      .where(
        and(
          workspaceId === undefined ? undefined : eq(workspace_id, workspaceId),
          isAfter(workspace_id, id, last && { workspaceId: last.workspace_id, key: last.id }),
        ),
      )
      .orderBy(asc(workspace_id), asc(id))
      .limit(PAGE_ROWS),
  );
}
