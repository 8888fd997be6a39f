import { buffer } from 'node:stream/consumers';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, isNewSessionId, RUNNABLE_AGENTS } from '@recount/core';
import { toStreamOutcome } from '@recount/core/live';
import { addLiveEvents, insertStoredStream, type LiveStreamKey, uncountLiveStreams } from '@recount/db';
import type { RawObjectInfo } from '@recount/storage';
import { decodeTime } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { parseStoredLiveStream, type StoredLiveStream } from '../raw-objects/describe-transcript.ts';
import { hashPrefixes } from '../raw-objects/hash-prefixes.ts';
import { type ComparedStream, compareStreams, type StreamComparison } from './compare-streams.ts';
import { toFigures, withTotals } from './live-events.ts';
import { createAgentParser } from './stream-reader.ts';

/**
 * Recreates the row of a stream of which only the object is left, and adds it to the totals of its session: the one
 * that its lines name, or else one of its own with the stream's id. Its bytes are compared with the session's other
 * streams, so that one that was aborted and sent again completely counts once. Returns false if its lines do not
 * identify the agent, or if it has a row by now.
 */
export async function restoreLiveStream(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  { workspaceId, streamId }: LiveStreamKey,
  { key, sizeBytes, modifiedAtMs }: RawObjectInfo,
): Promise<boolean> {
  const described = parseStoredLiveStream(await deps.rawStore.readDescription(key));
  if (described !== undefined) {
    const row = { workspace_id: workspaceId, id: streamId, session_id: described.session_id, agent: described.agent };
    const comparison = await compareAgain(deps, row, key, sizeBytes);
    return await restoreDescribedStream(deps, workspaceId, described, key, comparison);
  }
  const identity = identifyTranscript({ head: await readHead(deps, key, sizeBytes) });
  const source = RUNNABLE_AGENTS.find(({ id }) => id === identity.agent);
  if (source === undefined) return false;
  const parser = createAgentParser(source.id, () => modifiedAtMs);
  const hashed = hashPrefixes(await deps.rawStore.get(key), []);
  for await (const chunk of hashed.chunks) parser.push(chunk);
  parser.finish();
  const summary = parser.toSummary();
  const outcome = toStreamOutcome(summary);
  const sessionId = isNewSessionId(summary.agentSessionId) ? summary.agentSessionId : streamId;
  const endedAt = new Date(modifiedAtMs).toISOString();
  const row = { workspace_id: workspaceId, id: streamId, session_id: sessionId, agent: source.id };
  const comparison = await compareAgain(deps, row, key, sizeBytes);
  return await deps.database.withTransaction(async (transaction) => {
    const isInserted = await insertStoredStream(transaction, {
      ...toFigures(summary),
      ...row,
      source_format: source.program.sourceFormat,
      writer_id: streamId,
      stored_bytes: sizeBytes,
      started_at: new Date(Math.min(decodeTime(streamId), modifiedAtMs)).toISOString(),
      last_received_at: endedAt,
      ended_at: endedAt,
      success: outcome.success,
      aborted: outcome.aborted,
      error: outcome.error,
      is_counted: !comparison.isContained,
      object_key: key,
      sha256: hashed.toDigest(),
    });
    if (!isInserted) return false;
    const replaced = await uncountLiveStreams(transaction, workspaceId, comparison.contains);
    await addLiveEvents(transaction, { workspaceId, sessionId }, streamId, [], (session) =>
      comparison.isContained ? {} : withTotals(session, summary, replaced),
    );
    return true;
  });
}

/** Treated like an aborted stream: it may have been sent again completely while the database had no record of it. */
async function compareAgain(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  row: ComparedStream,
  key: string,
  storedBytes: number,
): Promise<StreamComparison> {
  return await compareStreams(deps, row, { storedBytes, aborted: true, read: () => readObject(deps, key) });
}

/**
 * Recreates a stream's row from its description, and adds it to the totals of its session, if it counted there and no
 * other stream of the session has its bytes. Returns false, doing nothing, if it has a row.
 */
export async function restoreDescribedStream(
  deps: Pick<IngestDependencies, 'database'>,
  workspaceId: string,
  stream: StoredLiveStream,
  objectKey: string | null,
  { isContained, contains }: Pick<StreamComparison, 'isContained' | 'contains'> = { isContained: false, contains: [] },
): Promise<boolean> {
  const { tokensCover } = createAgentParser(stream.agent, Date.now).toSummary();
  const tokens = {
    input: stream.tokens_in,
    output: stream.tokens_out,
    cacheRead: stream.cache_read,
    cacheWrite: stream.cache_write,
  };
  const figures = { tokens, tokensCover, costUsd: stream.cost_usd, model: stream.model };
  return await deps.database.withTransaction(async (transaction) => {
    const isCounted = stream.is_counted && !isContained;
    const own = { workspace_id: workspaceId, writer_id: stream.id, object_key: objectKey, is_counted: isCounted };
    if (!(await insertStoredStream(transaction, { ...stream, ...own }))) return false;
    const replaced = isCounted ? await uncountLiveStreams(transaction, workspaceId, contains) : [];
    const key = { workspaceId, sessionId: stream.session_id };
    await addLiveEvents(transaction, key, stream.id, [], (session) =>
      isCounted ? withTotals(session, figures, replaced) : {},
    );
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
