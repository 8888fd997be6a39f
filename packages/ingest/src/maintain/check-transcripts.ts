import { findTranscript, listAllTranscripts, markRawDamaged, type TranscriptReference } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { examineRawObject, type RawObjectState } from '../raw-objects/examine-raw-object.ts';
import { markRawWhole } from '../raw-objects/mark-raw-whole.ts';
import type { DoctorCounts } from './doctor-counts.ts';
import { requeueTranscript } from './requeue-transcript.ts';

export type TranscriptFinding =
  /** A row whose object is not there: its bytes are lost, or the store is the wrong one. */
  | { kind: 'missing-object'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  | { kind: 'wrong-size'; workspaceId: string; transcriptId: string; sizeBytes: number; fixed: false }
  /** An object of the right size whose bytes are no longer those that were stored. */
  | { kind: 'wrong-content'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  /** An object that the store has and fails to give. */
  | { kind: 'unreadable-object'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  /** A row that waits for a job which is not in the queue. */
  | { kind: 'lost-job'; workspaceId: string; transcriptId: string; fixed: boolean }
  | { kind: 'failed-transcript'; workspaceId: string; transcriptId: string; fixed: false };

export interface TranscriptCheckOptions {
  fix: boolean;
  checksums: boolean;
  onRead: (sizeBytes: number) => void;
  /** The job of a younger transcript may be on its way. Milliseconds since 1970. */
  latestMs: number;
  counts: DoctorCounts;
  signal?: AbortSignal | undefined;
}

/**
 * Looks for the raw object of every transcript, however young: a row comes after its object. With `fix`, those whose object is
 * lost or damaged are marked, so that a backfill brings their bytes again.
 */
export async function* checkTranscripts(
  deps: IngestDependencies,
  options: TranscriptCheckOptions,
): AsyncGenerator<TranscriptFinding> {
  for await (const page of listAllTranscripts(deps.database.database)) {
    const waiting = page.filter((row) => isWaiting(row) && Date.parse(row.created_at) <= options.latestMs);
    options.counts.skipped.youngJobs += page.filter(isWaiting).length - waiting.length;
    const ids = waiting.map(({ id }) => id);
    const pending = ids.length === 0 ? new Set<string>() : await deps.queue.findPending(ids);
    const isJobMissing = new Set(ids.filter((id) => !pending.has(id)));
    for (const row of page) {
      options.signal?.throwIfAborted();
      yield* checkRawObject(deps, row, options);
      if (row.status === 'failed') yield { kind: 'failed-transcript', ...toJob(row), fixed: false };
      if (isJobMissing.has(row.id)) yield* checkJob(deps, row, options);
    }
  }
}

const toJob = (row: TranscriptReference) => ({ workspaceId: row.workspace_id, transcriptId: row.id });

const isWaiting = ({ status }: Pick<TranscriptReference, 'status'>): boolean =>
  status === 'queued' || status === 'processing';

async function* checkJob(
  deps: IngestDependencies,
  row: TranscriptReference,
  { fix }: TranscriptCheckOptions,
): AsyncGenerator<TranscriptFinding> {
  // A worker may have done it between the two looks.
  const now = await findTranscript(deps.database.database, row.workspace_id, row.id);
  if (now === undefined || !isWaiting(now)) return;
  const fixed = fix && (await requeueTranscript(deps, toJob(row), ['queued', 'processing']));
  yield { kind: 'lost-job', ...toJob(row), fixed };
}

async function* checkRawObject(
  deps: IngestDependencies,
  row: TranscriptReference,
  options: TranscriptCheckOptions,
): AsyncGenerator<TranscriptFinding> {
  const { counts, checksums, fix } = options;
  if (row.raw_deleted_at !== null) {
    counts.skipped.expiredObjects += 1;
    return;
  }
  counts.transcripts += 1;
  const { state, sizeBytes } = await examine(deps, row, options);
  const isMarked = row.raw_damaged_at !== null;
  if (state === 'whole') {
    if (fix && checksums && isMarked) await markRawWhole(deps, row);
    return;
  }
  // Reading takes long: the transcript may have been deleted meanwhile, or have another object.
  if (!(await isAsListed(deps, row))) return;
  if (fix && !isMarked) await markRawDamaged(deps.database.database, row, true);
  const about = { ...toJob(row), fixed: false } as const;
  if (state === 'wrong-size') yield { kind: state, ...about, sizeBytes };
  else yield { kind: state === 'missing' ? 'missing-object' : toKind(state), ...about, objectKey: row.object_key };
}

const toKind = (state: 'wrong-content' | 'unreadable') => (state === 'unreadable' ? 'unreadable-object' : state);

async function examine(
  { rawStore }: IngestDependencies,
  row: TranscriptReference,
  { checksums, counts, onRead, signal }: TranscriptCheckOptions,
): Promise<{ state: RawObjectState; sizeBytes: number }> {
  if (checksums) {
    const state = await examineRawObject(rawStore, row, { signal });
    if (state === 'whole' || state === 'wrong-content') {
      counts.checksums += 1;
      counts.checksumBytes += row.size_bytes;
      onRead(row.size_bytes);
    }
    if (state !== 'wrong-size') return { state, sizeBytes: row.size_bytes };
  }
  const object = await rawStore.stat(row.object_key);
  if (object === undefined) return { state: 'missing', sizeBytes: 0 };
  return { state: object.sizeBytes === row.size_bytes ? 'whole' : 'wrong-size', sizeBytes: object.sizeBytes };
}

async function isAsListed({ database }: IngestDependencies, row: TranscriptReference): Promise<boolean> {
  const found = await findTranscript(database.database, row.workspace_id, row.id);
  return found?.object_key === row.object_key && found.raw_deleted_at === null;
}
