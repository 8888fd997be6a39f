import { findTranscript, listAllTranscripts } from '@recount/db';
import { parseRawObjectKey } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { requeueTranscript } from './requeue-transcript.ts';

export interface DoctorOptions {
  /** Mends what it finds: deletes orphan objects, enqueues lost jobs. */
  fix: boolean;
  /** Younger objects and rows may belong to an upload under way. Default one hour. */
  minAgeMs?: number;
  nowMs: number;
  signal?: AbortSignal;
}

export type Finding =
  /** An object that no row names: of an upload that was never acknowledged, or of a deletion cut short. */
  | { kind: 'orphan-object'; objectKey: string; sizeBytes: number; fixed: boolean }
  /** A row whose object is not there: its bytes are lost, or the store is the wrong one. */
  | { kind: 'missing-object'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  | { kind: 'wrong-size'; workspaceId: string; transcriptId: string; sizeBytes: number; fixed: false }
  /** A row that waits for a job which is not in the queue. */
  | { kind: 'lost-job'; workspaceId: string; transcriptId: string; fixed: boolean }
  | { kind: 'failed-transcript'; workspaceId: string; transcriptId: string; fixed: false }
  /** Remains of uploads that were cut off, which are no objects yet. */
  | { kind: 'stale-uploads'; count: number; fixed: true };

const DEFAULT_MIN_AGE_MS = 60 * 60 * 1000;

/** Compares raw store, database and queue, and yields every disagreement. */
export async function* runDoctor(deps: IngestDependencies, options: DoctorOptions): AsyncGenerator<Finding> {
  const minAgeMs = options.minAgeMs ?? DEFAULT_MIN_AGE_MS;
  const latestMs = options.nowMs - minAgeMs;
  yield* findOrphanObjects(deps, options, latestMs);
  yield* checkTranscripts(deps, options, latestMs);
  if (!options.fix) return;
  const count = await deps.rawStore.abortStaleUploads(minAgeMs);
  if (count > 0) yield { kind: 'stale-uploads', count, fixed: true };
}

async function* findOrphanObjects(
  deps: IngestDependencies,
  { fix, signal }: DoctorOptions,
  latestMs: number,
): AsyncGenerator<Finding> {
  for await (const { key, sizeBytes, modifiedAtMs } of deps.rawStore.list('')) {
    signal?.throwIfAborted();
    const ids = parseRawObjectKey(key);
    if (ids === undefined || modifiedAtMs > latestMs) continue;
    const row = await findTranscript(deps.database.database, ids.workspaceId, ids.transcriptId);
    if (row !== undefined) continue;
    if (fix) await deps.rawStore.delete(key);
    yield { kind: 'orphan-object', objectKey: key, sizeBytes, fixed: fix };
  }
}

async function* checkTranscripts(
  deps: IngestDependencies,
  { fix, signal }: DoctorOptions,
  latestMs: number,
): AsyncGenerator<Finding> {
  const createdBefore = new Date(latestMs).toISOString();
  for await (const row of listAllTranscripts(deps.database.database, { createdBefore })) {
    signal?.throwIfAborted();
    const job = { workspaceId: row.workspace_id, transcriptId: row.id };
    const object = await deps.rawStore.stat(row.object_key);
    if (object === undefined) yield { kind: 'missing-object', ...job, objectKey: row.object_key, fixed: false };
    else if (object.sizeBytes !== row.size_bytes) {
      yield { kind: 'wrong-size', ...job, sizeBytes: object.sizeBytes, fixed: false };
    }
    if (row.status === 'failed') yield { kind: 'failed-transcript', ...job, fixed: false };
    if ((row.status === 'queued' || row.status === 'processing') && !(await deps.queue.hasJob(job))) {
      const fixed = fix && (await requeueTranscript(deps, job, ['queued', 'processing']));
      yield { kind: 'lost-job', ...job, fixed };
    }
  }
}
