import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { createDatabasePool, type DatabasePool, ensureWorkspace, migrateDatabase, verifyUsage } from '@recount/db';
import { createUploadRecorder, MAX_GROUPED_BYTES, receiveTranscript } from '@recount/ingest';
import { type LocalPostgres, startLocalPostgres } from '@recount/local-postgres';
import { createJobQueue, type JobQueue, migrateQueue } from '@recount/queue';
import { createFolderRawStore, type RawStore } from '@recount/storage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const CLI = fileURLToPath(new URL('../../apps/cli/bin/recount.mjs', import.meta.url));
const TRANSCRIPT_BYTES = 60 * 1024 * 1024;
/** What the issue promises, in seconds; heartbeats make it about 15. */
const BACK_WITHIN_MS = 60_000;

let directory: string;
let postgres: LocalPostgres;
let database: DatabasePool;
let rawStore: RawStore;
let queue: JobQueue;
const workers: ChildProcess[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-e2e-'));
  postgres = await startLocalPostgres({ directory: join(directory, 'postgres'), settings: { fsync: 'off' } });
  await migrateDatabase(postgres.connectionString);
  await migrateQueue(postgres.connectionString);
  database = createDatabasePool({ connectionString: postgres.connectionString });
  rawStore = createFolderRawStore({ directory: join(directory, 'raw') });
  queue = createJobQueue({ connectionString: postgres.connectionString, role: 'sender', onError: () => undefined });
  await queue.start();
});

afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await queue.stop(0);
  await database.close();
  await postgres.stop();
  await rm(postgres.directory, { recursive: true, force: true });
  await rm(directory, { recursive: true, force: true });
});

function startWorker(): ChildProcess {
  const worker = spawn(process.execPath, [CLI, 'worker'], {
    env: {
      ...process.env,
      DATABASE_URL: postgres.connectionString,
      RECOUNT_RAW_STORE: join(directory, 'raw'),
      RECOUNT_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  workers.push(worker);
  return worker;
}

async function upload(workspaceId: string): Promise<string> {
  await ensureWorkspace(database.database, workspaceId, workspaceId);
  const { transcript } = await receiveTranscript(
    { database, rawStore, queue },
    { workspaceId, body: toAsync(generateTranscript({ seed: 7, targetBytes: TRANSCRIPT_BYTES })), maxBytes: 2 ** 31 },
  );
  return transcript.id;
}

async function* toAsync(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function waitFor(transcriptId: string, status: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { rows } = await database.pool.query('SELECT status FROM recount.transcripts WHERE id = $1', [transcriptId]);
    if (rows[0]?.status === status) return;
    if (performance.now() > deadline) throw new Error(`${transcriptId} is ${rows[0]?.status}, not ${status}`);
    await sleep(20);
  }
}

/** All rows of a transcript in one hash, without what names the workspace, the transcript and the time of ingestion. */
async function hashRows(workspaceId: string): Promise<unknown> {
  const { rows } = await database.pool.query(
    `SELECT
       (SELECT count(*)::int FROM recount.transcript_messages WHERE workspace_id = $1) AS messages,
       (SELECT md5(string_agg((to_jsonb(m) - 'workspace_id' - 'transcript_id')::text, '' ORDER BY m.ordinal))
        FROM recount.transcript_messages m WHERE workspace_id = $1) AS message_hash,
       (SELECT count(*)::int FROM recount.content_blocks WHERE workspace_id = $1) AS blocks,
       (SELECT md5(string_agg((to_jsonb(b) - 'workspace_id' - 'transcript_id')::text, '' ORDER BY b.id))
        FROM recount.content_blocks b WHERE workspace_id = $1) AS block_hash,
       (SELECT to_jsonb(s) - 'workspace_id' - 'primary_transcript_id' - 'created_at' - 'updated_at'
        FROM recount.sessions s WHERE workspace_id = $1) AS session`,
    [workspaceId],
  );
  return rows[0];
}

describe('a worker killed with SIGKILL in the middle of a transcript', () => {
  it('loses nothing and doubles nothing: the job comes back by itself, the rows are those of an undisturbed run', async () => {
    const disturbed = await upload('01J0000000000000000000000A');
    const first = startWorker();
    await waitFor(disturbed, 'processing', 30_000);
    await sleep(150);
    first.kill('SIGKILL');
    await once(first, 'exit');
    await waitFor(disturbed, 'processing', 1000);

    const second = startWorker();
    await waitFor(disturbed, 'ingested', BACK_WITHIN_MS);
    const undisturbed = await upload('01J0000000000000000000000B');
    await waitFor(undisturbed, 'ingested', BACK_WITHIN_MS);
    const rows = await hashRows('01J0000000000000000000000A');
    expect(rows).toEqual(await hashRows('01J0000000000000000000000B'));
    expect(rows).toMatchObject({ messages: expect.any(Number), session: { transcript_count: 1 } });

    second.kill('SIGTERM');
    const [exitCode] = await once(second, 'exit');
    expect(exitCode).toBe(0);
  });
});

describe('a worker killed with SIGKILL among groups of small transcripts', () => {
  it('uses up nobody’s attempts: all are ingested by another one, once', async () => {
    const workspaceId = '01J0000000000000000000000C';
    await ensureWorkspace(database.database, workspaceId, workspaceId);
    const record = createUploadRecorder({ database, queue }, { delayMs: 10 });
    const count = 600;
    const receiveOne = (seed: number) => {
      const body = toAsync(generateTranscript({ seed, targetBytes: 7000 }));
      return receiveTranscript({ database, rawStore, queue }, { workspaceId, body, maxBytes: 2 ** 31 }, record);
    };
    for (let start = 0; start < count; start += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => receiveOne(1000 + start + index)));
    }
    const countIngested = async (): Promise<number> => {
      const { rows } = await database.pool.query(
        `SELECT count(*)::int AS count FROM recount.transcripts WHERE workspace_id = $1 AND status = 'ingested'`,
        [workspaceId],
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
    const first = startWorker();
    await waitForCount(1);
    first.kill('SIGKILL');
    await once(first, 'exit');
    expect(await countIngested()).toBeLessThan(count);

    const second = startWorker();
    await waitForCount(count);
    // A few are too long for groups: one of those may have been under way by itself.
    const { rows } = await database.pool.query(
      `SELECT max(attempt_count) FILTER (WHERE size_bytes <= ${MAX_GROUPED_BYTES}) AS most, (SELECT count(*)::int FROM recount.sessions WHERE workspace_id = $1) AS sessions
       FROM recount.transcripts WHERE workspace_id = $1`,
      [workspaceId],
    );
    expect(rows).toEqual([{ most: 1, sessions: count }]);
    const { rows: alone } = await database.pool.query(
      `SELECT count(*)::int AS count FROM pgboss.job WHERE name = 'ingest-transcript' AND data->>'workspaceId' = $1`,
      [workspaceId],
    );
    expect(alone[0].count).toBeGreaterThan(0);
    for (const check of await database.withSnapshot((snapshot) => verifyUsage(snapshot, workspaceId))) {
      expect(check).toMatchObject({ missing: 0, surplus: 0 });
    }
    second.kill('SIGTERM');
    await once(second, 'exit');
  });
});
