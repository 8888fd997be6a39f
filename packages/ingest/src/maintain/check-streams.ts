import { listStoredStreams, type StoredStream } from '@recount/db';
import { RawStoreError } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { hashRawObject } from '../raw-objects/examine-raw-object.ts';
import type { TranscriptCheckOptions } from './check-transcripts.ts';

export type StreamFinding =
  /** A stream whose object is not there: its bytes are lost, or the store is the wrong one. */
  | { kind: 'missing-stream'; workspaceId: string; streamId: string; objectKey: string; fixed: false }
  | { kind: 'wrong-stream-size'; workspaceId: string; streamId: string; sizeBytes: number; fixed: false }
  /** An object whose bytes are no longer those that were stored, or that the store fails to give. */
  | { kind: 'wrong-stream-content'; workspaceId: string; streamId: string; objectKey: string; fixed: false };

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;
type Options = Pick<TranscriptCheckOptions, 'checksums' | 'counts' | 'onRead' | 'signal'>;

/** Looks for the objects of the streams that are stored as they came. */
export async function* checkStoredStreams(deps: Deps, options: Options): AsyncGenerator<StreamFinding> {
  for await (const page of listStoredStreams(deps.database.database)) {
    for (const stream of page) {
      options.signal?.throwIfAborted();
      options.counts.streams += 1;
      const { workspaceId, streamId, objectKey } = stream;
      const about = { workspaceId, streamId, fixed: false } as const;
      const object = await deps.rawStore.stat(objectKey);
      if (object === undefined) yield { kind: 'missing-stream', ...about, objectKey };
      else if (object.sizeBytes !== stream.sizeBytes) {
        yield { kind: 'wrong-stream-size', ...about, sizeBytes: object.sizeBytes };
      } else if (options.checksums && !(await isIntact(deps, stream, options))) {
        yield { kind: 'wrong-stream-content', ...about, objectKey };
      }
    }
  }
}

async function isIntact(
  { rawStore }: Deps,
  { objectKey, sizeBytes, sha256 }: StoredStream,
  { counts, onRead, signal }: Options,
): Promise<boolean> {
  if (sha256 === null) {
    counts.skipped.streamsWithoutChecksum += 1;
    return true;
  }
  try {
    const found = await hashRawObject(rawStore, objectKey, { signal });
    counts.checksums += 1;
    counts.checksumBytes += sizeBytes;
    onRead(sizeBytes);
    return found === sha256;
  } catch (error) {
    if (!(error instanceof RawStoreError)) throw error;
    return false;
  }
}
