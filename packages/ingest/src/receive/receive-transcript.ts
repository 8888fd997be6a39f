import { AGENTS, describeRefusal, isNewSessionId, SESSION_ID_RULE, type TranscriptIdentity } from '@recount/core';
import {
  completeOrigin,
  hasWorkspace,
  isDatabaseExhausted,
  listSessionVersions,
  type NewTranscript,
  OPERATOR,
  type TranscriptRow,
} from '@recount/db';
import { type ObjectDescription, rawObjectKey } from '@recount/storage';
import { monotonicFactory } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { DEFAULT_MIN_CHECKPOINT_BYTES } from '../limits.ts';
import { toTranscriptDescription } from '../raw-objects/describe-transcript.ts';
import { type DuplicateOutcome, settleDuplicate } from '../raw-objects/settle-duplicate.ts';
import { createParameterRedaction, type ParameterRedaction } from '../secrets/redact-parameters.ts';
import { describeNewObject } from './describe-new-object.ts';
import { chooseFormat, measureBody, ReceiveError } from './measure-body.ts';
import { createUploadRecorder, type RecordUpload } from './record-uploads.ts';

export interface ReceiveRequest {
  workspaceId: string;
  /** Id of the uploading API key, or OPERATOR; null if unknown. For a duplicate, the first uploader stays. */
  uploaderKeyId: string | null;
  /** The machine that it comes from, and whose work it is, if known. */
  machine?: string | undefined;
  person?: string | undefined;
  /** Decoded bytes of the transcript. */
  body: AsyncIterable<Uint8Array>;
  /**
   * SHA-256 (hex) of the body, if the caller has hashed it and guarantees that it is unchanged. By default it is
   * hashed.
   */
  sha256?: string | undefined;
  /** Overrides path and content. */
  sessionId?: string | undefined;
  /** Original path; decides between main session and sub-agent. */
  path?: string | undefined;
  /** The agent of the transcript if the lines do not show it. Default: DEFAULT_AGENT_ID. */
  agent?: string | undefined;
  /** Id of a readable format, if the caller knows it for certain. Defaults to the format that the lines look like. */
  format?: string | undefined;
  /** Defaults to a new one. A request with the same id may be repeated. */
  transcriptId?: string | undefined;
  /** Further fields to store beside the object. */
  description?: ObjectDescription | undefined;
  maxBytes: number;
  /** Jobs of higher priority go first. Default 0. */
  priority?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface ReceiveResult {
  transcript: TranscriptRow;
  /** The session already had the same bytes. */
  isDuplicate: boolean;
  /** The outcome for the bytes: `stored` if they are new. */
  rawObject: 'stored' | DuplicateOutcome;
}

export const DEFAULT_MAX_TRANSCRIPT_BYTES = 2 * 1024 ** 3;
const MAX_PATH_LENGTH = 4096;
const OVERRULE = 'It is accepted anyway if agent and session_id identify it';
const AGENT_LABELS = AGENTS.map(({ id, label }) => `${label} (${id})`).join(', ');
const newTranscriptId = monotonicFactory();

/** Steps that many uploads of a workspace take together. By default each upload takes its own. */
interface SharedSteps {
  record?: RecordUpload;
  readRedaction?: () => Promise<ParameterRedaction>;
}

/**
 * Accepts a transcript. It streams it to the raw store, describes it there, then inserts its row and its job in one
 * transaction, by default its own. When this resolves, the transcript is durable and will be ingested. Uploading the
 * same bytes for the same session again is a duplicate. The stored copy is read and compared; if it is intact, the
 * second one is discarded, otherwise it replaces the stored one.
 *
 * Throws ReceiveError for what can never be accepted, the body's own errors, and RawStoreError or database errors;
 * after the latter an object without a row may remain, which `recount doctor` finds.
 */
export async function receiveTranscript(
  deps: IngestDependencies,
  request: ReceiveRequest,
  steps: SharedSteps = {},
): Promise<ReceiveResult> {
  checkSessionId(request.sessionId);
  checkAgent(request.agent);
  const path = request.path?.slice(0, MAX_PATH_LENGTH).toWellFormed().replaceAll('\0', '\uFFFD');
  const { record = createUploadRecorder(deps) } = steps;
  const { readRedaction = () => createParameterRedaction(deps.database.database, request.workspaceId) } = steps;
  const { toText, toName } = await readRedaction();
  const id = request.transcriptId ?? newTranscriptId();
  const objectKey = rawObjectKey({ workspaceId: request.workspaceId, transcriptId: id });
  const listVersions = (sessionId: string) =>
    listSessionVersions(deps.database.database, request.workspaceId, sessionId, DEFAULT_MIN_CHECKPOINT_BYTES);
  const measured = measureBody(request.body, { ...request, path, listVersions });
  await deps.rawStore.put(objectKey, measured.chunks, { signal: request.signal });

  const { sha256, sizeBytes, identity, prefix } = measured.toResult();
  const sessionId = await requireSessionId(request, identity, sizeBytes).catch(async (refusal: unknown) => {
    await deps.rawStore.delete(objectKey);
    throw refusal;
  });
  const transcript = {
    id,
    // The id that the uploader names is the address of the session; other ids come from the path and the lines.
    session_id: request.sessionId === undefined ? await toName(sessionId) : sessionId,
    ...chooseFormat(identity, request),
    path: await toText(path),
    is_subagent: identity.isSubagent,
    parent_session_id: await toName(identity.parentSessionId ?? null),
    agent_id: await toName(identity.agentId ?? null),
    sha256,
    size_bytes: sizeBytes,
    object_key: objectKey,
    uploader_key_id: request.uploaderKeyId,
    machine: await toText(request.machine),
    person: await toText(request.person),
    grown_from: prefix?.transcriptId ?? null,
    tail_sha256: prefix?.tailSha256 ?? null,
  };
  const description = toTranscriptDescription(transcript, new Date().toISOString());
  const described = { ...request.description, ...description };
  // An id of the caller's may belong to an object that was there before.
  if (request.transcriptId === undefined) await describeNewObject(deps.rawStore, objectKey, described);
  else await deps.rawStore.describe(objectKey, described);
  const upload = { workspaceId: request.workspaceId, transcript, priority: request.priority ?? 0 };
  const { row, isDuplicate } = await record(upload).catch(async (error: unknown) => {
    // Nothing was committed. Either clients will retry until there is space, and would fill the store with copies; or
    // the workspace was deleted during the upload, and no one would look for the object.
    const isRefused = isDatabaseExhausted(error);
    if (isRefused || !(await hasWorkspace(deps.database.database, request.workspaceId)))
      await deps.rawStore.delete(objectKey);
    throw error;
  });
  if (!isDuplicate) return { transcript: row, isDuplicate, rawObject: 'stored' };
  const { transcript: stored, outcome } = await settleDuplicate(deps, row, objectKey);
  const settled = await addOrigin(deps, stored, transcript);
  const isKept = outcome !== 'expired' && settled.object_key === objectKey;
  if (!isKept) await deps.rawStore.delete(objectKey);
  return { transcript: settled, isDuplicate, rawObject: outcome };
}

/**
 * Completes a transcript's machine and person from a duplicate, if it lacks them because it came before the machine was
 * connected. Only its own uploader may do so, or anyone if the operator or an unknown uploader uploaded it.
 */
async function addOrigin(
  deps: IngestDependencies,
  row: TranscriptRow,
  duplicate: NewTranscript,
): Promise<TranscriptRow> {
  const { machine = null, person = null, uploader_key_id: uploader } = duplicate;
  const isNews = (row.machine === null && machine !== null) || (row.person === null && person !== null);
  if (!isNews || ![null, OPERATOR, uploader].includes(row.uploader_key_id)) return row;
  const completed = await deps.database.withTransaction((transaction) =>
    completeOrigin(transaction, row, { machine, person }),
  );
  if (completed === undefined) return row;
  if (completed.raw_deleted_at === null) {
    const stored = await deps.rawStore.readDescription(completed.object_key);
    await deps.rawStore.describe(completed.object_key, {
      ...stored,
      ...toTranscriptDescription(completed, completed.created_at),
    });
  }
  return completed;
}

/** For bytes that are a transcript. If the caller knows the format for certain, the lines need not show it. */
async function requireSessionId(
  { agent, format, sessionId }: ReceiveRequest,
  identity: TranscriptIdentity,
  sizeBytes: number,
): Promise<string> {
  if (sizeBytes === 0 && format === undefined && (agent === undefined || sessionId === undefined)) {
    throw new ReceiveError('empty', `The body is ${describeRefusal('empty')}. ${OVERRULE}`);
  }
  if (identity.isPromptHistory && format === undefined) {
    throw new ReceiveError('unsupported-format', `The body is ${describeRefusal('prompt-history')}.`);
  }
  if (identity.encoding !== undefined && format === undefined) {
    throw new ReceiveError('unsupported-format', `The body is ${describeRefusal(identity.encoding)}.`);
  }
  if (identity.sessionId === undefined) {
    throw new ReceiveError('unidentified', 'No session id in the path or the lines. Name one with session_id or path');
  }
  checkSessionId(identity.sessionId);
  if (identity.isRecognised || format !== undefined) return identity.sessionId;
  const text = `The body is ${describeRefusal('unknown-format')}: ${AGENT_LABELS}. ${OVERRULE}`;
  throw new ReceiveError('unsupported-format', text);
}

function checkSessionId(sessionId: string | undefined): void {
  if (sessionId === undefined || isNewSessionId(sessionId)) return;
  throw new ReceiveError('invalid-session-id', SESSION_ID_RULE);
}

function checkAgent(agent: string | undefined): void {
  if (agent === undefined || AGENTS.some(({ id }) => id === agent)) return;
  const known = AGENTS.map(({ id }) => id).join(', ');
  throw new ReceiveError('unsupported-format', `recount reads the transcripts of ${known} so far`);
}
