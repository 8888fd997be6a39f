import { MAINTENANCE_CHECKS } from '@recount/contract/choices';
import type { Database } from '../database/database.ts';
import { and, asc, eq, getTableColumns, inArray, sql } from '../drizzle.cjs';
import { type MaintenanceCheckKind, maintenanceChecks } from '../schema/workspaces.ts';
import type { Actor } from './audit-log.ts';

/** A process silent for this long is dead. Its check no longer runs, and another one may start. */
const SILENCE = sql.raw("interval '30 seconds'");

/** True if a run's process has died. */
export const IS_SILENT = sql`${maintenanceChecks.state} = 'running' AND ${maintenanceChecks.seen_at} < now() - ${SILENCE}`;

/** One run of a check. */
export interface MaintenanceRun {
  /** '' for all workspaces. */
  workspaceId: string;
  kind: MaintenanceCheckKind | 'reprice';
  /** ULID. */
  runId: string;
}

export interface MaintenanceProgress {
  /** The object of the check. */
  step: string;
  done: number;
  /** Null if unknown. */
  total: number | null;
}

export type MaintenanceCheckRow = Omit<
  typeof maintenanceChecks.$inferSelect,
  'workspace_id' | 'run_id' | 'seen_at' | 'kind' | 'state' | 'task'
> & { kind: MaintenanceCheckKind; state: 'running' | 'done' | 'failed' | 'interrupted' };

/** Returns false, doing nothing, if a check of this kind and workspace is running. The last report stays. */
export async function startMaintenanceCheck(
  database: Database,
  { workspaceId, kind, runId }: MaintenanceRun,
  { isFix, actor, step }: { isFix: boolean; actor: Actor; step: string },
): Promise<boolean> {
  const begun = {
    run_id: runId,
    state: 'running' as const,
    is_fix: isFix,
    actor,
    step,
    done_count: 0,
    total_count: null,
    ended_at: null,
    failure_reason: null,
  };
  const started = await database
    .insert(maintenanceChecks)
    .values({ workspace_id: workspaceId, kind, ...begun })
    .onConflictDoUpdate({
      target: [maintenanceChecks.workspace_id, maintenanceChecks.kind],
      set: { ...begun, started_at: sql`excluded.started_at`, seen_at: sql`excluded.seen_at` },
      setWhere: sql`${maintenanceChecks.state} <> 'running' OR (${IS_SILENT})`,
    })
    .returning({ kind: maintenanceChecks.kind });
  return started.length > 0;
}

/** True for the row of a run while it runs. */
export const isRun = ({ workspaceId, kind, runId }: MaintenanceRun) =>
  and(
    eq(maintenanceChecks.workspace_id, workspaceId),
    eq(maintenanceChecks.kind, kind),
    eq(maintenanceChecks.run_id, runId),
    eq(maintenanceChecks.state, 'running'),
  );

/**
 * Records that the run continues, and its progress. Returns false if another has replaced it, or its workspace is gone.
 */
export async function noteMaintenanceProgress(
  database: Database,
  run: MaintenanceRun,
  { step, done, total }: MaintenanceProgress,
): Promise<boolean> {
  const noted = await database
    .update(maintenanceChecks)
    .set({ step, done_count: done, total_count: total, seen_at: sql`now()` })
    .where(isRun(run))
    .returning({ kind: maintenanceChecks.kind });
  return noted.length > 0;
}

/** The end of a run, with its findings, or with the reason of its failure. */
export type MaintenanceEnding =
  | { state: 'done'; report: Record<string, unknown> }
  | { state: 'failed' | 'interrupted'; reason: string };

/** Records how a run ended, unless another has replaced it. */
export async function endMaintenanceCheck(
  database: Database,
  run: MaintenanceRun,
  ending: MaintenanceEnding,
): Promise<void> {
  await database
    .update(maintenanceChecks)
    .set({
      state: ending.state,
      ended_at: sql`now()`,
      ...(ending.state === 'done'
        ? { report: ending.report, report_at: sql`now()`, report_is_fix: sql`${maintenanceChecks.is_fix}` }
        : { failure_reason: ending.reason }),
    })
    .where(isRun(run));
}

/** The checks of a workspace, or with '' of all workspaces. A check whose process is dead is `interrupted`. */
export async function listMaintenanceChecks(database: Database, workspaceId: string): Promise<MaintenanceCheckRow[]> {
  const { workspace_id: _workspaceId, run_id: _runId, task: _task, ...rest } = getTableColumns(maintenanceChecks);
  const { seen_at, state, kind, ...columns } = rest;
  return await database
    .select({
      ...columns,
      kind: sql<MaintenanceCheckKind>`${kind}`,
      state: sql<MaintenanceCheckRow['state']>`CASE WHEN ${IS_SILENT} THEN 'interrupted' ELSE ${state} END`,
      ended_at: sql<string | null>`CASE WHEN ${IS_SILENT} THEN ${seen_at} ELSE ${columns.ended_at} END`.mapWith(
        columns.ended_at,
      ),
    })
    .from(maintenanceChecks)
    .where(and(eq(maintenanceChecks.workspace_id, workspaceId), inArray(kind, MAINTENANCE_CHECKS)))
    .orderBy(asc(maintenanceChecks.kind));
}
