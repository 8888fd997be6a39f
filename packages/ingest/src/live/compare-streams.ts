import { createHash } from 'node:crypto';
import {
  type Database,
  findLiveStream,
  findTranscript,
  type LiveStreamRow,
  listEndedStreams,
  readLiveChunks,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { hashPrefixes } from '../process/hash-prefixes.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** What a stream has in common with others of its session, one of which was given up and sent again as a whole. */
export interface StreamComparison {
  /** Its bytes are the beginning of another one, or the same. */
  isContained: boolean;
  /** Ids of streams that were given up, which are the beginning of it. Empty if it is contained itself. */
  contains: readonly string[];
  /** Ids of all streams that it was compared with. */
  comparedIds: ReadonlySet<string>;
}

/** How a stream ends. */
interface ComparedEnding {
  storedBytes: number;
  aborted: boolean;
}

/** A client that sends a stream again, whole, has given few up before. */
const MAX_CANDIDATES = 10;

/** A stream that ends, or that gets its row back. */
export type ComparedStream = Parameters<typeof listEndedStreams>[1];

/** The bytes of a stream while it is not stored yet. */
export async function* readStreamBytes(
  { database }: Pick<Deps, 'database'>,
  stream: Pick<LiveStreamRow, 'workspace_id' | 'id'>,
): AsyncGenerator<Uint8Array> {
  const key = { workspaceId: stream.workspace_id, streamId: stream.id };
  for await (const { bytes } of readLiveChunks(database.database, key)) yield bytes;
}

/**
 * Compares a stream of `storedBytes` with those of its session that have ended, whether they are stored yet or not: by hash
 * and not by trust. Of two that both came to their end neither is taken for the other. `read` is called if there is any to
 * compare with.
 */
export async function compareStreams(
  deps: Deps,
  stream: ComparedStream,
  { read, ...ending }: ComparedEnding & { read: () => AsyncIterable<Uint8Array> },
): Promise<StreamComparison> {
  const { storedBytes } = ending;
  const { longer, shorter } = await listCandidates(deps.database.database, stream, ending);
  const comparedIds = new Set([...longer, ...shorter].map(({ id }) => id));
  if (comparedIds.size === 0) return { isContained: false, contains: [], comparedIds };

  const lengths = shorter.map(({ stored_bytes }) => stored_bytes);
  const prefixes = hashPrefixes(read(), lengths);
  for await (const _chunk of prefixes.chunks);
  const sha256 = prefixes.toDigest();
  for (const other of longer) {
    if ((await hashBeginning(deps, other, storedBytes)) === sha256)
      return { isContained: true, contains: [], comparedIds };
  }
  const contains: string[] = [];
  for (const other of shorter) {
    const length = other.stored_bytes;
    if ((await hashBeginning(deps, other, length)) === prefixes.byLength.get(length)) contains.push(other.id);
  }
  return { isContained: false, contains, comparedIds };
}

/** Whether a stream that the comparison should have looked at ended after it. For whoever holds the session's row. */
export async function isOutdated(
  transaction: Database,
  stream: LiveStreamRow,
  ending: ComparedEnding,
  { comparedIds }: StreamComparison,
): Promise<boolean> {
  const { longer, shorter } = await listCandidates(transaction, stream, ending);
  return [...longer, ...shorter].some(({ id }) => !comparedIds.has(id));
}

async function listCandidates(
  database: Database,
  stream: ComparedStream,
  { storedBytes, aborted }: ComparedEnding,
): Promise<{ longer: LiveStreamRow[]; shorter: LiveStreamRow[] }> {
  if (storedBytes === 0) return { longer: [], shorter: [] };
  const list = (filter: Parameters<typeof listEndedStreams>[2]) =>
    listEndedStreams(database, stream, filter, MAX_CANDIDATES);
  return {
    longer: await list({ minBytes: storedBytes, aborted: !aborted }),
    shorter: await list({ minBytes: 1, maxBytes: storedBytes, aborted: true }),
  };
}

/** SHA-256 (hex) of the first `length` bytes of a stream that has ended; undefined if they are not there any more. */
async function hashBeginning(deps: Deps, stream: LiveStreamRow, length: number): Promise<string | undefined> {
  if (stream.state === 'closing') {
    const prefix = hashPrefixes(readStreamBytes(deps, stream), [length]);
    for await (const _chunk of prefix.chunks) if (prefix.byLength.has(length)) break;
    const sha256 = prefix.byLength.get(length);
    if (sha256 !== undefined) return sha256;
    // Stored meanwhile, which takes its bytes out of the database.
    const key = { workspaceId: stream.workspace_id, streamId: stream.id };
    const stored = await findLiveStream(deps.database.database, key);
    return stored?.state === 'closed' ? await hashStored(deps, stored, length) : undefined;
  }
  return await hashStored(deps, stream, length);
}

async function hashStored(deps: Deps, stream: LiveStreamRow, length: number): Promise<string | undefined> {
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
