import { buffer } from 'node:stream/consumers';
import { IDENTIFY_HEAD_BYTES, identifyTranscript } from '@recount/core';
import { type AgentParser, toStreamOutcome } from '@recount/core/live';
import { addLiveEvents, insertStoredStream, type LiveStreamKey } from '@recount/db';
import type { RawObjectInfo } from '@recount/storage';
import { decodeTime } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { isSessionId } from '../receive/session-id.ts';
import { createAgentParser } from './agent-parser.ts';
import { toFigures, withTotals } from './live-figures.ts';

/** Agents whose streams are stored as they came, by the format of their lines. */
const AGENTS: ReadonlyMap<string | undefined, { agent: string; sourceFormat: string }> = new Map([
  ['codex-exec', { agent: 'codex', sourceFormat: 'exec-json' }],
  ['amp-stream-json', { agent: 'amp', sourceFormat: 'stream-json' }],
]);

/**
 * Makes a row anew for a stream of which only the object is left, and adds it to the totals of its session: that which
 * its lines name, else one of its own with the stream's id. False where its lines do not tell which agent wrote them,
 * or it has a row meanwhile.
 */
export async function restoreLiveStream(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  { workspaceId, streamId }: LiveStreamKey,
  { key, sizeBytes, modifiedAtMs }: RawObjectInfo,
): Promise<boolean> {
  const source = AGENTS.get(identifyTranscript({ head: await readHead(deps, key, sizeBytes) }).format);
  if (source === undefined) return false;
  const parser: AgentParser = createAgentParser(source.agent, () => modifiedAtMs);
  for await (const chunk of await deps.rawStore.get(key)) parser.push(chunk);
  parser.finish();
  const summary = parser.toSummary();
  const outcome = toStreamOutcome(summary);
  const sessionId = isSessionId(summary.agentSessionId) ? summary.agentSessionId : streamId;
  const endedAt = new Date(modifiedAtMs).toISOString();
  return await deps.database.withTransaction(async (transaction) => {
    const isInserted = await insertStoredStream(transaction, {
      ...toFigures(summary),
      workspace_id: workspaceId,
      id: streamId,
      session_id: sessionId,
      agent: source.agent,
      source_format: source.sourceFormat,
      writer_id: streamId,
      stored_bytes: sizeBytes,
      started_at: new Date(Math.min(decodeTime(streamId), modifiedAtMs)).toISOString(),
      last_received_at: endedAt,
      ended_at: endedAt,
      success: outcome.success,
      aborted: outcome.aborted,
      error: outcome.error,
      object_key: key,
    });
    if (!isInserted) return false;
    await addLiveEvents(transaction, { workspaceId, sessionId }, streamId, [], (session) =>
      withTotals(session, summary, []),
    );
    return true;
  });
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
