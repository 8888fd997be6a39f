import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Actor,
  countTranscriptsByStatus,
  type Database,
  type DerivedTableCheck,
  endMaintenanceCheck,
  type MaintenanceCheckKind,
  type MaintenanceEnding,
  type MaintenanceProgress,
  type MaintenanceRun,
  sql,
  startMaintenanceCheck,
  VERIFIED_TABLE_COUNT,
  verifyUsage,
} from '@recount/db';
import { ulid } from 'ulid';
import { toFailureReason } from '../failure-reason.ts';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { keepNoting } from '../maintenance/keep-noting.ts';
import { createDoctorCounts } from './check-raw-objects.ts';
import { runReportedDoctor } from './doctor-report.ts';
import type { DoctorStep } from './run-doctor.ts';

/** Each one holds a connection while it runs, or lists all objects. */
const MAX_RUNS = 2;
const BEGINNING: MaintenanceProgress = { step: 'beginning', done: 0, total: null };
/** No one waits longer, and a check that does not end would block the next one. */
const MAX_RUN_MS = 6 * 60 * 60_000;
/**
 * The time that closing waits until the ends of checks are stored; the checks of a silent process count as interrupted
 * anyway.
 */
const CLOSE_GRACE_MS = 5000;

interface MaintenanceRequest {
  kind: MaintenanceCheckKind;
  /** Undefined means all workspaces, which only the doctor checks. */
  workspaceId: string | undefined;
  /** For the doctor, repairs what it can. */
  fix: boolean;
  actor: Actor;
}

/** Runs checks in this process, independently of the requests. */
export interface MaintenanceRunner {
  /**
   * `running` means that a check of this kind and workspace is already running somewhere; `busy` means that too many
   * are running in this process.
   */
  start(request: MaintenanceRequest): Promise<'started' | 'running' | 'busy'>;
  /** Aborts running checks, which are then `interrupted`. Does not wait for locks. */
  close(): Promise<void>;
}

interface RunnerDeps extends IngestDependencies {
  /** Called e.g. if a run's state could not be stored. */
  onFailure: (reason: string) => void;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Runs at most `MAX_RUNS` checks at a time. */
export function createMaintenanceRunner(deps: RunnerDeps): MaintenanceRunner {
  const closing = new AbortController();
  const running = new Set<Promise<void>>();
  let startingCount = 0;
  return {
    async start(request) {
      if (closing.signal.aborted || running.size + startingCount >= MAX_RUNS) return 'busy';
      const { kind, fix: isFix, actor } = request;
      const run = { workspaceId: request.workspaceId ?? '', kind, runId: ulid() };
      startingCount += 1;
      try {
        const begun = { isFix, actor, step: BEGINNING.step };
        if (!(await startMaintenanceCheck(deps.database.database, run, begun))) return 'running';
        const ended = follow(deps, run, request, closing.signal).finally(() => running.delete(ended));
        running.add(ended);
        return 'started';
      } finally {
        startingCount -= 1;
      }
    },
    async close() {
      closing.abort(new Error('The server was stopped'));
      await Promise.race([Promise.all(running), sleep(CLOSE_GRACE_MS, undefined, { ref: false })]);
    },
  };
}

/** Runs a check to its end while recording its progress. Never rejects. */
async function follow(
  deps: RunnerDeps,
  run: MaintenanceRun,
  request: MaintenanceRequest,
  closing: AbortSignal,
): Promise<void> {
  const { database } = deps.database;
  let readProgress = (): MaintenanceProgress => BEGINNING;
  const replaced = new AbortController();
  const signal = AbortSignal.any([closing, replaced.signal, AbortSignal.timeout(MAX_RUN_MS)]);
  const stopNoting = keepNoting(database, {
    run,
    readProgress: () => readProgress(),
    onReplaced: () => replaced.abort(new Error('Another run took its place')),
    onFailure: deps.onFailure,
  });
  let ending: MaintenanceEnding;
  try {
    const watch = (read: () => MaintenanceProgress): void => {
      readProgress = read;
    };
    // A query of the check may wait for a lock, and ends with its connection; the check stops before the next one.
    const report = await Promise.race([check(deps, request, { watch, signal }), rejectOnAbort(signal)]);
    ending = { state: 'done', report };
  } catch (error) {
    const reason = signal.aborted ? signal.reason : error;
    ending = { state: closing.aborted ? 'interrupted' : 'failed', reason: toFailureReason(reason) };
  }
  await stopNoting();
  try {
    await endMaintenanceCheck(database, run, ending);
  } catch (error) {
    deps.onFailure(toFailureReason(error));
  }
}

const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

interface CheckOptions {
  /** Is given the function that reads the check's progress. */
  watch: (read: () => MaintenanceProgress) => void;
  signal: AbortSignal;
}

async function check(
  deps: RunnerDeps,
  { kind, workspaceId, fix, actor }: MaintenanceRequest,
  options: CheckOptions,
): Promise<Record<string, unknown>> {
  if (kind === 'verify') return { ...(await verify(deps, workspaceId ?? '', options)) };
  const { watch, signal } = options;
  const filter = workspaceId === undefined ? {} : { workspaceId };
  const byStatus = await countTranscriptsByStatus(deps.database.database, filter);
  const transcripts = Object.values(byStatus).reduce((sum, count) => sum + count, 0);
  const counts = createDoctorCounts();
  const onStep = (step: DoctorStep): void => {
    if (step === 'objects') watch(() => ({ step, done: counts.objects, total: null }));
    else if (step === 'transcripts') {
      watch(() => ({ step, done: counts.transcripts + counts.skipped.expiredObjects, total: transcripts }));
    } else if (step === 'streams') watch(() => ({ step, done: counts.streams, total: null }));
    else if (step === 'attachments') watch(() => ({ step, done: counts.attachments, total: null }));
    else watch(() => ({ step, done: 0, total: null }));
  };
  const report = await runReportedDoctor(deps, { ...filter, fix, counts, onStep, nowMs: deps.now(), actor, signal });
  return { ...report };
}

/** Recounts all figures of a workspace, in one snapshot whose connection is closed when `signal` aborts. */
async function verify(
  deps: RunnerDeps,
  workspaceId: string,
  { watch, signal }: CheckOptions,
): Promise<{ tables: DerivedTableCheck[] }> {
  let begun = 0;
  const onTable = (step: string): void => {
    const progress = { step, done: begun, total: VERIFIED_TABLE_COUNT };
    watch(() => progress);
    begun += 1;
  };
  const work = async (transaction: Database): Promise<{ tables: DerivedTableCheck[] }> => {
    await transaction.execute(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`);
    return { tables: await verifyUsage(transaction, workspaceId, onTable) };
  };
  const report = await deps.database.withTransaction(work, { signal });
  watch(() => ({ step: 'comparing', done: VERIFIED_TABLE_COUNT, total: VERIFIED_TABLE_COUNT }));
  return report;
}
