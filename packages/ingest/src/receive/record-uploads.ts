import { enqueueJobs, type InsertedTranscript, insertTranscripts, type NewTranscript } from '@recount/db';
import { gatherCalls } from '../gather-calls.ts';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { MAX_GROUPED_BYTES } from '../limits.ts';

/** A transcript whose raw object is durable. */
export interface Upload {
  workspaceId: string;
  transcript: NewTranscript;
  /** Jobs of higher priority go first. */
  priority: number;
}

/** Inserts the row of an upload and its job; resolves when both are committed. */
export type RecordUpload = (upload: Upload) => Promise<InsertedTranscript>;

type Deps = Pick<IngestDependencies, 'database'>;

/** Uploads whose rows and jobs are inserted in one transaction. */
const MAX_RECORDED_AT_ONCE = 100;

/**
 * Records uploads of one workspace and priority, batching those that come while others are being recorded, or within
 * `delayMs`.
 */
export function createUploadRecorder(deps: Deps, { delayMs }: { delayMs?: number } = {}): RecordUpload {
  return gatherCalls({ maxInputs: MAX_RECORDED_AT_ONCE, delayMs }, (uploads) => recordUploads(deps, uploads));
}

/**
 * Inserts rows and jobs of uploads of one workspace and priority in one transaction. If a session already has the same
 * bytes, its row and job stay. Before the commit it awaits `describeNew`, for the ids of the others, if there are any.
 */
export async function recordUploads(
  deps: Deps,
  uploads: readonly Upload[],
  describeNew?: (transcriptIds: ReadonlySet<string>) => Promise<void>,
): Promise<readonly InsertedTranscript[]> {
  const [first] = uploads;
  if (first === undefined) return [];
  const { workspaceId, priority } = first;
  return await deps.database.withTransaction(async (transaction) => {
    const transcripts = uploads.map(({ transcript }) => transcript);
    const recorded = await insertTranscripts(transaction, workspaceId, transcripts);
    const added = recorded.filter(({ isDuplicate }) => !isDuplicate).map(({ row }) => row);
    const jobs = added.map(({ id: transcriptId, size_bytes: sizeBytes, is_stream }) => ({
      ...{ transcriptId, sizeBytes, isAlone: is_stream || sizeBytes > MAX_GROUPED_BYTES },
    }));
    await enqueueJobs(transaction, workspaceId, jobs, { priority });
    if (added.length > 0) await describeNew?.(new Set(added.map(({ id }) => id)));
    return recorded;
  });
}
