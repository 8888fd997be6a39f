import { findTranscript, listSessionVersions, listTranscripts } from '@recount/db';
import type { RawObjectKeyParts } from '@recount/storage';
import { decodeTime } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { DEFAULT_MIN_CHECKPOINT_BYTES } from '../limits.ts';
import { restoreDescribedStream } from '../live/restore-live-stream.ts';
import { parseStoredLiveStream, parseTranscriptDescription } from '../raw-objects/describe-transcript.ts';
import { settleDuplicate } from '../raw-objects/settle-duplicate.ts';
import { chooseFormat, measureBody, ReceiveError } from '../receive/measure-body.ts';
import { createUploadRecorder, type RecordUpload } from '../receive/record-uploads.ts';

/**
 * - `registered` means that it has a row and will be ingested; based on its description, or `isGuessed` from its lines
 *   and key
 * - `unnamed` means the same, but as a session named after its file, because no line names one
 * - `there` means that its bytes already are a transcript
 * - `damaged` means that its bytes are not those that were stored
 * - `unreadable` means that it is not a transcript that can be read
 */
export type Registration =
  | { outcome: 'registered' | 'unnamed'; isGuessed: boolean; sizeBytes: number }
  | { outcome: 'there' | 'damaged' | 'unreadable' };

/** Lower than the priority of current uploads. */
const REGISTER_PRIORITY = -1;

/**
 * Creates the row and the job for a raw object, a transcript's or a redacted copy of one, from its description, whose
 * hash is checked, or, without one, from its lines and key. Its workspace must exist. May be repeated, even
 * concurrently, and while the object's own upload is in progress.
 */
export async function registerObject(
  deps: IngestDependencies,
  { workspaceId, transcriptId }: RawObjectKeyParts,
  key: string,
  record: RecordUpload = createUploadRecorder(deps),
): Promise<Registration> {
  const { database } = deps.database;
  const stored = await deps.rawStore.readDescription(key);
  const described = parseTranscriptDescription(stored);
  const measured = await measureObject(deps, workspaceId, key, {
    sessionId: described?.session_id,
    path: described?.path ?? undefined,
    format: described?.format,
  });
  if (measured === undefined) return { outcome: 'unreadable' };
  const { sha256, sizeBytes, identity, prefix } = measured;
  if (described !== undefined && (described.stored_sha256 ?? described.sha256) !== sha256)
    return { outcome: 'damaged' };
  if (described === undefined) {
    // Its upload may have named the session, which its lines do not.
    const [known] = await listTranscripts(database, workspaceId, { sha256 }, { limit: 1 });
    if (known !== undefined) return await settle(deps, known, key);
  }
  const transcript = described ?? guessDescription(transcriptId, measured);
  const stream = parseStoredLiveStream(stored);
  // Before the transcript, whose lines take their times from the stream.
  if (stream !== undefined)
    await restoreDescribedStream(deps, workspaceId, { ...stream, transcript_id: transcript.id }, null);
  const isCopy = transcript.stored_sha256 !== null;
  const { received_at: created_at, live_stream: _stream, ...columns } = { live_stream: undefined, ...transcript };
  const { row, isDuplicate } = await record({
    workspaceId,
    transcript: {
      ...columns,
      object_key: key,
      created_at,
      grown_from: isCopy ? null : (prefix?.transcriptId ?? null),
      tail_sha256: isCopy ? null : (prefix?.tailSha256 ?? null),
    },
    priority: REGISTER_PRIORITY,
  });
  if (!isDuplicate) {
    const isUnnamed = described === undefined && identity.sessionId === undefined;
    return { outcome: isUnnamed ? 'unnamed' : 'registered', isGuessed: described === undefined, sizeBytes };
  }
  // A redacted copy never replaces a lost original: `recount doctor` makes the row name it.
  return isCopy ? { outcome: 'there' } : await settle(deps, row, key);
}

/** The description of an object that has none, from its lines and key. */
function guessDescription(
  transcriptId: string,
  { sha256, sizeBytes, identity }: NonNullable<Awaited<ReturnType<typeof measureObject>>>,
) {
  return {
    id: transcriptId,
    session_id: identity.sessionId ?? transcriptId,
    ...chooseFormat(identity, {}),
    path: null,
    is_subagent: identity.isSubagent,
    parent_session_id: identity.parentSessionId ?? null,
    agent_id: identity.agentId ?? null,
    sha256,
    size_bytes: sizeBytes,
    stored_sha256: null,
    uploader_key_id: null,
    machine: null,
    person: null,
    sent_repository: null,
    worktree: null,
    received_at: new Date(decodeTime(transcriptId)).toISOString(),
  };
}

async function settle(
  deps: IngestDependencies,
  row: Parameters<typeof settleDuplicate>[1],
  key: string,
): Promise<Registration> {
  const now = await findTranscript(deps.database.database, row.workspace_id, row.id);
  if (now === undefined) return { outcome: 'there' };
  const { transcript, outcome } = await settleDuplicate(deps, now, key);
  if (outcome !== 'healed' && transcript.object_key !== key) await deps.rawStore.delete(key);
  return { outcome: 'there' };
}

async function measureObject(
  deps: IngestDependencies,
  workspaceId: string,
  key: string,
  hints: { sessionId: string | undefined; path: string | undefined; format: string | undefined },
) {
  const measured = measureBody(await deps.rawStore.get(key), {
    ...hints,
    maxBytes: Number.MAX_SAFE_INTEGER,
    listVersions: (sessionId) =>
      listSessionVersions(deps.database.database, workspaceId, sessionId, DEFAULT_MIN_CHECKPOINT_BYTES),
  });
  try {
    for await (const _chunk of measured.chunks);
    return measured.toResult();
  } catch (error) {
    if (error instanceof ReceiveError) return undefined;
    throw error;
  }
}
