import {
  findJobs,
  findTranscript,
  listAllTranscripts,
  listStoredStreams,
  markRawDamaged,
  type StoredStream,
  type TranscriptReference,
} from '@recount/db';
import { RawStoreError } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import {
  examineRawObject,
  hashRawObject,
  markRawWhole,
  type RawObjectState,
} from '../raw-objects/examine-raw-object.ts';
import { checkDescription, type DescriptionFinding } from './check-description.ts';

/** The checked and the omitted parts of a doctor's run. */
export interface DoctorCounts {
  /** Objects of the store whose row was looked up. */
  objects: number;
  /** Transcripts whose raw object was looked up. */
  transcripts: number;
  /** Streams, stored as received, whose object was looked up. */
  streams: number;
  /** Attachments whose object was looked up. */
  attachments: number;
  /** Objects that were read completely, and their bytes. */
  checksums: number;
  checksumBytes: number;
  skipped: {
    /** Objects without a row that are younger than the minimum age, because their upload may be in progress. */
    youngObjects: number;
    /** Transcripts waiting for a worker that are younger than the minimum age. Their job was not looked up. */
    youngJobs: number;
    /** Transcripts whose raw object retention has deleted. */
    expiredObjects: number;
    /** Streams that were stored without a checksum, if checksums were requested. */
    streamsWithoutChecksum: number;
  };
}

export function createDoctorCounts(): DoctorCounts {
  return {
    objects: 0,
    transcripts: 0,
    streams: 0,
    attachments: 0,
    checksums: 0,
    checksumBytes: 0,
    skipped: { youngObjects: 0, youngJobs: 0, expiredObjects: 0, streamsWithoutChecksum: 0 },
  };
}

export type TranscriptFinding =
  /** A row whose object does not exist. Its bytes are lost, or this is the wrong store. */
  | { kind: 'missing-object'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  | { kind: 'wrong-size'; workspaceId: string; transcriptId: string; sizeBytes: number; fixed: false }
  /** An object of the right size with different bytes. */
  | { kind: 'wrong-content'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  /** An object that the store has but fails to return. */
  | { kind: 'unreadable-object'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  /** A row that waits for a job that is not in the queue. */
  | { kind: 'lost-job'; workspaceId: string; transcriptId: string; fixed: boolean }
  | { kind: 'failed-transcript'; workspaceId: string; transcriptId: string; fixed: false }
  | DescriptionFinding;

interface TranscriptCheckOptions {
  /** Undefined means all workspaces. */
  workspaceId?: string | undefined;
  fix: boolean;
  checksums: boolean;
  onRead: (sizeBytes: number) => void;
  /** The job of a younger transcript may be about to be enqueued. Milliseconds since 1970. */
  latestMs: number;
  counts: DoctorCounts;
  signal?: AbortSignal | undefined;
}

/**
 * Checks the raw object of every transcript, however young, because a row is always created after its object. With
 * `fix`, transcripts whose object is lost or damaged are marked, so that a backfill uploads them again.
 */
export async function* checkTranscripts(
  deps: IngestDependencies,
  options: TranscriptCheckOptions,
): AsyncGenerator<TranscriptFinding> {
  for await (const page of listAllTranscripts(deps.database.database, { workspaceId: options.workspaceId })) {
    const waiting = page.filter((row) => isWaiting(row) && Date.parse(row.created_at) <= options.latestMs);
    options.counts.skipped.youngJobs += page.filter(isWaiting).length - waiting.length;
    const ids = waiting.map(({ id }) => id);
    const pending = ids.length === 0 ? new Set<string>() : await findJobs(deps.database.database, waiting.map(toJob));
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
  // A worker may have done it between the two checks.
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
    if (checksums) yield* checkDescription(deps, row, options);
    return;
  }
  // Reading takes long. The transcript may have been deleted since then, or have another object.
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
  const transcript = await findTranscript(database.database, row.workspace_id, row.id);
  return transcript?.object_key === row.object_key && transcript.raw_deleted_at === null;
}

export type StreamFinding =
  /** A stream whose object does not exist. Its bytes are lost, or this is the wrong store. */
  | { kind: 'missing-stream'; workspaceId: string; streamId: string; objectKey: string; fixed: false }
  | { kind: 'wrong-stream-size'; workspaceId: string; streamId: string; sizeBytes: number; fixed: false }
  /** An object with different bytes, or that the store fails to return. */
  | { kind: 'wrong-stream-content'; workspaceId: string; streamId: string; objectKey: string; fixed: false };

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;
type Options = Pick<TranscriptCheckOptions, 'workspaceId' | 'checksums' | 'counts' | 'onRead' | 'signal'>;

/** Checks the objects of the streams that are stored as received. */
export async function* checkStoredStreams(deps: Deps, options: Options): AsyncGenerator<StreamFinding> {
  for await (const page of listStoredStreams(deps.database.database, options.workspaceId)) {
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
    const stored = await hashRawObject(rawStore, objectKey, { signal });
    counts.checksums += 1;
    counts.checksumBytes += sizeBytes;
    onRead(sizeBytes);
    return stored === sha256;
  } catch (error) {
    if (!(error instanceof RawStoreError)) throw error;
    return false;
  }
}
