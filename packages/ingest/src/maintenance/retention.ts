import {
  type Actor,
  addAuditEntry,
  deleteExpiredAttachments,
  deleteSessionTexts,
  type ExpiredAttachment,
  listExpiredAttachments,
  listExpiredRawObjects,
  listExpiredSessions,
  listRetainingWorkspaces,
  markRawDeleted,
  recordRawObjectDeletions,
  removeFromSegments,
  type WorkspaceSettings,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { deleteRecordedObjects, finishDeletions } from '../raw-objects/delete-raw-objects.ts';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';

export interface RetentionResult {
  /** Sessions that lost, or would lose, their messages. */
  sessions: number;
  /** Raw objects of transcripts and attachments. */
  rawObjects: number;
  rawBytes: number;
  /** Sessions and raw objects that were in use (left to the next run). */
  busy: number;
}

export interface RetentionOptions {
  workspaceId: string;
  settings: Pick<WorkspaceSettings, 'rowsMaxAgeDays' | 'rawMaxAgeDays'>;
  /** Milliseconds since 1970. */
  nowMs: number;
  /** Who requested it. Default `system` (a worker, every hour). */
  actor?: Actor;
  /** Only counts. */
  dryRun?: boolean;
  signal?: AbortSignal | undefined;
}

const PAGE_ROWS = 500;
const DAY_MS = 86_400_000;
const LOCK_NOT_AVAILABLE = '55P03';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/**
 * Deletes data that have exceeded a workspace's retention (messages and texts of sessions, and raw objects, each with
 * its own limit). Every session and object is a separate transaction, so that it can be interrupted and repeated.
 */
export async function retainWorkspace(deps: Deps, options: RetentionOptions): Promise<RetentionResult> {
  const result: RetentionResult = { sessions: 0, rawObjects: 0, rawBytes: 0, busy: 0 };
  const { rowsMaxAgeDays, rawMaxAgeDays } = options.settings;
  const toTime = (days: number): string => new Date(options.nowMs - days * DAY_MS).toISOString();
  if (rowsMaxAgeDays !== null) await deleteTexts(deps, options, toTime(rowsMaxAgeDays), result);
  if (rawMaxAgeDays !== null) {
    await deleteRawObjects(deps, options, toTime(rawMaxAgeDays), result);
    await deleteAttachments(deps, options, toTime(rawMaxAgeDays), result);
  }
  return result;
}

async function deleteTexts(
  { database }: Deps,
  { workspaceId, actor = 'system', dryRun, signal }: RetentionOptions,
  before: string,
  result: RetentionResult,
): Promise<void> {
  let afterId: string | undefined;
  for (;;) {
    const sessionIds = await listExpiredSessions(database.database, workspaceId, before, { afterId, limit: PAGE_ROWS });
    for (const sessionId of sessionIds) {
      signal?.throwIfAborted();
      const isDeleted =
        dryRun ||
        (await unlessBusy(result, () =>
          database.withTransaction(async (transaction) => {
            if (!(await deleteSessionTexts(transaction, { workspaceId, sessionId }, before))) return false;
            await addAuditEntry(transaction, { workspaceId, actor, action: 'session.expire', subjects: [sessionId] });
            return true;
          }),
        ));
      if (isDeleted) result.sessions += 1;
    }
    afterId = sessionIds.at(-1);
    if (!dryRun && sessionIds.length > 0) await removeFromSegments(database, workspaceId, { signal });
    if (sessionIds.length < PAGE_ROWS) return;
  }
}

async function deleteRawObjects(
  deps: Deps,
  { workspaceId, actor = 'system', dryRun, signal }: RetentionOptions,
  before: string,
  result: RetentionResult,
): Promise<void> {
  let afterId: string | undefined;
  for (;;) {
    const expired = await listExpiredRawObjects(deps.database.database, workspaceId, before, {
      afterId,
      limit: PAGE_ROWS,
    });
    for (const { id: transcriptId, sessionId, sizeBytes } of expired) {
      signal?.throwIfAborted();
      const key = { workspaceId, sessionId, transcriptId };
      const isDeleted = dryRun || (await unlessBusy(result, () => deleteRawObject(deps, key, actor, before)));
      if (!isDeleted) continue;
      result.rawObjects += 1;
      result.rawBytes += sizeBytes;
    }
    afterId = expired.at(-1)?.id;
    if (expired.length < PAGE_ROWS) return;
  }
}

/** Page by page, each in a separate transaction. */
async function deleteAttachments(
  deps: Deps,
  { workspaceId, actor = 'system', dryRun, signal }: RetentionOptions,
  before: string,
  result: RetentionResult,
): Promise<void> {
  let after: ExpiredAttachment | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const page = { after, limit: PAGE_ROWS };
    const expired = await listExpiredAttachments(deps.database.database, workspaceId, before, page);
    const deleted = dryRun
      ? expired
      : await deps.database.withTransaction(async (transaction) => {
          const ids = expired.map(({ id }) => id);
          const rows = await deleteExpiredAttachments(transaction, workspaceId, ids);
          for (const { id, session_id } of rows) {
            const subjects = [id, session_id];
            await addAuditEntry(transaction, { workspaceId, actor, action: 'raw.expire', subjects });
          }
          return rows;
        });
    const objectKeys = deleted.map(({ object_key }) => object_key);
    if (!dryRun) await deleteRecordedObjects(deps, workspaceId, objectKeys);
    result.rawObjects += deleted.length;
    result.rawBytes += deleted.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
    after = expired.at(-1);
    if (expired.length < PAGE_ROWS) return;
  }
}

/** The object is deleted after the row's change is committed. */
async function deleteRawObject(
  deps: Deps,
  transcript: Parameters<typeof markRawDeleted>[1],
  actor: Actor,
  before: string,
): Promise<boolean> {
  const objectKey = await deps.database.withTransaction(async (transaction) => {
    const marked = await markRawDeleted(transaction, transcript, before);
    if (marked === undefined) return undefined;
    const { workspaceId, transcriptId, sessionId } = transcript;
    const subjects = [transcriptId, sessionId];
    await addAuditEntry(transaction, { workspaceId, actor, action: 'raw.expire', subjects });
    await recordRawObjectDeletions(transaction, workspaceId, [marked]);
    return marked;
  });
  if (objectKey !== undefined) await deleteRecordedObjects(deps, transcript.workspaceId, [objectKey]);
  return objectKey !== undefined;
}

async function unlessBusy(result: RetentionResult, deletion: () => Promise<boolean>): Promise<boolean> {
  try {
    return await deletion();
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    result.busy += 1;
    return false;
  }
}

function isLockTimeout(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && current.code === LOCK_NOT_AVAILABLE) return true;
  }
  return false;
}

export interface RetentionReport extends RetentionResult {
  workspaceId: string;
}

export interface RetentionDeps extends LoopDeps, Pick<IngestDependencies, 'rawStore'> {
  /** Called for every workspace with something deleted or busy. */
  onReport: (report: RetentionReport) => void;
  /** Milliseconds since 1970. Default Date.now. */
  now?: () => number;
}

const DEFAULT_INTERVAL_MS = 60 * 60 * 1000;
/** Newer deletions may still be in progress in the process that recorded them. */
const MIN_DELETION_AGE_MS = 10 * 60 * 1000;

/**
 * Deletes by age in all workspaces with retention, and raw objects whose deletion was interrupted, now and every hour,
 * in one process at a time.
 */
export async function runRetention(
  deps: RetentionDeps,
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions,
): Promise<void> {
  await runLoop(deps, { signal, intervalMs, lock: 'retention' }, async (attempt) => {
    const nowMs = (deps.now ?? Date.now)();
    const recordedBefore = new Date(nowMs - MIN_DELETION_AGE_MS).toISOString();
    await attempt(async () => {
      for await (const _deletion of finishDeletions(deps, recordedBefore, { signal }));
    });
    for (const { id: workspaceId, settings } of await listRetainingWorkspaces(deps.database.database)) {
      signal.throwIfAborted();
      await attempt(async () => {
        const result = await retainWorkspace(deps, { workspaceId, settings, nowMs, signal });
        if (result.sessions + result.rawObjects + result.busy > 0) deps.onReport({ workspaceId, ...result });
      });
    }
  });
}
