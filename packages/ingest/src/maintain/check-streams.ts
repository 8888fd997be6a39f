import { findLiveStream, hasWorkspace, type LiveStreamKey, listStoredStreams } from '@recount/db';
import type { RawObjectInfo } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { restoreLiveStream } from '../live/restore-live-stream.ts';

export type StreamFinding =
  /** An object of a stream that has no row: younger than a restored database. */
  | { kind: 'orphan-stream'; objectKey: string; sizeBytes: number; fixed: boolean }
  /** A stream whose object is not there: its bytes are lost, or the store is the wrong one. */
  | { kind: 'missing-stream'; workspaceId: string; streamId: string; objectKey: string; fixed: false }
  | { kind: 'wrong-stream-size'; workspaceId: string; streamId: string; sizeBytes: number; fixed: false };

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** With `fix`, an orphan gets its row back where its lines tell which agent wrote them. None is ever deleted. */
export async function* checkStreamObject(
  deps: Deps,
  key: LiveStreamKey,
  object: RawObjectInfo,
  fix: boolean,
): AsyncGenerator<StreamFinding> {
  const { database } = deps.database;
  const row = await findLiveStream(database, key);
  // One that has not been closed yet names its object when it is.
  if (row !== undefined && (row.state !== 'closed' || row.object_key === object.key)) return;
  const isToMend = fix && row === undefined && (await hasWorkspace(database, key.workspaceId));
  const fixed = isToMend && (await restoreLiveStream(deps, key, object));
  yield { kind: 'orphan-stream', objectKey: object.key, sizeBytes: object.sizeBytes, fixed };
}

/** Looks for the objects of the streams that ended before that time (ISO 8601). */
export async function* checkStoredStreams(
  { database, rawStore }: Deps,
  endedBefore: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamFinding> {
  for await (const page of listStoredStreams(database.database, endedBefore)) {
    for (const { workspaceId, streamId, objectKey, sizeBytes } of page) {
      signal?.throwIfAborted();
      const object = await rawStore.stat(objectKey);
      if (object === undefined) yield { kind: 'missing-stream', workspaceId, streamId, objectKey, fixed: false };
      else if (object.sizeBytes !== sizeBytes) {
        yield { kind: 'wrong-stream-size', workspaceId, streamId, sizeBytes: object.sizeBytes, fixed: false };
      }
    }
  }
}
