import {
  findAttachmentByObject,
  findLiveStream,
  findTranscript,
  findTranscriptByObject,
  hasWorkspace,
  listTranscripts,
  nameRedactedObject,
  recordRawObjectDeletions,
  type TranscriptRow,
} from '@recount/db';
import {
  parseAttachmentObjectKey,
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
  type RawObjectInfo,
  type RawObjectKeyParts,
  RawStoreError,
  workspacePrefix,
} from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { restoreLiveStream } from '../live/restore-live-stream.ts';
import { deleteRecordedObjects, isToBeDeleted } from '../raw-objects/delete-raw-objects.ts';
import { compareVersionsAgain, examineRawObject, hashRawObject } from '../raw-objects/examine-raw-object.ts';
import { settleDuplicate } from '../raw-objects/settle-duplicate.ts';
import { type AttachmentFinding, checkAttachmentObject } from './check-attachments.ts';
import type { DoctorCounts } from './check-raw-objects.ts';
import { registerObject } from './register-object.ts';

export type OrphanFinding =
  /** An object that no row names, from an upload that was never acknowledged, or newer than a restored database. */
  | { kind: 'orphan-object'; objectKey: string; sizeBytes: number; fixed: boolean; obstacle?: OrphanObstacle }
  /** A stream's object without a row, newer than a restored database. */
  | { kind: 'orphan-stream'; objectKey: string; sizeBytes: number; fixed: boolean };

/** Why an orphan cannot be received. Its workspace is gone, its bytes have changed, or they are not a transcript. */
type OrphanObstacle = 'no-workspace' | 'damaged' | 'unreadable';

interface RepairResult {
  fixed: boolean;
  obstacle?: OrphanObstacle;
}

interface OrphanOptions {
  /** Undefined means all workspaces. */
  workspaceId?: string | undefined;
  fix: boolean;
  /** Objects stored later may belong to an upload in progress. Milliseconds since 1970. */
  latestMs: number;
  counts: DoctorCounts;
  /** Called for every object with a row that has no description. Not called for attachments. */
  onUndescribed: () => void;
  signal?: AbortSignal | undefined;
}

/** An object with the parts of its key. */
type ParsedObject = RawObjectInfo & { workspaceId: string } & (
    | { kind: 'stream'; streamId: string }
    | { kind: 'attachment' }
    | { kind: 'redacted' | 'raw'; transcriptId: string }
  );

type TranscriptObject = Exclude<ParsedObject, { kind: 'attachment' }>;

/** Maximum number of a workspace's objects with the same bytes, in different sessions. */
const MAX_COPIES = 1000;

/** Looks up the row of every object. Objects recorded for deletion are not orphans. */
export async function* findOrphans(
  deps: IngestDependencies,
  { workspaceId, fix, latestMs, counts, onUndescribed, signal }: OrphanOptions,
): AsyncGenerator<OrphanFinding | AttachmentFinding> {
  for await (const info of deps.rawStore.list(workspaceId === undefined ? '' : workspacePrefix(workspaceId))) {
    signal?.throwIfAborted();
    const object = parseObject(info);
    if (object === undefined) continue;
    counts.objects += 1;
    if (await isNamed(deps, object)) {
      if (object.kind !== 'attachment' && !info.isDescribed && object.modifiedAtMs <= latestMs) onUndescribed();
      continue;
    }
    if (await isToBeDeleted(deps, object.workspaceId, object.key)) continue;
    if (object.modifiedAtMs > latestMs) {
      counts.skipped.youngObjects += 1;
      continue;
    }
    if (object.kind === 'attachment') {
      yield* checkAttachmentObject(deps, object, fix);
      continue;
    }
    const result = await repair(deps, object, fix);
    // Someone else has deleted it since then.
    if (result === undefined) continue;
    const about = { objectKey: object.key, sizeBytes: object.sizeBytes };
    if (object.kind === 'stream') yield { kind: 'orphan-stream', ...about, fixed: result.fixed };
    else yield { kind: 'orphan-object', ...about, ...result };
  }
}

function parseObject(info: RawObjectInfo): ParsedObject | undefined {
  const stream = parseStreamObjectKey(info.key);
  if (stream !== undefined) return { ...info, ...stream, kind: 'stream' };
  const attachment = parseAttachmentObjectKey(info.key);
  if (attachment !== undefined) return { ...info, workspaceId: attachment.workspaceId, kind: 'attachment' };
  const redacted = parseRedactedObjectKey(info.key);
  if (redacted !== undefined) return { ...info, ...redacted, kind: 'redacted' };
  const raw = parseRawObjectKey(info.key);
  return raw && { ...info, ...raw, kind: 'raw' };
}

async function isNamed({ database: { database } }: IngestDependencies, object: ParsedObject): Promise<boolean> {
  if (object.kind === 'stream') {
    const row = await findLiveStream(database, object);
    // A stream that is not closed yet will name its object when it is.
    return row !== undefined && (row.state !== 'closed' || row.object_key === object.key);
  }
  if (object.kind === 'attachment') {
    return (await findAttachmentByObject(database, object.workspaceId, object.key)) !== undefined;
  }
  const row = await findTranscript(database, object.workspaceId, object.transcriptId);
  if (row?.object_key === object.key) return true;
  if (object.kind === 'redacted') return false;
  return (await findTranscriptByObject(database, object.workspaceId, object.key)) !== undefined;
}

/** Undefined if the object is gone. Without `fix`, only reports what prevents it from being received. */
async function repair(
  deps: IngestDependencies,
  object: TranscriptObject,
  fix: boolean,
): Promise<RepairResult | undefined> {
  if (!(await hasWorkspace(deps.database.database, object.workspaceId)))
    return { fixed: false, obstacle: 'no-workspace' };
  if (!fix) return { fixed: false };
  try {
    if (object.kind === 'stream') return { fixed: await restoreStream(deps, object) };
    const own = await findTranscript(deps.database.database, object.workspaceId, object.transcriptId);
    if (object.kind === 'redacted' && own !== undefined) return { fixed: await settleRedactedCopy(deps, own, object) };
    return await adopt(deps, object, object.key, own);
  } catch (error) {
    if (!(error instanceof RawStoreError)) throw error;
    // An unreadable object cannot be judged.
    return error.code === 'not-found' ? undefined : { fixed: false, obstacle: 'unreadable' };
  }
}

async function restoreStream(deps: IngestDependencies, object: ParsedObject & { kind: 'stream' }): Promise<boolean> {
  const isKnown = (await findLiveStream(deps.database.database, object)) !== undefined;
  return !isKnown && (await restoreLiveStream(deps, object, object));
}

/**
 * A copy that its row does not name comes from a failed attempt and is superfluous if the row's own object is intact.
 * Or the database was restored from before the copy was made, and the copy is all that is left. Then the row is changed
 * to name it.
 */
async function settleRedactedCopy(
  deps: IngestDependencies,
  row: TranscriptRow,
  { workspaceId, key, sizeBytes }: ParsedObject,
): Promise<boolean> {
  if (row.raw_deleted_at !== null || (await examineRawObject(deps.rawStore, row)) === 'whole') {
    await deps.rawStore.delete(key);
    return true;
  }
  // A copy is as long as the original.
  if (sizeBytes !== row.size_bytes) return false;
  const storedSha256 = await hashRawObject(deps.rawStore, key);
  await deps.database.withTransaction(async (transaction) => {
    await nameRedactedObject(transaction, row, { objectKey: key, storedSha256 });
    await recordRawObjectDeletions(transaction, workspaceId, [row.object_key]);
    await compareVersionsAgain(transaction, row);
  });
  await deleteRecordedObjects(deps, workspaceId, [row.object_key]);
  return true;
}

/**
 * Uses an orphan to replace a damaged or lost object with the same bytes, or deletes it if there is none. Its upload
 * was repeated, and the workspace has the bytes. Any other orphan gets its row. The database lost it, or its upload was
 * never repeated. An orphan is left alone if its own row says that it is damaged.
 */
async function adopt(
  deps: IngestDependencies,
  ids: RawObjectKeyParts,
  key: string,
  own: TranscriptRow | undefined,
): Promise<RepairResult> {
  const sha256 = await hashRawObject(deps.rawStore, key);
  const known = await listTranscripts(deps.database.database, ids.workspaceId, { sha256 }, { limit: MAX_COPIES });
  for (const row of known) {
    // An object can replace only one other. The next damaged one needs another upload.
    if ((await settleDuplicate(deps, row, key)).outcome === 'healed') return { fixed: true };
  }
  if (known.length > 0) {
    await deps.rawStore.delete(key);
    return { fixed: true };
  }
  // Left behind when the transcript's object was replaced, and it must not come back as a version of the session.
  if (own !== undefined) {
    if (own.raw_deleted_at === null && (await examineRawObject(deps.rawStore, own)) !== 'whole')
      return { fixed: false };
    await deps.rawStore.delete(key);
    return { fixed: true };
  }
  const { outcome } = await registerObject(deps, ids, key);
  return outcome === 'damaged' || outcome === 'unreadable' ? { fixed: false, obstacle: outcome } : { fixed: true };
}
