import {
  findTranscript,
  hasWorkspace,
  listSessionVersions,
  replaceRawObject,
  type StoredFormat,
  type TranscriptRow,
} from '@recount/db';
import { rawObjectKey } from '@recount/storage';
import { monotonicFactory } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { requeueTranscript } from '../maintain/requeue-transcript.ts';
import { DEFAULT_MIN_CHECKPOINT_BYTES } from '../process/parse-raw-object.ts';
import { measureBody } from './measure-body.ts';
import { ReceiveError } from './receive-error.ts';
import { createUploadRecorder, type RecordUpload } from './record-uploads.ts';
import { isSessionId, MAX_SESSION_ID_LENGTH } from './session-id.ts';

export interface ReceiveRequest {
  workspaceId: string;
  /** Decoded bytes of the transcript. */
  body: AsyncIterable<Uint8Array>;
  /** Overrules what path and content say. */
  sessionId?: string | undefined;
  /** Original path; decides main session or sub-agent. */
  path?: string | undefined;
  agent?: string | undefined;
  /** Default: by what the lines look like. */
  format?: StoredFormat | undefined;
  /** Default: a new one. A request with the same may be repeated. */
  transcriptId?: string | undefined;
  maxBytes: number;
  /** Jobs of higher priority are taken first. Default 0. */
  priority?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface ReceiveResult {
  transcript: TranscriptRow;
  isDuplicate: boolean;
}

export const DEFAULT_MAX_TRANSCRIPT_BYTES = 2 * 1024 ** 3;
const MAX_PATH_LENGTH = 4096;
const AGENT = 'claude-code';

const newTranscriptId = monotonicFactory();

/**
 * Accepts a transcript: streams it to the raw store, then inserts its row and its job in one transaction, by default of its
 * own. When this resolves, the transcript is durable and will be ingested. The same bytes of the same session again are a duplicate:
 * the second copy and job are not kept.
 *
 * Throws ReceiveError for what can never be accepted, the body's own errors, and RawStoreError or database errors; after
 * the latter an object without a row may stay behind, which `recount doctor` finds.
 */
export async function receiveTranscript(
  deps: IngestDependencies,
  request: ReceiveRequest,
  record: RecordUpload = createUploadRecorder(deps),
): Promise<ReceiveResult> {
  checkSessionId(request.sessionId);
  const path = request.path?.slice(0, MAX_PATH_LENGTH).toWellFormed().replaceAll('\0', '\uFFFD');
  const id = request.transcriptId ?? newTranscriptId();
  const objectKey = rawObjectKey({ workspaceId: request.workspaceId, transcriptId: id });
  const listVersions = (sessionId: string) =>
    listSessionVersions(deps.database.database, request.workspaceId, sessionId, DEFAULT_MIN_CHECKPOINT_BYTES);
  const measured = measureBody(request.body, { ...request, path, listVersions });
  await deps.rawStore.put(objectKey, measured.chunks, { signal: request.signal });

  const { sha256, sizeBytes, identity, beginning } = measured.toResult();
  if (identity.sessionId === undefined) {
    await deps.rawStore.delete(objectKey);
    throw new ReceiveError('unidentified', 'No session id in the path or the lines: name one with session_id or path');
  }
  const { sessionId } = identity;
  const transcript = {
    id,
    session_id: sessionId,
    agent: AGENT,
    format: request.format ?? (identity.format === 'claude-stream-json' ? identity.format : 'claude-code'),
    path: path ?? null,
    is_subagent: identity.isSubagent,
    parent_session_id: identity.parentSessionId ?? null,
    agent_id: identity.agentId ?? null,
    sha256,
    size_bytes: sizeBytes,
    object_key: objectKey,
    grown_from: beginning?.transcriptId ?? null,
    tail_sha256: beginning?.tailSha256 ?? null,
  };
  const upload = { workspaceId: request.workspaceId, transcript, priority: request.priority ?? 0 };
  const { row, isDuplicate } = await record(upload).catch(async (error: unknown) => {
    // Deleted while the upload was under way: nobody would look for the object.
    if (!(await hasWorkspace(deps.database.database, request.workspaceId))) await deps.rawStore.delete(objectKey);
    throw error;
  });
  return { transcript: isDuplicate ? await settleDuplicate(deps, row, objectKey) : row, isDuplicate };
}

/**
 * Removes the second copy, unless the first is lost: then it takes its place. What retention has deleted is not lost, and
 * stays deleted. A transcript that was given up is tried again: whoever uploads it expects that.
 */
export async function settleDuplicate(
  deps: IngestDependencies,
  row: TranscriptRow,
  copyKey: string,
): Promise<TranscriptRow> {
  const { database } = deps.database;
  if (row.raw_deleted_at !== null && row.status !== 'failed') {
    await deps.rawStore.delete(copyKey);
    return row;
  }
  const first = await deps.rawStore.stat(row.object_key);
  const isWhole = first?.sizeBytes === row.size_bytes;
  // A request repeated under its id has written the very object again.
  const isSame = row.object_key === copyKey;
  const isReplaced = !isSame && !isWhole && (await replaceRawObject(database, row, copyKey));
  if (!isSame && !isReplaced) await deps.rawStore.delete(copyKey);
  // Where the first copy had been freed of secrets, the second one is to be, too.
  const holdsSecrets = isReplaced && row.stored_sha256 !== null;
  if (row.status !== 'failed' && !holdsSecrets) return row;
  await requeueTranscript(deps, { workspaceId: row.workspace_id, transcriptId: row.id }, [row.status]);
  return (await findTranscript(database, row.workspace_id, row.id)) ?? row;
}

function checkSessionId(sessionId: string | undefined): void {
  if (sessionId === undefined || isSessionId(sessionId)) return;
  throw new ReceiveError(
    'invalid-session-id',
    `A session id has 1 to ${MAX_SESSION_ID_LENGTH} characters, none of them a control character`,
  );
}
