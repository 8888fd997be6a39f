import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { createApiKey, createDatabasePool, ensureWorkspace, findTranscript, migrateDatabase } from '@recount/db';
import { createDatabase, dropDatabase } from '@recount/local-postgres';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runRecount } from './chaos/run-recount.ts';
import type { SupervisedProcess } from './chaos/supervised-process.ts';
import { findFreePort } from './find-free-port.ts';
import { type Program, startTestBackend, type TestBackend } from './test-backend.ts';
import { waitUntilWriting } from './wait-until-writing.ts';

const WORKSPACE = '01J0000000000000000000000A';
const LARGE_BYTES = 60 * 1024 * 1024;
const GRACE_MS = 1500;
/**
 * Time that a busy machine may take beyond the grace period to end a process; uploads are abandoned a minute after
 * their last byte.
 */
const BEYOND_GRACE_MS = 40_000;

let backend: TestBackend;
let key: string;
beforeAll(async () => {
  backend = await startTestBackend('shutdown');
  await ensureWorkspace(backend.database.database, WORKSPACE, 'default');
  ({ key } = await createApiKey(backend.database.database, {
    workspaceId: WORKSPACE,
    name: 'test',
    scopes: ['ingest'],
  }));
});
afterAll(() => backend.stop());

async function start(program: Program, settings: Record<string, string> = {}): Promise<SupervisedProcess> {
  const started = await backend.start(program, { RECOUNT_SHUTDOWN_GRACE_MS: String(GRACE_MS), ...settings });
  onTestFinished(async () => void (await started.stop()));
  return started;
}

const find = (id: string) => findTranscript(backend.database.database, WORKSPACE, id);

/** An upload whose first bytes are being stored. */
async function beginUpload(port: number, sessionId: string, sizeBytes: number, first: Buffer): Promise<ClientRequest> {
  const upload = request(`http://127.0.0.1:${port}/v1/transcripts?session_id=${sessionId}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-length': sizeBytes },
  });
  upload.on('error', () => undefined);
  upload.write(first);
  await vi.waitFor(async () => expect(await readdir(join(backend.directory, 'raw', '.incoming'))).not.toEqual([]));
  return upload;
}

describe('SIGTERM under load', () => {
  it('lets the API finish a running upload, and then exit', async () => {
    const port = await findFreePort();
    const api = await start('api', { RECOUNT_PORT: String(port), RECOUNT_SHUTDOWN_GRACE_MS: '20000' });
    const bytes = Buffer.concat([...generateTranscript({ seed: 1, targetBytes: 3_000_000 })]);
    const upload = await beginUpload(port, 'finished', bytes.length, bytes.subarray(0, 1_000_000));
    const answering = once(upload, 'response') as Promise<[IncomingMessage]>;
    const stopped = api.stop();
    await vi.waitFor(() => expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow());
    for (let offset = 1_000_000; offset < bytes.length; offset += 500_000) {
      upload.write(bytes.subarray(offset, offset + 500_000));
      await sleep(20);
    }
    upload.end();
    const [answer] = await answering;
    expect(answer.statusCode).toBe(202);
    const { transcript_id, size_bytes } = JSON.parse(await text(answer)) as Record<string, unknown>;
    expect(size_bytes).toBe(bytes.length);
    expect(await find(String(transcript_id))).toMatchObject({ status: 'queued', size_bytes: bytes.length });
    expect(await stopped).toBe(0);
  });

  it('stops an API whose client never finishes within the grace period, and leaves nothing of the upload', async () => {
    const port = await findFreePort();
    const api = await start('api', { RECOUNT_PORT: String(port) });
    await beginUpload(port, 'stuck', 1_000_000, Buffer.alloc(1000, '{}\n'));
    const startedAtMs = performance.now();
    expect(await api.stop()).toBe(0);
    expect(performance.now() - startedAtMs).toBeLessThan(GRACE_MS + BEYOND_GRACE_MS);
    expect(await readdir(join(backend.directory, 'raw', '.incoming'))).toEqual([]);
    const { rows } = await backend.database.pool.query(`SELECT FROM recount.transcripts WHERE session_id = 'stuck'`);
    expect(rows).toEqual([]);
  });

  it('stops a worker in the middle of 60 MB within the grace period, and another one continues immediately', async () => {
    const id = (await backend.receive(WORKSPACE, generateTranscript({ seed: 2, targetBytes: LARGE_BYTES }))).id;
    const first = await start('worker', { RECOUNT_SHUTDOWN_GRACE_MS: '200' });
    await vi.waitFor(async () => expect(await find(id)).toMatchObject({ status: 'processing' }));
    await waitUntilWriting(backend.database);
    const startedAtMs = performance.now();
    expect(await first.stop()).toBe(0);
    expect(performance.now() - startedAtMs).toBeLessThan(200 + BEYOND_GRACE_MS);
    expect(await find(id)).toMatchObject({ status: 'queued', total_messages: 0, attempt_count: 0 });
    const { rows } = await backend.database.pool.query(
      'SELECT count(*)::int AS count FROM recount.transcript_messages WHERE row_set_id = $1',
      [id],
    );
    expect(rows).toEqual([{ count: 0 }]);
    const { rows: jobs } = await backend.database.pool.query(
      'SELECT taken_at, not_before FROM recount.ingest_jobs WHERE transcript_id = $1',
      [id],
    );
    expect(jobs).toEqual([{ taken_at: null, not_before: null }]);

    await start('worker', { RECOUNT_SHUTDOWN_GRACE_MS: '30000' });
    await vi.waitFor(async () => expect(await find(id)).toMatchObject({ status: 'ingested' }));
  });
});

/** A separate database on the same server, until the test ends. */
async function createEmpty(): Promise<string> {
  const name = `shutdown_${randomBytes(8).toString('hex')}`;
  onTestFinished(() => dropDatabase(backend.connectionString, name));
  return await createDatabase(backend.connectionString, name);
}

describe('start', () => {
  it('migrates once when ten processes migrate together', async () => {
    const DATABASE_URL = await createEmpty();
    const runs = await Promise.all(
      Array.from({ length: 10 }, () => runRecount(['migrate'], { ...backend.environment, DATABASE_URL })),
    );
    for (const run of runs) expect(run).toMatchObject({ exitCode: 0 });
    const pool = createDatabasePool({ connectionString: DATABASE_URL });
    const { rows } = await pool.pool.query('SELECT hash FROM drizzle.__drizzle_migrations');
    await pool.close();
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map(({ hash }) => hash)).size).toBe(rows.length);
  });

  it('refuses a newer schema, and says what to do', async () => {
    const DATABASE_URL = await createEmpty();
    await migrateDatabase(DATABASE_URL);
    const pool = createDatabasePool({ connectionString: DATABASE_URL });
    await pool.pool.query(
      `INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('of the future', 9000000000000)`,
    );
    await pool.close();
    for (const command of [['api'], ['worker'], ['up', '--exit'], ['migrate'], ['doctor']]) {
      const run = await runRecount(command, { ...backend.environment, DATABASE_URL, RECOUNT_PORT: '0' });
      expect(run.exitCode, command.join()).toBe(1);
      expect(run.stderr, command.join()).toMatch(/schema version \d+, this program knows \d+: install the newer/);
    }
  });
});
