import { setTimeout as sleep } from 'node:timers/promises';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { ensureWorkspace, verifyUsage } from '@recount/db';
import { MAX_GROUPED_BYTES } from '@recount/ingest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBackend, type TestBackend } from './test-backend.ts';
import { waitUntilWriting } from './wait-until-writing.ts';

/** More than a batch takes, so that it is taken alone and its row says so. */
const TRANSCRIPT_BYTES = 40 * 1024 * 1024;
/** Far more than the few seconds that are documented. */
const BACK_WITHIN_MS = 240_000;
const RESTART_PAUSE_MS = 2000;

let backend: TestBackend;
beforeAll(async () => {
  backend = await startTestBackend('worker-killed');
});
afterAll(() => backend.stop());

async function upload(workspaceId: string): Promise<string> {
  await ensureWorkspace(backend.database.database, workspaceId, workspaceId);
  const chunks = generateTranscript({ seed: 7, targetBytes: TRANSCRIPT_BYTES });
  return (await backend.receive(workspaceId, chunks)).id;
}

async function waitFor(transcriptId: string, status: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { rows } = await backend.database.pool.query('SELECT status FROM recount.transcripts WHERE id = $1', [
      transcriptId,
    ]);
    if (rows[0]?.status === status) return;
    if (performance.now() > deadline) throw new Error(`${transcriptId} is ${rows[0]?.status}, not ${status}`);
    await sleep(20);
  }
}

/**
 * All rows of a transcript in one hash, without what identifies the workspace, the transcript and the time of
 * ingestion.
 */
async function hashRows(workspaceId: string): Promise<unknown> {
  const { rows } = await backend.database.pool.query(
    `SELECT
       (SELECT count(*)::int FROM recount.transcript_messages WHERE workspace_id = $1) AS messages,
       (SELECT md5(string_agg((to_jsonb(m) - 'workspace_id' - 'row_set_id')::text, '' ORDER BY m.ordinal))
        FROM recount.transcript_messages m WHERE workspace_id = $1) AS message_hash,
       (SELECT count(*)::int FROM recount.content_blocks WHERE workspace_id = $1) AS blocks,
       (SELECT md5(string_agg((to_jsonb(b) - 'workspace_id' - 'row_set_id')::text, '' ORDER BY b.id))
        FROM recount.content_blocks b WHERE workspace_id = $1) AS block_hash,
       (SELECT to_jsonb(s) - 'workspace_id' - 'primary_transcript_id' - 'created_at' - 'updated_at'
        FROM recount.sessions s WHERE workspace_id = $1) AS session`,
    [workspaceId],
  );
  return rows[0];
}

describe('a worker killed with SIGKILL in the middle of a transcript', () => {
  it('loses nothing and counts nothing twice, because the job is retried by itself, with the rows of an undisturbed run', async () => {
    const disturbed = await upload('01J0000000000000000000000A');
    const worker = await backend.start('worker');
    await waitFor(disturbed, 'processing', BACK_WITHIN_MS);
    await waitUntilWriting(backend.database);
    await worker.kill(RESTART_PAUSE_MS);
    await waitFor(disturbed, 'processing', BACK_WITHIN_MS);
    await waitFor(disturbed, 'ingested', BACK_WITHIN_MS);
    const undisturbed = await upload('01J0000000000000000000000B');
    await waitFor(undisturbed, 'ingested', BACK_WITHIN_MS);
    const rows = await hashRows('01J0000000000000000000000A');
    expect(rows).toEqual(await hashRows('01J0000000000000000000000B'));
    expect(rows).toMatchObject({ messages: expect.any(Number), session: { transcript_count: 1 } });

    expect(await worker.stop()).toBe(0);
  });
});

describe('a worker killed with SIGKILL in a batch of small transcripts', () => {
  it('uses up no attempts of the others, because all are ingested by another one, once', async () => {
    const workspaceId = '01J0000000000000000000000C';
    const { database } = backend;
    await ensureWorkspace(database.database, workspaceId, workspaceId);
    const count = 100;
    for (let index = 0; index < count; index++) {
      await backend.receive(workspaceId, generateTranscript({ seed: 1000 + index, targetBytes: 7000 }));
    }
    const countIngested = async (): Promise<number> => {
      const { rows } = await database.pool.query(
        `SELECT count(*)::int AS count FROM recount.transcripts WHERE workspace_id = $1 AND status = 'ingested'`,
        [workspaceId],
      );
      return rows[0].count;
    };
    /** The killed worker's last statement may still commit until PostgreSQL has noticed its end. */
    const waitUntilDisconnected = async (): Promise<void> => {
      const killedAt = (await database.pool.query('SELECT clock_timestamp()::text AS now')).rows[0].now;
      const countConnections = async (): Promise<number> => {
        const { rows } = await database.pool.query(
          `SELECT count(*)::int AS count FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'recount worker' AND backend_start < $1::timestamptz`,
          [killedAt],
        );
        return rows[0].count;
      };
      await expect.poll(countConnections).toBe(0);
    };
    const countCutOff = async (): Promise<number> => {
      const { rows } = await database.pool.query(
        'SELECT count(*)::int AS count FROM recount.ingest_jobs WHERE workspace_id = $1 AND taken_at IS NOT NULL',
        [workspaceId],
      );
      return rows[0].count;
    };
    const countWaiting = async (): Promise<number> => {
      const { rows } = await database.pool.query(
        `SELECT count(*)::int AS count FROM pg_locks JOIN pg_database ON pg_database.oid = database
         WHERE NOT granted AND relation = 'recount.sessions'::regclass AND datname = current_database()`,
      );
      return rows[0].count;
    };
    const waitForCount = async (atLeast: number): Promise<void> => {
      const deadline = performance.now() + BACK_WITHIN_MS;
      while ((await countIngested()) < atLeast) {
        if (performance.now() > deadline) throw new Error(`Only ${await countIngested()} are ingested`);
        await sleep(5);
      }
    };
    // Batches wait for this lock in the middle of their rows, so that the worker is killed there.
    const blocker = await database.pool.connect();
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE recount.sessions IN EXCLUSIVE MODE');
    const worker = await backend.start('worker');
    await expect.poll(countCutOff).toBeGreaterThan(0);
    await expect.poll(countWaiting).toBeGreaterThan(0);
    await worker.kill(RESTART_PAUSE_MS);
    await blocker.query('ROLLBACK');
    blocker.release();
    await waitUntilDisconnected();
    expect(await countCutOff()).toBeGreaterThan(0);
    await waitForCount(count);
    // A few are too long for batches. One of those may have been processed separately.
    const { rows } = await database.pool.query(
      `SELECT max(attempt_count) FILTER (WHERE size_bytes <= ${MAX_GROUPED_BYTES}) AS most, (SELECT count(*)::int FROM recount.sessions WHERE workspace_id = $1) AS sessions
       FROM recount.transcripts WHERE workspace_id = $1`,
      [workspaceId],
    );
    expect(rows).toEqual([{ most: 1, sessions: count }]);
    for (const check of await database.withSnapshot((snapshot) => verifyUsage(snapshot, workspaceId))) {
      expect(check).toMatchObject({ missing: 0, surplus: 0 });
    }
    expect(await worker.stop()).toBe(0);
  });
});
