import { buffer } from 'node:stream/consumers';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, isNewSessionId, RUNNABLE_AGENTS } from '@recount/core';
import { toStreamOutcome } from '@recount/core/live';
import { insertStoredStream, type LiveStreamKey, lockLiveSession, uncountLiveStreams } from '@recount/db';
import type { RawObjectInfo } from '@recount/storage';
import { decodeTime } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { parseStoredLiveStream, type StoredLiveStream } from '../raw-objects/describe-transcript.ts';
import { hashPrefixes } from '../raw-objects/hash-prefixes.ts';
import { compareStreams, type StreamComparison } from './compare-streams.ts';
import { createAgentParser, toFigures } from './stream-reader.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/**
 * Recreates the row of a stream whose object is all that is left, and adds it to the totals of its session, which its
 * lines name, or else its own with the stream's id. Its bytes are compared with the session's other streams, so that
 * one that was aborted and sent again completely counts once. Returns false if its lines do not identify the agent, or
 * if it has a row since then.
 */
export async function restoreLiveStream(
  deps: Deps,
  { workspaceId, streamId }: LiveStreamKey,
  object: RawObjectInfo,
): Promise<boolean> {
  const { key, sizeBytes } = object;
  const description = parseStoredLiveStream(await deps.rawStore.readDescription(key));
  const stream = description ?? (await describeStream(deps, streamId, object));
  if (stream === undefined) return false;
  const { session_id, agent } = stream;
  const comparison = await compareStreams(
    deps,
    { workspace_id: workspaceId, id: streamId, session_id, agent },
    // Treated like an aborted one, because it may have been sent again while the database had no record of it.
    { storedBytes: sizeBytes, aborted: true, read: () => readObject(deps, key) },
  );
  return await restoreDescribedStream(deps, workspaceId, stream, key, comparison);
}

/** The facts in a stream's lines about it; undefined if they do not identify the agent. */
async function describeStream(
  deps: Deps,
  streamId: string,
  { key, sizeBytes, modifiedAtMs }: RawObjectInfo,
): Promise<StoredLiveStream | undefined> {
  const identity = identifyTranscript({ head: await readHead(deps, key, sizeBytes) });
  const source = RUNNABLE_AGENTS.find(({ id }) => id === identity.agent);
  if (source === undefined) return undefined;
  const parser = createAgentParser(source.id, () => modifiedAtMs);
  const hashed = hashPrefixes(await deps.rawStore.get(key), []);
  for await (const chunk of hashed.chunks) parser.push(chunk);
  parser.finish();
  const summary = parser.toSummary();
  const { success, aborted, error } = toStreamOutcome(summary);
  const endedAt = new Date(modifiedAtMs).toISOString();
  return {
    ...toFigures(summary),
    ...{ id: streamId, agent: source.id, source_format: source.program.sourceFormat },
    session_id: isNewSessionId(summary.agentSessionId) ? summary.agentSessionId : streamId,
    ...{ path: null, uploader_key_id: null, machine: null, person: null, transcript_id: null, arrivals: null },
    stored_bytes: sizeBytes,
    started_at: new Date(Math.min(decodeTime(streamId), modifiedAtMs)).toISOString(),
    ...{ last_received_at: endedAt, ended_at: endedAt, success, aborted, error },
    is_counted: true,
    sha256: hashed.toDigest(),
  };
}

/**
 * Recreates a stream's row from its description. It counts in the totals of its session if it did, and no other stream of
 * the session has its bytes. Returns false, doing nothing, if it has a row.
 */
export async function restoreDescribedStream(
  deps: Pick<IngestDependencies, 'database'>,
  workspaceId: string,
  stream: StoredLiveStream,
  objectKey: string | null,
  { isContained, contains }: Pick<StreamComparison, 'isContained' | 'contains'> = { isContained: false, contains: [] },
): Promise<boolean> {
  return await deps.database.withTransaction(async (transaction) => {
    const is_counted = stream.is_counted && !isContained;
    const own = { workspace_id: workspaceId, writer_id: stream.id, object_key: objectKey, is_counted };
    if (!(await insertStoredStream(transaction, { ...stream, ...own }))) return false;
    await lockLiveSession(transaction, { workspaceId, sessionId: stream.session_id });
    if (is_counted) await uncountLiveStreams(transaction, workspaceId, contains);
    return true;
  });
}

async function* readObject(
  { rawStore }: Pick<IngestDependencies, 'rawStore'>,
  key: string,
): AsyncGenerator<Uint8Array> {
  yield* await rawStore.get(key);
}

async function readHead(
  { rawStore }: Pick<IngestDependencies, 'rawStore'>,
  key: string,
  sizeBytes: number,
): Promise<Buffer> {
  if (sizeBytes === 0) return Buffer.alloc(0);
  const range = { startByte: 0, endByteExclusive: IDENTIFY_HEAD_BYTES };
  return await buffer(await rawStore.get(key, { range }));
}
