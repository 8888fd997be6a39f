import type { Database } from '../database/database.ts';
import { lockSession } from '../database/lock-sessions.ts';
import { isAfter, readPages } from '../database/read-pages.ts';
import { and, asc, eq, inArray, isNull, lt, or, sql } from '../drizzle.cjs';
import { rawObjectDeletions, type TranscriptRow, transcripts } from '../schema/transcripts.ts';
import { IS_SETTLED, LAST_ACTIVITY } from './list-expired.ts';

/**
 * Records that a transcript's raw object is lost or damaged, or intact again. Does nothing if the transcript now names
 * another object.
 */
export async function markRawDamaged(
  database: Database,
  { workspace_id, id, object_key }: Pick<TranscriptRow, 'workspace_id' | 'id' | 'object_key'>,
  isDamaged: boolean,
): Promise<void> {
  await database
    .update(transcripts)
    .set({ raw_damaged_at: isDamaged ? sql`now()` : null })
    .where(
      and(
        eq(transcripts.workspace_id, workspace_id),
        eq(transcripts.id, id),
        eq(transcripts.object_key, object_key),
        // An object already known to be damaged keeps its date.
        isDamaged ? isNull(transcripts.raw_damaged_at) : undefined,
      ),
    );
}

/**
 * Marks a transcript whose last activity is before that time as having no raw object, and returns the object's key,
 * which the caller records for deletion. Undefined if it is in use, younger, or already marked. Fails with SQLSTATE
 * 55P03 if the session is busy for 5 s.
 */
export async function markRawDeleted(
  transaction: Database,
  { workspaceId, sessionId, transcriptId }: { workspaceId: string; sessionId: string; transcriptId: string },
  before: string,
): Promise<string | undefined> {
  await transaction.execute(sql`SET LOCAL lock_timeout = '5s'`);
  await lockSession(transaction, workspaceId, sessionId);
  const { rows } = await transaction.execute<{ object_key: string }>(sql`
    UPDATE ${transcripts} AS t SET raw_deleted_at = now()
    WHERE t.workspace_id = ${workspaceId} AND t.id = ${transcriptId} AND t.raw_deleted_at IS NULL
      AND ${IS_SETTLED} AND ${LAST_ACTIVITY} < ${before}
    RETURNING t.object_key`);
  return rows[0]?.object_key;
}

/** Makes a transcript name a redacted copy of its bytes, whose SHA-256 (hex) is `storedSha256`. */
export async function nameRedactedObject(
  transaction: Database,
  transcript: Pick<TranscriptRow, 'workspace_id' | 'id'>,
  copy: { objectKey: string; storedSha256: string },
): Promise<void> {
  await transaction
    .update(transcripts)
    .set({ object_key: copy.objectKey, stored_sha256: copy.storedSha256 })
    .where(and(eq(transcripts.workspace_id, transcript.workspace_id), eq(transcripts.id, transcript.id)));
}

/**
 * Makes a transcript name another object with the uploaded bytes. Returns false if it now names another one, or if
 * retention has deleted its object and no rows must be made from it.
 */
export async function replaceRawObject(
  database: Database,
  transcript: Pick<TranscriptRow, 'workspace_id' | 'id' | 'object_key'>,
  objectKey: string,
): Promise<boolean> {
  const replaced = await database
    .update(transcripts)
    .set({ object_key: objectKey, stored_sha256: null, raw_deleted_at: null, raw_damaged_at: null })
    .where(
      and(
        eq(transcripts.workspace_id, transcript.workspace_id),
        eq(transcripts.id, transcript.id),
        eq(transcripts.object_key, transcript.object_key),
        or(isNull(transcripts.raw_deleted_at), eq(transcripts.status, 'failed')),
      ),
    )
    .returning({ id: transcripts.id });
  return replaced.length > 0;
}

export interface RawObjectDeletion {
  workspaceId: string;
  /** A key; or, with a slash at its end, all keys that begin with it. */
  objectKey: string;
}

const PAGE_ROWS = 1000;

/** Raw objects of a workspace, or of all, that were recorded for deletion before that time (ISO 8601), page by page. */
export function listRawObjectDeletions(
  database: Database,
  recordedBefore: string,
  workspaceId?: string,
): AsyncGenerator<RawObjectDeletion[]> {
  const { workspace_id, object_key, recorded_at } = rawObjectDeletions;
  return readPages<RawObjectDeletion>(PAGE_ROWS, (last) =>
    database
      .select({ workspaceId: workspace_id, objectKey: object_key })
      .from(rawObjectDeletions)
      .where(
        and(
          lt(recorded_at, recordedBefore),
          workspaceId === undefined ? undefined : eq(workspace_id, workspaceId),
          isAfter(workspace_id, object_key, last && { workspaceId: last.workspaceId, key: last.objectKey }),
        ),
      )
      .orderBy(asc(workspace_id), asc(object_key))
      .limit(PAGE_ROWS),
  );
}

/** True if any of these, each a key or the beginning of one, is recorded for deletion. */
export async function isRawObjectDeletionRecorded(
  database: Database,
  workspaceId: string,
  objectKeys: readonly string[],
): Promise<boolean> {
  const rows = await database
    .select({ objectKey: rawObjectDeletions.object_key })
    .from(rawObjectDeletions)
    .where(
      and(eq(rawObjectDeletions.workspace_id, workspaceId), inArray(rawObjectDeletions.object_key, [...objectKeys])),
    )
    .limit(1);
  return rows.length > 0;
}

/**
 * Records raw objects that nothing names once the transaction is committed. The caller then deletes them and removes
 * the records; what it does not get to is deleted later. A key with a slash at its end stands for all that begin with
 * it.
 */
export async function recordRawObjectDeletions(
  transaction: Database,
  workspaceId: string,
  objectKeys: readonly string[],
): Promise<void> {
  await transaction.execute(sql`
    INSERT INTO ${rawObjectDeletions} (workspace_id, object_key)
    SELECT ${workspaceId}, unnest(${sql.param([...objectKeys])}::text[])
    ON CONFLICT DO NOTHING`);
}

/** Removes the records of deleted raw objects. */
export async function forgetRawObjectDeletions(
  database: Database,
  workspaceId: string,
  objectKeys: readonly string[],
): Promise<void> {
  if (objectKeys.length === 0) return;
  await database
    .delete(rawObjectDeletions)
    .where(
      and(eq(rawObjectDeletions.workspace_id, workspaceId), inArray(rawObjectDeletions.object_key, [...objectKeys])),
    );
}

/** Removes all records of a workspace, which is deleted with everything in it. */
export async function forgetWorkspaceDeletions(database: Database, workspaceId: string): Promise<void> {
  await database.delete(rawObjectDeletions).where(eq(rawObjectDeletions.workspace_id, workspaceId));
}
