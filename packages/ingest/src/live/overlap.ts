import { findTranscript, type LiveStreamRow, readLiveChunks } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { LiveError } from './live-error.ts';

/** What a request sends again of a stream. */
export interface Overlap {
  /** Bytes that are stored and were not sent again yet. */
  readonly leftBytes: number;
  /**
   * Compares bytes with those that are stored at their place; returns what lies beyond them. Throws LiveError
   * `different-bytes`, and `closed` where the stored ones cannot be had.
   */
  take(bytes: Uint8Array): Promise<Uint8Array>;
}

/** Compares what comes with the `lengthBytes` that `stored` gives. Reads no more of it than is sent again. */
export function createOverlap(stored: AsyncIterable<Uint8Array>, lengthBytes: number): Overlap {
  const chunks = stored[Symbol.asyncIterator]();
  let leftBytes = lengthBytes;
  let held: Uint8Array = new Uint8Array(0);
  return {
    get leftBytes() {
      return leftBytes;
    },
    async take(bytes) {
      let rest = bytes;
      while (rest.length > 0 && leftBytes > 0) {
        if (held.length === 0) {
          const next = await chunks.next();
          if (next.done) throw new LiveError('closed', 'What is stored cannot be compared with what was sent');
          held = next.value;
        }
        const length = Math.min(rest.length, held.length, leftBytes);
        if (Buffer.compare(rest.subarray(0, length), held.subarray(0, length)) !== 0) {
          throw new LiveError('different-bytes', 'What is stored of the stream at this place is something else');
        }
        rest = rest.subarray(length);
        held = held.subarray(length);
        leftBytes -= length;
      }
      if (leftBytes === 0) await chunks.return?.();
      return rest;
    },
  };
}

/**
 * The bytes of a stream from an offset on, wherever they are stored by now. None where they are gone, or secrets were taken
 * out of them: then nobody can tell what was sent.
 */
export async function* readStoredStream(
  { database, rawStore }: Pick<IngestDependencies, 'database' | 'rawStore'>,
  stream: LiveStreamRow,
  offset: number,
): AsyncGenerator<Uint8Array> {
  const { workspace_id: workspaceId, id: streamId, transcript_id: transcriptId } = stream;
  if (stream.state !== 'closed') {
    for await (const { byteOffset, bytes } of readLiveChunks(database.database, { workspaceId, streamId }, offset)) {
      yield bytes.subarray(Math.max(0, offset - byteOffset));
    }
    return;
  }
  const transcript =
    transcriptId === null ? undefined : await findTranscript(database.database, workspaceId, transcriptId);
  const isAsSent =
    transcript === undefined || (transcript.stored_sha256 === null && transcript.raw_deleted_at === null);
  const objectKey = transcript?.object_key ?? stream.object_key;
  if (objectKey === null || !isAsSent) return;
  yield* await rawStore.get(objectKey, { range: { startByte: offset } });
}
