import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { createDatabasePool, type DatabasePool, ensureWorkspace, migrateDatabase } from '@recount/db';
import { receiveTranscript } from '@recount/ingest';
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
