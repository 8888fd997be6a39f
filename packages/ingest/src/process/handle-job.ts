import { setTimeout as sleep } from 'node:timers/promises';
import {
  claimTranscript,
  deleteJobs,
  findTranscript,
  giveUpTranscript,
  type IngestJob,
  recordAttemptFailure,
  releaseJobs,
  type TakenJob,
} from '@recount/db';
import { toFailureKind, toFailureReason } from '../failure-reason.ts';
import { MAX_ATTEMPTS, MAX_OUTAGES, toPauseSeconds } from '../queue/attempts.ts';
import { persist } from '../queue/persist.ts';
import { holdingJobs, JobNotHeldError } from './hold-jobs.ts';
import { ingestAlone } from './ingest-batch.ts';
import type { HandleDeps, JobReport } from './job-report.ts';
import { toOutage } from './outage-gate.ts';
import type { ProcessOptions } from './process-options.ts';

/** The outcome of a job that is done, or was another worker's; or of one that is tried again, or was given up. */
export type JobOutcome = { status: 'done' | 'handed-back' } | { status: 'failed' | 'outage'; reason: string };

const KILLED = 'Every worker that took it ended before it was done';

/**
 * Ingests the transcript of a job that this worker has taken. Does not throw. The attempt is counted once the
 * transaction holds the job and before any work, so that a transcript which kills its workers ends as failed. If it
 * fails, the reason is stored with the transcript, and the job is put off; an outage does not count as an attempt, nor
 * does the end of the worker.
 */
export async function handleJob(
  deps: HandleDeps,
  job: IngestJob & Partial<TakenJob>,
  options: ProcessOptions,
): Promise<JobOutcome> {
  const { workspaceId, transcriptId } = job;
  const { database } = deps.database;
  const startedAt = performance.now();
  let attempt: number | undefined;
  const report = (outcome: JobReport['outcome'], details: Partial<JobReport> = {}): void => {
    const durationMs = Math.round(performance.now() - startedAt);
    deps.onReport({ workspaceId, transcriptId, outcome, durationMs, ...details });
  };
  const countAttempt = async (): Promise<void> => {
    attempt ??= (await claimTranscript(database, workspaceId, transcriptId))?.attempt_count;
  };
  try {
    const transcript = await findTranscript(database, workspaceId, transcriptId);
    const isWaiting = transcript?.status === 'queued' || transcript?.status === 'processing';
    if (transcript === undefined || !isWaiting) {
      await deleteJobs(database, workspaceId, [transcriptId]);
      report('gone');
      return { status: 'done' };
    }
    if (transcript.attempt_count >= MAX_ATTEMPTS) {
      await giveUp(deps, job);
      const reason = transcript.failure_reason ?? KILLED;
      report('failed', { reason, failureKind: 'given-up' });
      return { status: 'failed', reason };
    }
    const jobs = { workspaceId, transcriptIds: [transcriptId], onHeld: countAttempt };
    const holding = { ...deps, database: holdingJobs(deps.database, jobs) };
    const result = await ingestAlone(holding, transcript, options);
    const details = { sizeBytes: transcript.size_bytes, ...(attempt !== undefined && { attempt }) };
    report(result === undefined ? 'gone' : result === 'superseded' ? 'superseded' : 'done', details);
    return { status: 'done' };
  } catch (error) {
    if (error instanceof JobNotHeldError) {
      report('gone');
      return { status: 'done' };
    }
    const isStopping = (): boolean => options.signal?.aborted ?? false;
    if (isStopping()) {
      await putOff(deps, job, { attempt, isCounted: false, isStopping });
      report('handed-back');
      return { status: 'handed-back' };
    }
    const failed = await putOffFailed(deps, job, { error, attempt, isStopping });
    report(failed.status, { reason: failed.reason, failureKind: toFailureKind(error) });
    return failed;
  }
}

/** Puts off a job whose attempt failed, by the fault of its transcript or by an outage. */
async function putOffFailed(
  deps: HandleDeps,
  job: IngestJob & Partial<TakenJob>,
  { error, attempt, isStopping }: Pick<AttemptEnd, 'attempt' | 'isStopping'> & { error: unknown },
): Promise<{ status: 'failed' | 'outage'; reason: string }> {
  const { outageCount = 0 } = job;
  const reason = toFailureReason(error);
  const isShared = (await deps.outages?.isShared(error)) ?? false;
  const isOwn = !isShared && toOutage(error) !== undefined && outageCount < MAX_OUTAGES;
  const isOutage = isShared || isOwn;
  const endings = isShared ? 1 : isOwn ? outageCount + 1 : (attempt ?? 1);
  await putOff(deps, job, {
    attempt,
    reason,
    isCounted: !isOutage,
    isOwnOutage: isOwn && attempt !== undefined,
    pauseSeconds: toPauseSeconds(endings),
    isStopping,
  });
  return { status: isOutage ? 'outage' : 'failed', reason };
}

interface AttemptEnd {
  /** Undefined if it had not begun. */
  attempt: number | undefined;
  reason?: string;
  isCounted: boolean;
  isOwnOutage?: boolean;
  pauseSeconds?: number;
  isStopping: () => boolean;
}

/**
 * Ends an attempt, and lets workers take the job again after the pause; after the last one gives it up. Waits for a
 * database that is unavailable or read-only, until the worker is to stop. Leaves it alone if another worker has begun
 * the next attempt.
 */
async function putOff(deps: HandleDeps, job: IngestJob, end: AttemptEnd): Promise<void> {
  const { workspaceId, transcriptId } = job;
  const { database } = deps.database;
  const { attempt, reason, isCounted, isOwnOutage = false, pauseSeconds = 0, isStopping } = end;
  const failure = { isCounted, ...(reason !== undefined && { reason }), ...(attempt !== undefined && { attempt }) };
  try {
    if (attempt !== undefined) {
      const record = () => recordAttemptFailure(database, workspaceId, transcriptId, failure);
      if (!(await persist(record, isStopping))) return;
    }
    if (isCounted && attempt !== undefined && attempt >= MAX_ATTEMPTS) {
      await persist(() => giveUp(deps, job), isStopping);
      return;
    }
    const release = { isAlone: true, pauseSeconds, countsOutage: isOwnOutage };
    await persist(() => releaseUnlocked(deps, job, release), isStopping);
  } catch (error) {
    // The database is unavailable, and this worker stops. The job is free again without this.
    deps.onReport({
      ...{ workspaceId, transcriptId, outcome: 'failed', durationMs: 0 },
      reason: `Reason not stored: ${toFailureReason(error)}`,
    });
  }
}

/** The server may take a moment to end a transaction whose connection was closed. */
const RELEASE_TRIES = 20;
const RELEASE_PAUSE_MS = 100;

async function releaseUnlocked(
  { database: { database } }: HandleDeps,
  { workspaceId, transcriptId }: IngestJob,
  release: Parameters<typeof releaseJobs>[3],
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const released = await releaseJobs(database, workspaceId, [transcriptId], release);
    if (released > 0 || tries === RELEASE_TRIES) return;
    await sleep(RELEASE_PAUSE_MS);
  }
}

async function giveUp({ database: { database } }: HandleDeps, { workspaceId, transcriptId }: IngestJob): Promise<void> {
  await giveUpTranscript(database, workspaceId, transcriptId, KILLED);
  await deleteJobs(database, workspaceId, [transcriptId]);
}
