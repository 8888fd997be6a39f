import type { Database } from '../database/database.ts';
import { lockSession } from '../database/lock-sessions.ts';
import { and, eq, inArray } from '../drizzle.cjs';
import { type AttachmentRow, attachments } from '../schema/attachments.ts';
import { recordRawObjectDeletions } from '../transcripts/raw-objects.ts';

/**
 * The outcome of an attachment's upload.
 *
 * - `stored` means it is new, or replaces an earlier upload of the same key from the same path
 * - `duplicate` means the session has these bytes at this path
 * - `older` means its uploader has uploaded a later state of the file, which stays
 */
export type AttachmentOutcome = 'stored' | 'duplicate' | 'older';

interface InsertedAttachment {
  outcome: AttachmentOutcome;
  /** The current row. */
  row: AttachmentRow;
  /** Keys of replaced objects; recorded for deletion, and to be deleted by the caller after the transaction. */
  replacedKeys: string[];
}

/**
 * Inserts an attachment whose raw object is durable. For each uploader the latest state of a file stays, whatever the
 * order of arrival, and no uploader replaces another's file. Bytes that any uploader has sent are a duplicate.
 */
export async function insertAttachment(transaction: Database, attachment: AttachmentRow): Promise<InsertedAttachment> {
  const { workspace_id: workspaceId, session_id: sessionId, path, uploader_key_id: uploader } = attachment;
  // Not the session's lock, which is taken while a transcript is ingested.
  await lockSession(transaction, workspaceId, `${sessionId}/${path}`);
  const there = await transaction
    .select()
    .from(attachments)
    .where(
      and(eq(attachments.workspace_id, workspaceId), eq(attachments.session_id, sessionId), eq(attachments.path, path)),
    );
  const same = there.find(({ sha256 }) => sha256 === attachment.sha256);
  const own = there.filter((row) => row !== same && row.uploader_key_id === uploader);
  const later = own.find((row) => compareStates(row, attachment) > 0);
  if (later !== undefined) return { outcome: 'older', row: later, replacedKeys: [] };
  if (own.length > 0) {
    const ids = own.map(({ id }) => id);
    await transaction
      .delete(attachments)
      .where(and(eq(attachments.workspace_id, workspaceId), inArray(attachments.id, ids)));
    await recordRawObjectDeletions(
      transaction,
      workspaceId,
      own.map(({ object_key }) => object_key),
    );
  }
  const replacedKeys = own.map(({ object_key }) => object_key);
  if (same !== undefined)
    return { outcome: 'duplicate', row: await noteLaterTime(transaction, same, attachment), replacedKeys };
  await transaction.insert(attachments).values(attachment);
  return { outcome: 'stored', row: attachment, replacedKeys };
}

type State = Pick<AttachmentRow, 'modified_at' | 'size_bytes' | 'sha256'>;

/** By time; ties are broken in a fixed order. */
function compareStates(a: State, b: State): number {
  if (a.modified_at !== b.modified_at) return a.modified_at < b.modified_at ? -1 : 1;
  return a.size_bytes - b.size_bytes || (a.sha256 < b.sha256 ? -1 : 1);
}

/** A file that was rewritten with its earlier bytes. A state from in between must not replace it if it arrives late. */
async function noteLaterTime(
  transaction: Database,
  row: AttachmentRow,
  { modified_at, uploader_key_id }: AttachmentRow,
): Promise<AttachmentRow> {
  if (row.uploader_key_id !== uploader_key_id || modified_at <= row.modified_at) return row;
  await transaction
    .update(attachments)
    .set({ modified_at })
    .where(and(eq(attachments.workspace_id, row.workspace_id), eq(attachments.id, row.id)));
  return { ...row, modified_at };
}

/**
 * Makes an attachment name another object with the same bytes. Returns false if it now names another one, or is gone.
 */
export async function replaceAttachmentObject(
  transaction: Database,
  { workspace_id, id, object_key }: Pick<AttachmentRow, 'workspace_id' | 'id' | 'object_key'>,
  copy: Pick<AttachmentRow, 'object_key' | 'stored_sha256'>,
): Promise<boolean> {
  const replaced = await transaction
    .update(attachments)
    .set({ object_key: copy.object_key, stored_sha256: copy.stored_sha256 })
    .where(
      and(eq(attachments.workspace_id, workspace_id), eq(attachments.id, id), eq(attachments.object_key, object_key)),
    )
    .returning({ id: attachments.id });
  if (replaced.length === 0) return false;
  await recordRawObjectDeletions(transaction, workspace_id, [object_key]);
  return true;
}
