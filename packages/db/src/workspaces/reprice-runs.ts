import type { REPRICE_STATES } from '@recount/contract/choices';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { and, asc, eq, sql } from '../drizzle.cjs';
import { maintenanceChecks, type RepriceSums, type RepriceTask } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';
import { IS_SILENT, isRun, type MaintenanceRun } from './maintenance-checks.ts';

export type { RepriceSums, RepriceTask };

/** The latest run that reprices a workspace. `done` and `total` count transcripts. */
export interface RepriceRun {
  state: (typeof REPRICE_STATES)[number];
  /** Names, which may end in `*`; empty means all. */
  models: string[];
  actor: string;
  startedAt: string;
  endedAt: string | null;
  done: number;
  /** Null until it begins. */
  total: number | null;
  failureReason: string | null;
  before: RepriceSums | null;
  /** Null until it is done. */
  after: RepriceSums | null;
}

interface NewRepriceRun {
  workspaceId: string;
  models: readonly string[];
  actor: Actor;
  /** `worker` queues the run for any worker; `process` means that the caller runs it itself. */
  runner: RepriceTask['runner'];
}

const KIND = 'reprice';
const OF_PROCESS = sql`${maintenanceChecks.task} ->> 'runner' = 'process'`;
/** A worker's run continues in another worker, so it is under way even if it is silent. */
const HAS_ENDED = sql`(${maintenanceChecks.state} NOT IN ('queued', 'running') OR (${IS_SILENT} AND ${OF_PROCESS}))`;

/**
 * Starts or queues a run, with an audit entry, and returns its id. Returns undefined, doing nothing, if one of the
 * workspace is under way.
 */
export async function startReprice(
  transaction: Database,
  { workspaceId, models, actor, runner }: NewRepriceRun,
): Promise<string | undefined> {
  const runId = ulid();
  const begun = {
    run_id: runId,
    state: runner === 'worker' ? ('queued' as const) : ('running' as const),
    is_fix: false,
    actor,
    step: 'transcripts',
    done_count: 0,
    total_count: null,
    ended_at: null,
    failure_reason: null,
    report: null,
    report_at: null,
    task: { models: [...models], runner },
  };
  const started = await transaction
    .insert(maintenanceChecks)
    .values({ workspace_id: workspaceId, kind: KIND, ...begun })
    .onConflictDoUpdate({
      target: [maintenanceChecks.workspace_id, maintenanceChecks.kind],
      set: { ...begun, started_at: sql`excluded.started_at`, seen_at: sql`excluded.seen_at` },
      setWhere: HAS_ENDED,
    })
    .returning({ kind: maintenanceChecks.kind });
  if (started.length === 0) return undefined;
  await addAuditEntry(transaction, { workspaceId, actor, action: 'usage.reprice', subjects: [], details: { models } });
  return runId;
}

/** A run that a worker has taken. */
export interface ClaimedReprice extends MaintenanceRun {
  models: string[];
  actor: string;
  /** Transcripts that a worker before has done. */
  done: number;
  before: RepriceSums | undefined;
}

/**
 * Takes a queued run, or one whose worker has died, of any workspace. It gets another id, so that a worker that only
 * seemed dead cannot change it any more. Undefined if there is none.
 */
export async function claimReprice(database: Database): Promise<ClaimedReprice | undefined> {
  const runId = ulid();
  const isFree = and(
    eq(maintenanceChecks.kind, KIND),
    sql`(${maintenanceChecks.state} = 'queued' OR (${IS_SILENT} AND NOT ${OF_PROCESS}))`,
  );
  const free = await database
    .select({ workspaceId: maintenanceChecks.workspace_id })
    .from(maintenanceChecks)
    .where(isFree)
    .orderBy(asc(maintenanceChecks.started_at));
  for (const { workspaceId } of free) {
    const [taken] = await database
      .update(maintenanceChecks)
      .set({ run_id: runId, state: 'running', seen_at: sql`now()` })
      .where(and(eq(maintenanceChecks.workspace_id, workspaceId), isFree))
      .returning({
        task: maintenanceChecks.task,
        actor: maintenanceChecks.actor,
        done: maintenanceChecks.done_count,
      });
    if (taken?.task == null) continue;
    const { models, before } = taken.task;
    return { workspaceId, kind: KIND, runId, models, actor: taken.actor, done: taken.done, before };
  }
  return undefined;
}

/** Records the sums before the run. */
export async function noteRepriceStart(database: Database, run: MaintenanceRun, before: RepriceSums): Promise<void> {
  await database
    .update(maintenanceChecks)
    .set({ task: sql`${maintenanceChecks.task} || jsonb_build_object('before', ${JSON.stringify(before)}::jsonb)` })
    .where(isRun(run));
}

/** Gives a run back, so that another worker continues it immediately. */
export async function requeueReprice(database: Database, run: MaintenanceRun): Promise<void> {
  await database.update(maintenanceChecks).set({ state: 'queued' }).where(isRun(run));
}

/**
 * Cancels the run under way, with an audit entry. Its process stops within seconds; the transcripts that it has done
 * keep their new costs. Returns false if none is under way.
 */
export async function cancelReprice(transaction: Database, workspaceId: string, actor: Actor): Promise<boolean> {
  const cancelled = await transaction
    .update(maintenanceChecks)
    .set({ state: 'cancelled', ended_at: sql`now()` })
    .where(
      and(eq(maintenanceChecks.workspace_id, workspaceId), eq(maintenanceChecks.kind, KIND), sql`NOT ${HAS_ENDED}`),
    )
    .returning({ done: maintenanceChecks.done_count });
  const [{ done } = {}] = cancelled;
  if (done === undefined) return false;
  const details = { cancelled_after_transcripts: done };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'usage.reprice', subjects: [], details });
  return true;
}

/** The latest run of a workspace; undefined if there was none. */
export async function readReprice(database: Database, workspaceId: string): Promise<RepriceRun | undefined> {
  const [row] = await database
    .select({
      state: sql<RepriceRun['state']>`CASE WHEN ${IS_SILENT} AND ${OF_PROCESS} THEN 'interrupted'
        WHEN ${IS_SILENT} THEN 'queued' ELSE ${maintenanceChecks.state} END`,
      task: maintenanceChecks.task,
      actor: maintenanceChecks.actor,
      startedAt: maintenanceChecks.started_at,
      endedAt: maintenanceChecks.ended_at,
      done: maintenanceChecks.done_count,
      total: maintenanceChecks.total_count,
      failureReason: maintenanceChecks.failure_reason,
      report: maintenanceChecks.report,
    })
    .from(maintenanceChecks)
    .where(and(eq(maintenanceChecks.workspace_id, workspaceId), eq(maintenanceChecks.kind, KIND)));
  if (row === undefined) return undefined;
  const { task, report, ...run } = row;
  return {
    ...run,
    models: task?.models ?? [],
    before: task?.before ?? null,
    after: (report as { after?: RepriceSums } | null)?.after ?? null,
  };
}
