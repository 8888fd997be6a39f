import { type Database, findLiveStream, type LiveStreamRow, listEndedStreams } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { hashPrefixes } from '../raw-objects/hash-prefixes.ts';
import { findTranscriptOf, readStreamBytes } from './stream-bytes.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** The overlap of a stream with others of its session, e.g. one that was aborted and sent again completely. */
export interface StreamComparison {
  /** Its bytes are the beginning of another stream, or the same. */
  isContained: boolean;
  /** Ids of aborted streams whose bytes are the beginning of this one. Empty if this one is contained itself. */
  contains: readonly string[];
  /** Ids of all streams that it was compared with. */
  comparedIds: ReadonlySet<string>;
}

/** The end of a stream. */
interface ComparedEnding {
  storedBytes: number;
  aborted: boolean;
}

/** A client that sends a stream again completely has aborted only a few before. */
const MAX_CANDIDATES = 10;

/** A stream that is ending, or whose row is being restored. */
export type ComparedStream = Parameters<typeof listEndedStreams>[1];

/**
 * Compares a stream of `storedBytes` with the ended streams of its session, whether stored yet or not, by hash, not by
 * trusting the client. Two streams that both ended normally are never merged. `read` is called only if there is
 * something to compare.
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
    if ((await hashPrefix(deps, other, storedBytes)) === sha256)
      return { isContained: true, contains: [], comparedIds };
  }
  const contains: string[] = [];
  for (const other of shorter) {
    const length = other.stored_bytes;
    if ((await hashPrefix(deps, other, length)) === prefixes.byLength.get(length)) contains.push(other.id);
  }
  return { isContained: false, contains, comparedIds };
}

/** True if a stream that the comparison should have covered ended after it. The caller must hold the session's row. */
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

/** SHA-256 (hex) of the first `length` bytes of an ended stream; undefined if they no longer exist. */
async function hashPrefix(deps: Deps, stream: LiveStreamRow, length: number): Promise<string | undefined> {
  const transcript = await findTranscriptOf(deps, stream);
  // The hash of the upload, even if secrets were removed from the object since.
  if (transcript?.size_bytes === length) return transcript.sha256;
  const prefix = hashPrefixes(readStreamBytes(deps, stream), [length]);
  for await (const _chunk of prefix.chunks) if (prefix.byLength.has(length)) break;
  const sha256 = prefix.byLength.get(length);
  if (sha256 !== undefined || stream.state === 'closed') return sha256;
  // It may have been stored since then, which removes its bytes from the database.
  const { workspace_id: workspaceId, id: streamId } = stream;
  const stored = await findLiveStream(deps.database.database, { workspaceId, streamId });
  return stored?.state === 'closed' ? await hashPrefix(deps, stored, length) : undefined;
}
