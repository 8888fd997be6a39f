import type { Database } from '../database/database.ts';
import { and, asc, eq, gt, inArray, lt, or, sql } from '../drizzle.cjs';
import { rawObjectDeletions } from './raw-object-deletions-schema.ts';

export interface RawObjectDeletion {
  workspaceId: string;
  /** A key; or, with a slash at its end, all keys that begin with it. */
  objectKey: string;
}

const PAGE_ROWS = 1000;

/** Raw objects of all workspaces that are to be deleted, as recorded before that time (ISO 8601), a page at a time. */
export async function* listRawObjectDeletions(
  database: Database,
  recordedBefore: string,
): AsyncGenerator<RawObjectDeletion[]> {
  const { workspace_id, object_key, recorded_at } = rawObjectDeletions;
  let last: RawObjectDeletion | undefined;
  for (;;) {
    const page: RawObjectDeletion[] = await database
      .select({ workspaceId: workspace_id, objectKey: object_key })
      .from(rawObjectDeletions)
      .where(
        and(
          lt(recorded_at, recordedBefore),
          last === undefined
            ? undefined
            : or(
                gt(workspace_id, last.workspaceId),
                and(sql`${workspace_id} = ${last.workspaceId}`, gt(object_key, last.objectKey)),
              ),
        ),
      )
      .orderBy(asc(workspace_id), asc(object_key))
      .limit(PAGE_ROWS);
    if (page.length > 0) yield page;
    last = page.at(-1);
    if (page.length < PAGE_ROWS) return;
  }
}

/** Whether any of these, each a key or the beginning of one, is recorded as to be deleted. */
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
