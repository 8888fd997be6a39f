import { createHash } from 'node:crypto';
import {
  findTranscript,
  findTranscriptByObject,
  hasWorkspace,
  listAllTranscripts,
  listTranscripts,
  nameRedactedObject,
  readSearchBacklog,
  type TranscriptReference,
} from '@recount/db';
import {
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
  type RawObjectKeyParts,
  type RawStore,
  RawStoreError,
} from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { ReceiveError } from '../receive/receive-error.ts';
import { receiveTranscript, settleDuplicate } from '../receive/receive-transcript.ts';
import { checkStoredStreams, checkStreamObject, type StreamFinding } from './check-streams.ts';
import { requeueTranscript } from './requeue-transcript.ts';

export interface DoctorOptions {
  /** Mends what it finds: receives orphan objects as uploads, enqueues lost jobs, removes remains of uploads. */
  fix: boolean;
  /** Reads every raw object of a transcript, as long as that takes, and compares its SHA-256. Default: false. */
  checksums?: boolean;
  /** Called for every raw object that was read for its checksum. */
  onRead?: (sizeBytes: number) => void;
  /** Younger objects and rows may belong to an upload under way. Default one hour. */
  minAgeMs?: number;
  nowMs: number;
  signal?: AbortSignal;
}

export type Finding =
  /** An object that no row names: of an upload that was never acknowledged, or younger than a restored database. */
  | { kind: 'orphan-object'; objectKey: string; sizeBytes: number; fixed: boolean }
  /** A row whose object is not there: its bytes are lost, or the store is the wrong one. */
  | { kind: 'missing-object'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  | { kind: 'wrong-size'; workspaceId: string; transcriptId: string; sizeBytes: number; fixed: false }
  /** An object of the right size whose bytes are no longer those that were stored. */
  | { kind: 'wrong-content'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  /** An object that the store has and fails to give. */
  | { kind: 'unreadable-object'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  /** A row that waits for a job which is not in the queue. */
  | { kind: 'lost-job'; workspaceId: string; transcriptId: string; fixed: boolean }
  | { kind: 'failed-transcript'; workspaceId: string; transcriptId: string; fixed: false }
  /** Sessions that wait to be indexed for search, some of them for long, or after a failure. */
  | { kind: 'search-behind'; waitingSessions: number; failingSessions: number; fixed: false }
  | StreamFinding
  /** Remains of uploads that were cut off, which are no objects yet. */
  | { kind: 'stale-uploads'; count: number; fixed: true };

const DEFAULT_MIN_AGE_MS = 60 * 60 * 1000;
/** S3 dates an upload by its beginning, and a large one may take hours. */
const STALE_UPLOAD_AGE_MS = 24 * 60 * 60 * 1000;

/** Of a session that waits to be indexed: workers do it when they find the time. */
const MAX_SEARCH_DELAY_MS = 60 * 60 * 1000;

/** Compares raw store, database and queue, and yields every disagreement. */
export async function* runDoctor(deps: IngestDependencies, options: DoctorOptions): AsyncGenerator<Finding> {
  const minAgeMs = options.minAgeMs ?? DEFAULT_MIN_AGE_MS;
  const latestMs = options.nowMs - minAgeMs;
  yield* findOrphanObjects(deps, options, latestMs);
  yield* checkTranscripts(deps, options, latestMs);
  yield* checkStoredStreams(deps, new Date(latestMs).toISOString(), options.signal);
  yield* checkSearchIndex(deps, options.nowMs);
  if (!options.fix) return;
  const count = await deps.rawStore.abortStaleUploads(STALE_UPLOAD_AGE_MS);
  if (count > 0) yield { kind: 'stale-uploads', count, fixed: true };
}

async function* checkSearchIndex({ database }: IngestDependencies, nowMs: number): AsyncGenerator<Finding> {
  const backlog = await readSearchBacklog(database.database);
  const { waitingSessions, failingSessions, oldestWaitingSince } = backlog;
  if (
    oldestWaitingSince === null ||
    (failingSessions === 0 && nowMs - Date.parse(oldestWaitingSince) < MAX_SEARCH_DELAY_MS)
  )
    return;
  yield { kind: 'search-behind', waitingSessions, failingSessions, fixed: false };
}

async function* findOrphanObjects(
  deps: IngestDependencies,
  { fix, signal }: DoctorOptions,
  latestMs: number,
): AsyncGenerator<Finding> {
  for await (const object of deps.rawStore.list('')) {
    signal?.throwIfAborted();
    const { key, sizeBytes, modifiedAtMs } = object;
    if (modifiedAtMs > latestMs) continue;
    const stream = parseStreamObjectKey(key);
    if (stream !== undefined) {
      yield* checkStreamObject(deps, stream, object, fix);
      continue;
    }
    const copyOf = parseRedactedObjectKey(key);
    if (copyOf !== undefined) {
      yield* checkRedactedCopy(deps, copyOf, { key, sizeBytes }, fix);
      continue;
    }
    const ids = parseRawObjectKey(key);
    if (ids === undefined || (await isNamed(deps, ids, key))) continue;
    yield { kind: 'orphan-object', objectKey: key, sizeBytes, fixed: fix && (await adopt(deps, ids, key)) };
  }
}

/**
 * A copy that no row names is of an attempt that failed, and superfluous; or the database was restored from before there
 * was one, and it is all that is left of the transcript: then its row is made to name it.
 */
async function* checkRedactedCopy(
  deps: IngestDependencies,
  ids: RawObjectKeyParts,
  { key, sizeBytes }: { key: string; sizeBytes: number },
  fix: boolean,
): AsyncGenerator<Finding> {
  const { database } = deps.database;
  const row = await findTranscript(database, ids.workspaceId, ids.transcriptId);
  if (row?.object_key === key) return;
  if (!fix) yield { kind: 'orphan-object', objectKey: key, sizeBytes, fixed: false };
  else if (row === undefined) {
    yield { kind: 'orphan-object', objectKey: key, sizeBytes, fixed: await adopt(deps, ids, key) };
  } else {
    const isSuperfluous = row.raw_deleted_at !== null || (await deps.rawStore.stat(row.object_key)) !== undefined;
    if (isSuperfluous) await deps.rawStore.delete(key);
    else
      await nameRedactedObject(database, row, { objectKey: key, storedSha256: await hashObject(deps.rawStore, key) });
    yield { kind: 'orphan-object', objectKey: key, sizeBytes, fixed: true };
  }
}

async function isNamed({ database }: IngestDependencies, ids: RawObjectKeyParts, key: string): Promise<boolean> {
  const row = await findTranscript(database.database, ids.workspaceId, ids.transcriptId);
  if (row?.object_key === key) return true;
  return (await findTranscriptByObject(database.database, ids.workspaceId, key)) !== undefined;
}

/**
 * Deletes an orphan whose bytes the workspace has: by its upload, tried again. They may have come with a path or session
 * id that told whose they are, as an orphan's own do not. Any other is received as an upload: it was lost from the
 * database, or its upload never tried again. One whose lines name no session becomes a session of its own, with the name of
 * its file, as any upload does. False where it is no transcript that can be read, or the workspace is gone.
 */
async function adopt(
  deps: IngestDependencies,
  { workspaceId, transcriptId }: RawObjectKeyParts,
  key: string,
): Promise<boolean> {
  const { database } = deps.database;
  if (!(await hasWorkspace(database, workspaceId))) return false;
  const sha256 = await hashObject(deps.rawStore, key);
  const [known] = await listTranscripts(database, workspaceId, { sha256 }, { limit: 1 });
  if (known !== undefined) {
    await settleDuplicate(deps, known, key);
    return true;
  }
  const receive = async (sessionId?: string): Promise<boolean> => {
    try {
      const body = await deps.rawStore.get(key);
      await receiveTranscript(deps, { workspaceId, body, sessionId, maxBytes: Number.MAX_SAFE_INTEGER });
      return true;
    } catch (error) {
      if (!(error instanceof ReceiveError)) throw error;
      return error.code === 'unidentified' && (await receive(transcriptId));
    }
  };
  if (!(await receive())) return false;
  await deps.rawStore.delete(key);
  return true;
}

async function hashObject(rawStore: RawStore, key: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of await rawStore.get(key, { signal })) hash.update(chunk);
  return hash.digest('hex');
}

async function* checkTranscripts(
  deps: IngestDependencies,
  options: DoctorOptions,
  latestMs: number,
): AsyncGenerator<Finding> {
  const createdBefore = new Date(latestMs).toISOString();
  for await (const page of listAllTranscripts(deps.database.database, { createdBefore })) {
    const waiting = page.filter(isWaiting).map(({ id }) => id);
    const pending = waiting.length === 0 ? new Set<string>() : await deps.queue.findPending(waiting);
    for (const row of page) {
      options.signal?.throwIfAborted();
      yield* checkTranscript(deps, row, isWaiting(row) && !pending.has(row.id), options);
    }
  }
}

const isWaiting = ({ status }: TranscriptReference): boolean => status === 'queued' || status === 'processing';

async function* checkTranscript(
  deps: IngestDependencies,
  row: TranscriptReference,
  isJobLost: boolean,
  options: DoctorOptions,
): AsyncGenerator<Finding> {
  const job = { workspaceId: row.workspace_id, transcriptId: row.id };
  const fault = row.raw_deleted_at === null ? await findObjectFault(deps, row, options) : undefined;
  // Reading takes long: the transcript may have been deleted meanwhile, or have another object.
  if (fault !== undefined && (await isAsListed(deps, row))) yield fault;
  if (row.status === 'failed') yield { kind: 'failed-transcript', ...job, fixed: false };
  if (isJobLost) {
    const fixed = options.fix && (await requeueTranscript(deps, job, ['queued', 'processing']));
    yield { kind: 'lost-job', ...job, fixed };
  }
}

async function findObjectFault(
  { rawStore }: IngestDependencies,
  row: TranscriptReference,
  { checksums = false, onRead, signal }: DoctorOptions,
): Promise<Finding | undefined> {
  const { object_key: objectKey } = row;
  const about = { workspaceId: row.workspace_id, transcriptId: row.id, fixed: false } as const;
  const object = await rawStore.stat(objectKey);
  if (object === undefined) return { kind: 'missing-object', ...about, objectKey };
  if (object.sizeBytes !== row.size_bytes) return { kind: 'wrong-size', ...about, sizeBytes: object.sizeBytes };
  if (!checksums) return undefined;
  try {
    const sha256 = await hashObject(rawStore, objectKey, signal);
    onRead?.(object.sizeBytes);
    return sha256 === (row.stored_sha256 ?? row.sha256) ? undefined : { kind: 'wrong-content', ...about, objectKey };
  } catch (error) {
    if (!(error instanceof RawStoreError)) throw error;
    return { kind: error.code === 'not-found' ? 'missing-object' : 'unreadable-object', ...about, objectKey };
  }
}

async function isAsListed({ database }: IngestDependencies, row: TranscriptReference): Promise<boolean> {
  const found = await findTranscript(database.database, row.workspace_id, row.id);
  return found?.object_key === row.object_key && found.raw_deleted_at === null;
}
