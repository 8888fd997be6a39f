import { createHash } from 'node:crypto';
import { findTranscript, type LiveStreamRow, listAbortedStreams, readLiveChunks } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { hashPrefixes } from '../process/hash-prefixes.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** A client that sends a stream anew, whole, has given few up before. */
const MAX_CANDIDATES = 10;

/**
 * The longest stream of the session that was given up, as when nothing came for long, and that this one, of `storedBytes`
 * in the database, begins with: it was sent anew, whole. By hash and not by trust. Undefined where there is none.
 */
export async function findSupersededStream(
  deps: Deps,
  stream: LiveStreamRow,
  storedBytes: number,
): Promise<LiveStreamRow | undefined> {
  const { database } = deps.database;
  const candidates = await listAbortedStreams(database, stream, { maxBytes: storedBytes, limit: MAX_CANDIDATES });
  if (candidates.length === 0) return undefined;
  const lengths = candidates.map(({ stored_bytes }) => stored_bytes);
  const prefixes = hashPrefixes(readBytes(deps, stream), lengths);
  for await (const _chunk of prefixes.chunks);
  for (const candidate of candidates) {
    const sha256 = await hashStored(deps, candidate);
    if (sha256 !== undefined && sha256 === prefixes.byLength.get(candidate.stored_bytes)) return candidate;
  }
  return undefined;
}

async function* readBytes({ database }: Deps, stream: LiveStreamRow): AsyncGenerator<Uint8Array> {
  const key = { workspaceId: stream.workspace_id, streamId: stream.id };
  for await (const { bytes } of readLiveChunks(database.database, key)) yield bytes;
}

/** SHA-256 (hex) of a stream that is stored; undefined where it is not there any more. */
async function hashStored({ database, rawStore }: Deps, stream: LiveStreamRow): Promise<string | undefined> {
  const { workspace_id: workspaceId, transcript_id: transcriptId, object_key: objectKey } = stream;
  if (transcriptId !== null) return (await findTranscript(database.database, workspaceId, transcriptId))?.sha256;
  if (objectKey === null || (await rawStore.stat(objectKey)) === undefined) return undefined;
  const hash = createHash('sha256');
  for await (const chunk of await rawStore.get(objectKey)) hash.update(chunk);
  return hash.digest('hex');
}
