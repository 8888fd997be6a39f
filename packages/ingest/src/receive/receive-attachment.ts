import { createHash } from 'node:crypto';
import { ATTACHMENT_KINDS, isNewSessionId, isSessionId, SESSION_ID_RULE, toAttachmentKind } from '@recount/core';
import {
  type AttachmentOutcome,
  type AttachmentRow,
  findAttachment,
  hasWorkspace,
  insertAttachment,
  isDatabaseExhausted,
  readWorkspaceSettings,
  replaceAttachmentObject,
} from '@recount/db';
import { attachmentObjectKey, type ObjectDescription } from '@recount/storage';
import { monotonicFactory } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { deleteRecordedObjects } from '../raw-objects/delete-raw-objects.ts';
import { examineRawObject } from '../raw-objects/examine-raw-object.ts';
import { createParameterRedaction } from '../secrets/redact-parameters.ts';
import { createRedaction } from '../secrets/redaction.ts';
import { describeNewObject } from './describe-new-object.ts';
import { ReceiveError } from './measure-body.ts';

export interface AttachmentRequest {
  workspaceId: string;
  /** Id of the uploading API key, or OPERATOR. */
  uploaderKeyId: string;
  machine?: string | undefined;
  person?: string | undefined;
  sessionId: string;
  /** Agent that keeps the file. */
  agent: string;
  /** Path in the session's folder, with `/` as separator. */
  path: string;
  /** The modification time of the file, milliseconds since 1970. Default now, and never later. */
  modifiedAtMs?: number | undefined;
  /** Decoded bytes. */
  body: AsyncIterable<Uint8Array>;
  maxBytes: number;
  signal?: AbortSignal | undefined;
}

/** `healed` means that the stored bytes were lost or damaged, and these replaced them. */
type ReceivedAttachmentOutcome = AttachmentOutcome | 'healed';

export interface ReceivedAttachment {
  /** The current one. */
  attachment: AttachmentRow;
  outcome: ReceivedAttachmentOutcome;
}

export const DEFAULT_MAX_ATTACHMENT_BYTES = 256 * 1024 ** 2;
/** For lines that are searched for secrets as a whole. */
const MAX_LINE_BYTES = 1024 * 1024;
const newId = monotonicFactory();

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/**
 * Accepts a file that an agent keeps with a session's transcript. Streams it to the raw store, redacted if the
 * workspace keeps no raw secrets, described there, then its row is inserted. When this resolves, it is durable. May be
 * repeated.
 *
 * Throws ReceiveError for what can never be accepted, the body's own errors, and RawStoreError or database errors;
 * after the latter an object without a row may remain, which `recount doctor` finds.
 */
export async function receiveAttachment(deps: Deps, request: AttachmentRequest): Promise<ReceivedAttachment> {
  const kind = requireKind(request);
  const { workspaceId } = request;
  const id = newId();
  const objectKey = attachmentObjectKey({ workspaceId, objectId: id });
  const settings = await readWorkspaceSettings(deps.database.database, workspaceId);
  const { toText, toName } = await createParameterRedaction(deps.database.database, workspaceId);
  const measured = await measureAttachment(request, settings?.redaction === 'rows-and-raw');
  await deps.rawStore.put(objectKey, measured.chunks, { signal: request.signal });
  const receivedAt = new Date();
  const attachment: AttachmentRow = {
    workspace_id: workspaceId,
    id,
    session_id: await toName(request.sessionId),
    agent: request.agent,
    path: await toName(request.path),
    kind,
    ...measured.toResult(),
    object_key: objectKey,
    modified_at: new Date(Math.min(request.modifiedAtMs ?? Infinity, receivedAt.getTime())).toISOString(),
    uploader_key_id: request.uploaderKeyId,
    machine: await toText(request.machine),
    person: await toText(request.person),
    created_at: receivedAt.toISOString(),
  };
  await describeNewObject(deps.rawStore, objectKey, describeAttachment(attachment));
  return await recordAttachment(deps, attachment);
}

/** Inserts the row of an attachment whose object is durable and described; deletes the object if it is not needed. */
export async function recordAttachment(deps: Deps, attachment: AttachmentRow): Promise<ReceivedAttachment> {
  const { workspace_id: workspaceId, object_key: objectKey } = attachment;
  const inserted = await deps.database
    .withTransaction((transaction) => insertAttachment(transaction, attachment))
    .catch(async (error: unknown) => {
      // Nothing was committed. Clients will retry, and no one looks for objects of a deleted workspace.
      if (isDatabaseExhausted(error) || !(await hasWorkspace(deps.database.database, workspaceId))) {
        await deps.rawStore.delete(objectKey);
      }
      throw error;
    });
  await deleteRecordedObjects(deps, workspaceId, inserted.replacedKeys);
  const { row, outcome } = inserted;
  if (outcome === 'stored') return { attachment: row, outcome };
  const healed = outcome === 'duplicate' ? await heal(deps, row, attachment) : undefined;
  if (healed !== undefined) return { attachment: healed, outcome: 'healed' };
  if (row.object_key !== objectKey) await deps.rawStore.delete(objectKey);
  return { attachment: row, outcome };
}

/** Replaces a lost or damaged object by the copy; undefined if it is intact. */
async function heal(deps: Deps, row: AttachmentRow, copy: AttachmentRow): Promise<AttachmentRow | undefined> {
  if (row.object_key === copy.object_key || (await examineRawObject(deps.rawStore, row)) === 'whole') return undefined;
  const healed = { ...row, object_key: copy.object_key, stored_sha256: copy.stored_sha256 };
  await deps.rawStore.describe(copy.object_key, describeAttachment(healed));
  const isReplaced = await deps.database.withTransaction((transaction) =>
    replaceAttachmentObject(transaction, row, copy),
  );
  if (!isReplaced) return undefined;
  await deleteRecordedObjects(deps, row.workspace_id, [row.object_key]);
  return (await findAttachment(deps.database.database, row.workspace_id, row.id)) ?? healed;
}

function requireKind({ agent, path, sessionId }: AttachmentRequest) {
  if (!isNewSessionId(sessionId)) throw new ReceiveError('invalid-session-id', SESSION_ID_RULE);
  const kind = toAttachmentKind(agent, path);
  if (kind !== undefined) return kind;
  throw new ReceiveError('unsupported-format', 'The agent keeps no file at this path of a session’s folder');
}

/** Hashes and counts the bytes as they pass, before and after redaction. */
async function measureAttachment({ body, maxBytes }: AttachmentRequest, isRedacted: boolean) {
  const uploaded = createHash('sha256');
  const stored = createHash('sha256');
  let sizeBytes = 0;
  const redaction = await createRedaction(isRedacted ? 'rows-and-raw' : 'off', {
    maxLineBytes: MAX_LINE_BYTES,
    earlier: { counts: {}, issues: [] },
  });
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw new ReceiveError('too-large', `The file is larger than ${maxBytes} bytes`);
      uploaded.update(chunk);
      yield chunk;
    }
  }
  async function* redacted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of redaction.redact(counted())) {
      stored.update(chunk);
      yield chunk;
    }
  }
  return {
    chunks: redaction.isOn ? redacted() : counted(),
    toResult: () => ({
      size_bytes: sizeBytes,
      sha256: uploaded.digest('hex'),
      stored_sha256: redaction.hasChanged ? stored.digest('hex') : null,
    }),
  };
}

/** The data beside the bytes (the row, without fields that follow from its place). */
type AttachmentDescription = Omit<AttachmentRow, 'workspace_id' | 'object_key'>;

function describeAttachment({ workspace_id: _, object_key: _key, ...described }: AttachmentRow): AttachmentDescription {
  return described;
}

/** Undefined if it does not describe an attachment. */
export function parseAttachmentDescription(value: ObjectDescription | undefined): AttachmentDescription | undefined {
  if (value === undefined) return undefined;
  const isText = (field: unknown): field is string => typeof field === 'string';
  const isTime = (field: unknown): boolean => isText(field) && !Number.isNaN(Date.parse(field));
  const { id, session_id, agent, path, sha256, stored_sha256, uploader_key_id, machine, person } = value;
  const isWhole =
    [id, agent, path, sha256].every(isText) &&
    isText(session_id) &&
    isSessionId(session_id) &&
    ATTACHMENT_KINDS.some((kind) => kind === value.kind) &&
    Number.isSafeInteger(value.size_bytes) &&
    [stored_sha256, uploader_key_id, machine, person].every((field) => field === null || isText(field)) &&
    [value.modified_at, value.created_at].every(isTime);
  // All fields were checked.
  return isWhole ? (value as unknown as AttachmentDescription) : undefined;
}
