import { findTranscript, type LiveStreamRow, readLiveChunks } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** The transcript that the stream has become; undefined if it is none. */
export async function findTranscriptOf({ database }: Pick<Deps, 'database'>, stream: LiveStreamRow) {
  const { state, workspace_id: workspaceId, transcript_id: transcriptId } = stream;
  if (state !== 'closed' || transcriptId === null) return undefined;
  return await findTranscript(database.database, workspaceId, transcriptId);
}

/**
 * The bytes of a stream from an offset on, wherever the row says that they are. Of a stream that is stored, they may lack
 * secrets, and there are none if its object is gone.
 */
export async function* readStreamBytes(deps: Deps, stream: LiveStreamRow, offset = 0): AsyncGenerator<Uint8Array> {
  if (stream.state !== 'closed') {
    const key = { workspaceId: stream.workspace_id, streamId: stream.id };
    for await (const { byteOffset, bytes } of readLiveChunks(deps.database.database, key, offset)) {
      yield bytes.subarray(Math.max(0, offset - byteOffset));
    }
    return;
  }
  const objectKey = (await findTranscriptOf(deps, stream))?.object_key ?? stream.object_key;
  if (objectKey === null || (await deps.rawStore.stat(objectKey)) === undefined) return;
  yield* await deps.rawStore.get(objectKey, { range: { startByte: offset } });
}
