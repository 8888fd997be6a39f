import {
  findPlacedWorkspace,
  isDatabaseUnavailable,
  isolateWorkspace,
  moveShard,
  planPlacement,
  readCluster,
  sql,
  verifyUsage,
} from '@recount/db';
import { isOnCitus } from '@recount/local-postgres/testing';
import { expect, it } from 'vitest';
import { runDoctor } from '../consistency/run-doctor.ts';
import { runJobs } from '../queue/run-jobs.ts';
import { createTestInstallation, TEST_WORKSPACE, toTranscript } from '../testing/test-installation.ts';
import { handleBatch } from './handle-batch.ts';
import { handleJob } from './handle-job.ts';
import type { JobReport } from './job-report.ts';

/** As `restoreCode` names a statement whose shard moved. */
const MOVED = 'postgres-40001';
const STOP_MS = 60_000;

it.runIf(isOnCitus())('loses nothing while the shard of its workspace is isolated and moved', async () => {
  const installation = await createTestInstallation();
  const { database } = installation;
  const readPlaced = async () => {
    const cluster = await readCluster(database);
    if (cluster === undefined) throw new Error('The tables are not distributed');
    return { cluster, workspace: findPlacedWorkspace(cluster, 'test') };
  };
  try {
    let isMoving = true;
    let received = 0;
    /** A client sends an upload again that was answered with 503. */
    const receive = async (text: string): Promise<void> => {
      try {
        await installation.receive(text);
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error;
        await receive(text);
      }
    };
    const ingest = async (): Promise<void> => {
      do {
        received += 1;
        // Each session grows once, which deletes rows of sums as well.
        for (const lines of [4, 6]) {
          await receive(toTranscript(`session ${received}`, lines));
          await expect.poll(() => installation.listJobs()).toEqual([]);
        }
      } while (isMoving);
    };
    const move = async (): Promise<void> => {
      try {
        await isolateWorkspace(database.database, TEST_WORKSPACE);
        const { cluster, workspace } = await readPlaced();
        const to = cluster.nodes.find(({ node }) => !node.isCoordinator && node.id !== workspace.node.id);
        const plan = to && planPlacement(cluster, workspace, to.node);
        if (plan === undefined) throw new Error('The cluster has no two nodes');
        await moveShard(database.database, plan, 'logical');
        expect((await readPlaced()).workspace).toMatchObject({ isIsolated: true, node: plan.to });
      } finally {
        isMoving = false;
      }
    };
    const reports: JobReport[] = [];
    const errors: unknown[] = [];
    const deps = { ...installation, onReport: (report: JobReport) => reports.push(report) };
    const options = { maxLineBytes: 1024 * 1024, minCheckpointBytes: 0 };
    const jobs = runJobs(
      database,
      {
        waitUntilPossible: async () => undefined,
        mayWork: async () => true,
        handleJob: (job) => handleJob(deps, job, options),
        handleBatch: (batch) => handleBatch(deps, batch, options),
      },
      { concurrency: 1, onError: (error) => errors.push(error) },
    );
    try {
      await Promise.all([ingest(), move()]);
    } finally {
      await jobs.stop(STOP_MS);
    }
    // Only for shards that moved are jobs tried again, and none was given up.
    expect(reports.filter(({ failureKind }) => failureKind !== undefined && failureKind !== MOVED)).toEqual([]);
    expect(errors).toEqual([]);
    const { rows: unfinished } = await database.database.execute(
      sql`SELECT status, failure_reason FROM recount.transcripts
            WHERE workspace_id = ${TEST_WORKSPACE} AND status NOT IN ('ingested', 'superseded')`,
    );
    expect(unfinished).toEqual([]);

    const { rows } = await database.database.execute(
      sql`SELECT count(*)::int AS count FROM recount.sessions WHERE workspace_id = ${TEST_WORKSPACE}`,
    );
    expect(rows).toEqual([{ count: received }]);
    const checks = await database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
    expect(checks.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
    const findings = [];
    for await (const finding of runDoctor(installation, { fix: false, deep: true, nowMs: Date.now() })) {
      findings.push(finding);
    }
    expect(findings.filter(({ kind }) => kind !== 'notice')).toEqual([]);
  } finally {
    await installation.close();
  }
});
