import { createHash } from 'node:crypto';
import { findTranscript, type LiveStreamRow, listClosedStreams, readLiveChunks } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { hashPrefixes } from '../process/hash-prefixes.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** What a stream has in common with others of its session, one of which was given up and sent anew, whole. */
export interface StreamComparison {
  /** Its bytes are the beginning of another one, or the same. */
  isContained: boolean;
  /** Ids of streams that were given up, which are the beginning of it. Empty where it is contained itself. */
  contains: readonly string[];
}

/** A client that sends a stream anew, whole, has given few up before. */
const MAX_CANDIDATES = 10;

/**
 * Compares a stream that ends, of `storedBytes` in the database, with those of its session that are stored: by hash and not by
 * trust. Of two that both came to their end neither is taken for the other.
 */
export async function compareStreams(
  deps: Deps,
  stream: LiveStreamRow,
  { storedBytes, aborted }: { storedBytes: number; aborted: boolean },
): Promise<StreamComparison> {
  if (storedBytes === 0) return { isContained: false, contains: [] };
  const list = (filter: Parameters<typeof listClosedStreams>[2]) =>
    listClosedStreams(deps.database.database, stream, filter, MAX_CANDIDATES);
  const longer = await list({ minBytes: storedBytes, aborted: !aborted });
  const shorter = await list({ minBytes: 1, maxBytes: storedBytes, aborted: true });
  if (longer.length + shorter.length === 0) return { isContained: false, contains: [] };

  const lengths = shorter.map(({ stored_bytes }) => stored_bytes);
  const prefixes = hashPrefixes(readBytes(deps, stream), lengths);
  for await (const _chunk of prefixes.chunks);
  const sha256 = prefixes.toDigest();
  for (const other of longer) {
    if ((await hashBeginning(deps, other, storedBytes)) === sha256) return { isContained: true, contains: [] };
  }
  const contains: string[] = [];
  for (const other of shorter) {
    const length = other.stored_bytes;
    if ((await hashBeginning(deps, other, length)) === prefixes.byLength.get(length)) contains.push(other.id);
  }
  return { isContained: false, contains };
}

async function* readBytes({ database }: Deps, stream: LiveStreamRow): AsyncGenerator<Uint8Array> {
  const key = { workspaceId: stream.workspace_id, streamId: stream.id };
  for await (const { bytes } of readLiveChunks(database.database, key)) yield bytes;
}

/** SHA-256 (hex) of the first `length` bytes of a stream that is stored; undefined where it is not there any more. */
async function hashBeginning(deps: Deps, stream: LiveStreamRow, length: number): Promise<string | undefined> {
  const { workspace_id: workspaceId, transcript_id: transcriptId } = stream;
  const transcript =
    transcriptId === null ? undefined : await findTranscript(deps.database.database, workspaceId, transcriptId);
  // What was uploaded, also where the object has been freed of secrets since.
  if (transcript?.size_bytes === length) return transcript.sha256;
  const objectKey = transcript?.object_key ?? stream.object_key;
  if (objectKey === null || (await deps.rawStore.stat(objectKey)) === undefined) return undefined;
  const hash = createHash('sha256');
  for await (const chunk of await deps.rawStore.get(objectKey, { range: { startByte: 0, endByteExclusive: length } })) {
    hash.update(chunk);
  }
  return hash.digest('hex');
}
