import {
  claimTranscript,
  findTranscript,
  readTranscriptSizes,
  recordAttemptFailure,
  setTranscriptStatus,
} from '@recount/db';
import pLimit from 'p-limit';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import type { GroupedOutcome, IngestJob, JobOutcome } from '../queue/index.ts';
import { toFailureKind, toFailureReason } from './failure-reason.ts';
import { type OutageGate, toOutage } from './outage-gate.ts';
import { processGroup, splitBySize } from './process-group.ts';
import { type ProcessOptions, processTranscript } from './process-transcript.ts';

/** A worker's report about a job; never contains text of the transcript. */
export interface JobReport extends IngestJob {
  /** `alone` means taken in a group, and left to be done separately; with the reason if the group failed. */
  outcome: JobOutcome['status'] | 'superseded' | 'gone' | 'alone';
  durationMs: number;
  sizeBytes?: number;
  attempt?: number;
  reason?: string;
  /** The kind of the failure, for counting. */
  failureKind?: string;
}

type HandleDeps = Pick<IngestDependencies, 'database' | 'rawStore'> & {
  onReport: (report: JobReport) => void;
  /** Defaults to none, so that every outage counts against the job's limit. */
  outages?: OutageGate;
};

interface JobOptions extends ProcessOptions {
  /**
   * The number of times that an outage may still return the job without counting as an attempt. Default 0,means that it
   * counts.
   */
  handBacksLeft?: number;
}

/** Ingests the transcript of a job. Does not throw. A failure is stored with the transcript, and the job is retried. */
export async function handleJob(deps: HandleDeps, job: IngestJob, options: JobOptions): Promise<JobOutcome> {
  const startedAt = performance.now();
  const report = (outcome: JobReport['outcome'], details: Partial<JobReport> = {}): void =>
    deps.onReport({ ...job, outcome, durationMs: Math.round(performance.now() - startedAt), ...details });
  await deps.outages?.pass(options.signal);
  if (options.signal?.aborted) {
    report('handed-back');
    return { status: 'handed-back' };
  }
  try {
    const claimed = await claimTranscript(deps.database.database, job.workspaceId, job.transcriptId);
    const result = claimed && (await processTranscript(deps, claimed, options));
    const details = claimed && { sizeBytes: claimed.size_bytes, attempt: claimed.attempt_count };
    report(result === undefined ? 'gone' : result === 'superseded' ? 'superseded' : 'done', details);
    return { status: 'done' };
  } catch (error) {
    if (options.signal?.aborted) {
      report('handed-back');
      return { status: 'handed-back' };
    }
    const reason = toFailureReason(error);
    const isShared = (await deps.outages?.isShared(error)) ?? false;
    const isOutage = isShared || ((options.handBacksLeft ?? 0) > 0 && toOutage(error) !== undefined);
    await keepReason(deps, job, reason, !isOutage);
    report(isOutage ? 'outage' : 'failed', { reason, failureKind: toFailureKind(error) });
    return isOutage ? { status: 'outage', reason, isShared } : { status: 'failed', reason };
  }
}

/** The attempts are used up. Marks the transcript as failed, or leaves it ingested if only a re-parse failed. */
export async function handleDeadLetter(deps: Pick<HandleDeps, 'database'>, job: IngestJob): Promise<void> {
  const { database } = deps.database;
  const transcript = await findTranscript(database, job.workspaceId, job.transcriptId);
  if (transcript === undefined) return;
  await setTranscriptStatus(
    database,
    job.workspaceId,
    [job.transcriptId],
    {
      status: transcript.ingested_at === null ? 'failed' : 'ingested',
      failure_reason: transcript.failure_reason ?? 'Every worker that took it ended before it was done',
    },
    ['queued', 'processing'],
  );
}

/** If even this fails, the database is unavailable. The job is retried, and the next attempt will report the reason. */
async function keepReason(deps: HandleDeps, job: IngestJob, reason: string, isCounted: boolean): Promise<void> {
  try {
    const { database } = deps.database;
    await recordAttemptFailure(database, job.workspaceId, job.transcriptId, { reason, isCounted });
  } catch (error) {
    deps.onReport({ ...job, outcome: 'failed', durationMs: 0, reason: `Reason not stored: ${toFailureReason(error)}` });
  }
}

/** Longer groups are split, because a transaction is rolled back as a whole, and no part is visible before its end. */
const MAX_TRANSACTION_BYTES = 32 * 1024 * 1024;
/** Transactions of one group in progress, so that one is parsed while Postgres settles the other. */
const TRANSACTIONS_AT_ONCE = 2;

/**
 * Ingests the transcripts of many jobs together. Does not throw. If one of them fails, all are left to be done alone,
 * so that the others do not suffer, as are those that `processGroup` leaves. No attempt is counted before that. If a
 * shared resource is exhausted, they are handed back instead.
 */
export async function handleGroup(
  deps: HandleDeps,
  jobs: readonly IngestJob[],
  options: ProcessOptions,
): Promise<GroupedOutcome[]> {
  const outcomes = new Map<IngestJob, GroupedOutcome>();
  for (const [workspaceId, group] of Map.groupBy(jobs, (job) => job.workspaceId)) {
    const parts = await splitGroup(deps, workspaceId, group);
    await pLimit(TRANSACTIONS_AT_ONCE).map(parts, async (part) => {
      for (const [job, outcome] of await handlePart(deps, workspaceId, part, options)) outcomes.set(job, outcome);
    });
  }
  return jobs.map((job) => outcomes.get(job) ?? 'alone');
}

/**
 * Splits jobs into one list for each transaction. If the sizes cannot be read it does not split, because nothing else
 * would work then either.
 */
async function splitGroup(
  deps: HandleDeps,
  workspaceId: string,
  jobs: readonly IngestJob[],
): Promise<readonly (readonly IngestJob[])[]> {
  const ids = jobs.map(({ transcriptId }) => transcriptId);
  const sizes = await readTranscriptSizes(deps.database.database, workspaceId, ids).catch(() => undefined);
  if (sizes === undefined) return [jobs];
  const sized = jobs.map((job) => ({ job, size_bytes: sizes.get(job.transcriptId) ?? 0 }));
  const parts = splitBySize(sized, { maxCount: jobs.length, maxBytes: MAX_TRANSACTION_BYTES });
  return parts.map((part) => part.map(({ job }) => job));
}

async function handlePart(
  deps: HandleDeps,
  workspaceId: string,
  jobs: readonly IngestJob[],
  options: ProcessOptions,
): Promise<Map<IngestJob, GroupedOutcome>> {
  await deps.outages?.pass(options.signal);
  const startedAt = performance.now();
  const isAborted = (): boolean => options.signal?.aborted ?? false;
  let failure: { reason: string; failureKind: string } | undefined;
  let isShared = false;
  const ids = jobs.map(({ transcriptId }) => transcriptId);
  const rows = isAborted()
    ? []
    : await processGroup(deps, workspaceId, ids, options).catch(async (error: unknown) => {
        if (isAborted()) return [];
        failure = { reason: toFailureReason(error), failureKind: toFailureKind(error) };
        isShared = (await deps.outages?.isShared(error)) ?? false;
        return [];
      });
  const rowsById = new Map(rows.map((row) => [row.id, row]));
  // No job is at fault, so they form a group again when the resource is back.
  const others = isAborted() || isShared ? 'handed-back' : 'alone';
  const durationMs = Math.round(performance.now() - startedAt);
  return new Map(
    jobs.map((job) => {
      const row = rowsById.get(job.transcriptId);
      const outcome = row === undefined ? others : 'done';
      const details = row === undefined ? failure : { sizeBytes: row.size_bytes, attempt: 1 };
      deps.onReport({ ...job, outcome: isShared ? 'outage' : outcome, durationMs, ...details });
      return [job, outcome];
    }),
  );
}
