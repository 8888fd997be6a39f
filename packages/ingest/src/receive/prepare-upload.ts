import {
  AGENTS,
  describeRefusal,
  isNewSessionId,
  SESSION_ID_RULE,
  type TranscriptIdentity,
  toRepositoryUrl,
} from '@recount/core';
import { listSessionVersions, type NewTranscript } from '@recount/db';
import { type ObjectDescription, rawObjectKey } from '@recount/storage';
import { monotonicFactory } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { DEFAULT_MIN_CHECKPOINT_BYTES } from '../limits.ts';
import { toTranscriptDescription } from '../raw-objects/describe-transcript.ts';
import { createParameterRedaction, type ParameterRedaction } from '../secrets/redact-parameters.ts';
import { chooseFormat, measureBody, ReceiveError } from './measure-body.ts';

export interface ReceiveRequest {
  workspaceId: string;
  /** Id of the uploading API key, or OPERATOR; null if unknown. For a duplicate, the first uploader stays. */
  uploaderKeyId: string | null;
  /** The machine that it comes from, and whose work it is, if known. */
  machine?: string | undefined;
  person?: string | undefined;
  /**
   * The address of the remote, or else the main folder, of the repository that the session ran in, and the folder of its
   * worktree, if the uploader asked git.
   */
  repository?: string | undefined;
  worktree?: string | undefined;
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

/** Returns what `createParameterRedaction` does; uploads that come together may share a read of it. */
export type ReadRedaction = () => Promise<ParameterRedaction>;

/** An upload whose object is stored. */
export interface IdentifiedUpload {
  request: ReceiveRequest;
  transcript: NewTranscript;
  description: ObjectDescription;
}

interface PreparedUpload {
  objectKey: string;
  signal: AbortSignal | undefined;
  /** The bytes to be stored; fails with a ReceiveError if they cannot be accepted. */
  chunks: AsyncIterable<Uint8Array>;
  /**
   * To be called once they are stored. Rejects with a ReceiveError for what is no transcript, when its object is
   * deleted again.
   */
  identify(): Promise<IdentifiedUpload>;
}

const MAX_PATH_LENGTH = 4096;
const OVERRULE = 'It is accepted anyway if agent and session_id identify it';
const AGENT_LABELS = AGENTS.map(({ id, label }) => `${label} (${id})`).join(', ');
const newTranscriptId = monotonicFactory();

/**
 * Checks what an upload says about itself, and names its object, in a batch if one is given. Rejects with a
 * ReceiveError.
 */
export async function prepareUpload(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  request: ReceiveRequest,
  { readRedaction, batchId }: { readRedaction?: ReadRedaction | undefined; batchId?: string | undefined } = {},
): Promise<PreparedUpload> {
  checkSessionId(request.sessionId);
  checkAgent(request.agent);
  const { workspaceId } = request;
  const { database } = deps.database;
  const path = request.path?.slice(0, MAX_PATH_LENGTH).toWellFormed().replaceAll('\0', '\uFFFD');
  // Before anything is awaited: the first of equal transcripts in a batch has the lowest id, and counts.
  const id = request.transcriptId ?? newTranscriptId();
  const redaction = await (readRedaction?.() ?? createParameterRedaction(database, workspaceId));
  const objectKey = rawObjectKey({ workspaceId, transcriptId: id, batchId });
  const listVersions = (sessionId: string) =>
    listSessionVersions(database, workspaceId, sessionId, DEFAULT_MIN_CHECKPOINT_BYTES);
  const measured = measureBody(request.body, { ...request, path, listVersions });
  return {
    objectKey,
    signal: request.signal,
    chunks: measured.chunks,
    async identify() {
      const result = measured.toResult();
      const sessionId = await requireSessionId(request, result.identity, result.sizeBytes).catch(
        async (refusal: unknown) => {
          await deps.rawStore.delete(objectKey);
          throw refusal;
        },
      );
      const transcript = await toNewTranscript(
        { ...request, path },
        { ...result, id, objectKey, sessionId },
        redaction,
      );
      const description = { ...request.description, ...toTranscriptDescription(transcript, new Date().toISOString()) };
      return { request, transcript, description };
    },
  };
}

async function toNewTranscript(
  request: ReceiveRequest,
  measured: ReturnType<ReturnType<typeof measureBody>['toResult']> & Record<'id' | 'objectKey' | 'sessionId', string>,
  { toText, toName }: ParameterRedaction,
): Promise<NewTranscript> {
  const { identity, prefix, sessionId } = measured;
  return {
    id: measured.id,
    // The id that the uploader names is the address of the session; other ids come from the path and the lines.
    session_id: request.sessionId === undefined ? await toName(sessionId) : sessionId,
    ...chooseFormat(identity, request),
    path: await toText(request.path),
    is_subagent: identity.isSubagent,
    parent_session_id: await toName(identity.parentSessionId ?? null),
    agent_id: await toName(identity.agentId ?? null),
    sha256: measured.sha256,
    size_bytes: measured.sizeBytes,
    object_key: measured.objectKey,
    uploader_key_id: request.uploaderKeyId,
    machine: await toText(request.machine),
    person: await toText(request.person),
    sent_repository: await toText(toRepositoryUrl(request.repository ?? null) ?? undefined),
    worktree: await toText(request.worktree),
    grown_from: prefix?.transcriptId ?? null,
    tail_sha256: prefix?.tailSha256 ?? null,
  };
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
