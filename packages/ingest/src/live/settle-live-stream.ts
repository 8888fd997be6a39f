import { findAgentFormat } from '@recount/core';
import { closeLiveStream, findLiveStream, type LiveStreamRow } from '@recount/db';
import { streamObjectKey } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { deleteRecordedObjects } from '../raw-objects/delete-raw-objects.ts';
import { toStoredLiveStream } from '../raw-objects/describe-transcript.ts';
import { hashPrefixes } from '../raw-objects/hash-prefixes.ts';
import { receiveTranscript } from '../receive/receive-transcript.ts';
import { LiveError } from './live-error.ts';
import { readStreamBytes } from './stream-bytes.ts';

/**
 * Moves the bytes of an ended stream to the raw store, as a transcript, which will be ingested, or unchanged if its
 * format cannot be parsed. May be repeated, even concurrently. Returns the stream once it is closed. Throws LiveError
 * `closed` if it was deleted with its session before, and like receiveTranscript.
 */
export async function settleLiveStream(deps: IngestDependencies, stream: LiveStreamRow): Promise<LiveStreamRow> {
  if (stream.state !== 'closing') return stream;
  const key = { workspaceId: stream.workspace_id, streamId: stream.id };
  let stored: StoredBytes;
  try {
    stored = await storeBytes(deps, stream);
  } catch (error) {
    // Another process may have moved or deleted the bytes while they were read.
    const current = await findLiveStream(deps.database.database, key);
    if (current === undefined) throw toDeleted();
    if (current.state === 'closed') return current;
    throw error;
  }
  const closed = await deps.database.withTransaction((transaction) => closeLiveStream(transaction, key, stored));
  const settled = closed ?? (await findLiveStream(deps.database.database, key));
  if (settled !== undefined) return settled;
  // The deletion of its session has recorded the object for deletion.
  if (stored.object_key !== null) await deleteRecordedObjects(deps, key.workspaceId, [stored.object_key]);
  throw toDeleted();
}

const toDeleted = (): LiveError => new LiveError('closed', 'The stream was deleted with its session');

type StoredBytes = Pick<LiveStreamRow, 'transcript_id' | 'object_key' | 'sha256'>;

async function storeBytes(deps: IngestDependencies, stream: LiveStreamRow): Promise<StoredBytes> {
  const { workspace_id: workspaceId, id: streamId, transcript_id: transcriptId } = stream;
  const body = readWhole(deps, stream);
  if (stream.stored_bytes === 0) return { transcript_id: null, object_key: null, sha256: null };
  if (transcriptId === null) {
    const objectKey = streamObjectKey({ workspaceId, streamId });
    const hashed = hashPrefixes(body, []);
    await deps.rawStore.put(objectKey, hashed.chunks);
    const sha256 = hashed.toDigest();
    await deps.rawStore.describe(objectKey, { live_stream: toStoredLiveStream({ ...stream, sha256 }) });
    return { transcript_id: null, object_key: objectKey, sha256 };
  }
  const { transcript } = await receiveTranscript(deps, {
    workspaceId,
    uploaderKeyId: stream.uploader_key_id,
    machine: stream.machine ?? undefined,
    person: stream.person ?? undefined,
    body,
    sessionId: stream.session_id,
    path: stream.path ?? undefined,
    format: findAgentFormat(stream.agent, 'stream')?.format.id,
    transcriptId,
    description: { live_stream: toStoredLiveStream(stream) },
    maxBytes: stream.stored_bytes,
  });
  return { transcript_id: transcript.id, object_key: null, sha256: null };
}

/** Fails if bytes are missing, because another process has moved them to the store already. */
async function* readWhole(deps: IngestDependencies, stream: LiveStreamRow): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const bytes of readStreamBytes(deps, stream)) {
    length += bytes.length;
    yield bytes;
  }
  if (length !== stream.stored_bytes) throw new Error(`The stream has ${length} of ${stream.stored_bytes} bytes`);
}
