import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createDatabasePool,
  type DatabasePool,
  ensureWorkspace,
  migrateDatabase,
  type TranscriptRow,
} from '@recount/db';
import { receiveTranscript } from '@recount/ingest';
import { type LocalPostgres, startLocalPostgres } from '@recount/local-postgres';
import { createJobQueue, type JobQueue, migrateQueue } from '@recount/queue';
import { createFolderRawStore, type RawStore } from '@recount/storage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runRecount } from './chaos/run-recount.ts';
import { type SupervisedProcess, superviseProcess } from './chaos/supervised-process.ts';

const WORKSPACE = '01J0000000000000000000000A';
const MAX_ATTEMPTS = 5;
const HEALTHY_COUNT = 20;
const MAX_WAIT_MS = 60_000;

let directory: string;
let postgres: LocalPostgres;
let database: DatabasePool;
let rawStore: RawStore;
let queue: JobQueue;
let worker: SupervisedProcess | undefined;
let environment: Record<string, string>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-poison-e2e-'));
  postgres = await startLocalPostgres({ directory: join(directory, 'postgres'), settings: { fsync: 'off' } });
  await migrateDatabase(postgres.connectionString);
  await migrateQueue(postgres.connectionString);
  database = createDatabasePool({ connectionString: postgres.connectionString });
  rawStore = createFolderRawStore({ directory: join(directory, 'raw') });
  queue = createJobQueue({ connectionString: postgres.connectionString, role: 'sender', onError: () => undefined });
  await queue.start();
  await ensureWorkspace(database.database, WORKSPACE, 'default');
  environment = {
    HOME: directory,
    DATABASE_URL: postgres.connectionString,
    RECOUNT_RAW_STORE: join(directory, 'raw'),
    RECOUNT_WORKER_CONCURRENCY: '1',
  };
});

afterAll(async () => {
  await worker?.stop();
  await queue.stop(0);
  await database.close();
  await postgres.stop();
  await rm(postgres.directory, { recursive: true, force: true });
  await rm(directory, { recursive: true, force: true });
});

const toTranscript = (session: string): string =>
  `${JSON.stringify({ type: 'user', sessionId: session, uuid: 'u', message: { role: 'user', content: 'hello' } })}\n`;

async function receive(session: string): Promise<TranscriptRow> {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(toTranscript(session));
  }
  const request = { workspaceId: WORKSPACE, body: body(), maxBytes: 1_000_000 };
  return (await receiveTranscript({ database, rawStore, queue }, request)).transcript;
}

const writeObject = ({ object_key }: TranscriptRow, text: string): Promise<void> =>
  writeFile(join(directory, 'raw', object_key), text);

async function readStatuses(): Promise<Record<string, TranscriptRow>> {
  const { rows } = await database.pool.query<TranscriptRow>('SELECT * FROM recount.transcripts');
  return Object.fromEntries(rows.map((row) => [row.session_id, row]));
}

async function waitFor(condition: (rows: Record<string, TranscriptRow>) => boolean, endsPauses = false): Promise<void> {
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const rows = await readStatuses();
    if (condition(rows)) return;
    if (performance.now() > deadlineMs) {
      throw new Error(
        JSON.stringify(
          Object.values(rows).map(({ session_id, status, failure_reason }) => [session_id, status, failure_reason]),
        ),
      );
    }
    // The pauses between two attempts add up to half a minute.
    if (endsPauses) await database.pool.query(`UPDATE pgboss.job SET start_after = now() WHERE state = 'retry'`);
    await sleep(50);
  }
}

const requeue = (...commandArguments: string[]) => runRecount(['requeue', ...commandArguments], environment);

describe('a transcript that fails every time', () => {
  it('is given up with its reason, holds up no other, and is tried again when it is told to be', async () => {
    const poisoned = await receive('poisoned');
    const missing = await receive('missing');
    // Bytes that make another transcript, and bytes that no parser can make anything of.
    await writeObject(poisoned, toTranscript('another').repeat(3));
    await rawStore.delete(missing.object_key);
    const healthy = Array.from({ length: HEALTHY_COUNT }, (_, index) => `healthy-${index}`);
    for (const session of healthy) await receive(session);
    worker = superviseProcess({
      name: 'worker',
      commandArguments: ['worker'],
      environment,
      readyPattern: /worker ready/,
      logPath: join(directory, 'worker.log'),
    });
    await waitFor((rows) => healthy.every((session) => rows[session]?.status === 'ingested'));
    const meanwhile = await readStatuses();
    expect(meanwhile.poisoned?.status).not.toBe('failed');
    expect(meanwhile.missing?.status).not.toBe('failed');

    const areGivenUp = (rows: Record<string, TranscriptRow>): boolean =>
      rows.poisoned?.status === 'failed' && rows.missing?.status === 'failed';
    await waitFor(areGivenUp, true);
    const givenUp = await readStatuses();
    expect(givenUp.poisoned).toMatchObject({
      attempt_count: MAX_ATTEMPTS,
      failure_reason: expect.stringMatching(/^RawObjectMismatchError: Raw object has SHA-256 [0-9a-f]{64}, not /),
    });
    expect(givenUp.missing).toMatchObject({
      attempt_count: MAX_ATTEMPTS,
      failure_reason: expect.stringMatching(/^RawStoreError: No raw object at /),
    });
    const { rows: leftovers } = await database.pool.query(
      `SELECT (SELECT count(*)::int FROM recount.transcript_messages WHERE row_set_id = ANY($1)) AS messages,
              (SELECT count(*)::int FROM recount.sessions WHERE session_id IN ('poisoned', 'missing', 'another')) AS sessions`,
      [[poisoned.id, missing.id]],
    );
    expect(leftovers).toEqual([{ messages: 0, sessions: 0 }]);

    const all = await requeue('--failed');
    expect(all.stdout.trim().split('\n').sort()).toEqual([poisoned.id, missing.id].sort());
    await waitFor(({ poisoned: row }) => row?.attempt_count !== 0);
    await waitFor(areGivenUp, true);

    await writeObject(poisoned, toTranscript('poisoned'));
    expect(await requeue(poisoned.id)).toMatchObject({ exitCode: 0, stdout: `${poisoned.id}\n` });
    await waitFor((rows) => rows.poisoned?.status === 'ingested');
    expect((await readStatuses()).poisoned).toMatchObject({ total_messages: 1, failure_reason: null });
    expect((await readStatuses()).missing?.status).toBe('failed');
    expect(worker.crashes).toEqual([]);
  });
});
