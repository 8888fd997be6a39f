import type { Database } from '../database/database.ts';
import { and, asc, eq, gt, inArray, lt } from '../drizzle.cjs';
import { type AttachmentRow, attachments } from '../schema/attachments.ts';
import { recordRawObjectDeletions } from '../transcripts/raw-objects.ts';

/**
 * Deletes the attachments of a session, whose lock the caller holds, and records their objects for deletion. Returns
 * the objects' keys, which the caller deletes after the transaction.
 */
export async function deleteAttachments(
  transaction: Database,
  workspaceId: string,
  sessionId: string,
): Promise<string[]> {
  const deleted = await transaction
    .delete(attachments)
    .where(and(eq(attachments.workspace_id, workspaceId), eq(attachments.session_id, sessionId)))
    .returning({ objectKey: attachments.object_key });
  const objectKeys = deleted.map(({ objectKey }) => objectKey);
  await recordRawObjectDeletions(transaction, workspaceId, objectKeys);
  return objectKeys;
}

export type ExpiredAttachment = Pick<AttachmentRow, 'id' | 'session_id' | 'object_key' | 'size_bytes'>;

/** Attachments whose files were written before that time (ISO 8601), at most `limit`, after a given one. */
export async function listExpiredAttachments(
  database: Database,
  workspaceId: string,
  before: string,
  { after, limit }: { after?: Pick<ExpiredAttachment, 'id'> | undefined; limit: number },
): Promise<ExpiredAttachment[]> {
  const { id, session_id, object_key, size_bytes } = attachments;
  return await database
    .select({ id, session_id, object_key, size_bytes })
    .from(attachments)
    .where(and(eq(attachments.workspace_id, workspaceId), lt(attachments.modified_at, before), gt(id, after?.id ?? '')))
    .orderBy(asc(id))
    .limit(limit);
}

/** Deletes attachments of a workspace and records their objects for deletion; returns those that still existed. */
export async function deleteExpiredAttachments(
  transaction: Database,
  workspaceId: string,
  ids: readonly string[],
): Promise<ExpiredAttachment[]> {
  const { id, session_id, object_key, size_bytes } = attachments;
  const deleted = await transaction
    .delete(attachments)
    .where(and(eq(attachments.workspace_id, workspaceId), inArray(attachments.id, [...ids])))
    .returning({ id, session_id, object_key, size_bytes });
  await recordRawObjectDeletions(
    transaction,
    workspaceId,
    deleted.map((row) => row.object_key),
  );
  return deleted;
}
