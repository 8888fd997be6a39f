import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { createApiKey, createDatabasePool, type DatabasePool, ensureWorkspace, migrateDatabase } from '@recount/db';
import { createDatabase } from '@recount/local-postgres';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import type { SupervisedProcess } from './chaos/supervised-process.ts';
import { findFreePort } from './find-free-port.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';
import { type Program, startTestBackend, type TestBackend } from './test-backend.ts';

const WORKSPACE = '01J0000000000000000000000A';
const MIB = 1024 * 1024;
const DATABASE_DISK_BYTES = 256 * MIB;
const STORE_DISK_BYTES = 8 * MIB;
/** Writes that the full database refuses while a worker waits, which tries one every two seconds. */
const REFUSED_WRITES = 10;
const MAX_LOG_LINES = 200;
const SMALL_BYTES = 60_000;
const MAX_UPLOADS = 500;
const WAIT = { interval: 200 };
const TEST_TIMEOUT_MS = 600_000;

let backend: TestBackend;
beforeAll(async () => {
  backend = await startTestBackend('full-disk', {});
});
afterAll(() => backend.stop());

interface Installation {
  port: number;
  pool: DatabasePool;
  call(path: string, init?: RequestInit): Promise<Response>;
  readMetrics(): Promise<Response>;
  upload(bytes: Buffer): Promise<Response>;
  start(program: Program): Promise<SupervisedProcess>;
}

async function install(environment: Record<string, string>): Promise<Installation> {
  const pool = createDatabasePool({ connectionString: environment.DATABASE_URL ?? '' });
  onTestFinished(() => pool.close());
  await ensureWorkspace(pool.database, WORKSPACE, 'default');
  const { key } = await createApiKey(pool.database, { workspaceId: WORKSPACE, name: 'test', scopes: ['admin'] });
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const call: Installation['call'] = (path, init = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: { authorization: `Bearer ${key}` } });
  return {
    port,
    pool,
    call,
    readMetrics: () => fetch(`http://127.0.0.1:${metricsPort}/metrics`),
    upload: (bytes) => call('/v1/transcripts', { method: 'POST', body: Uint8Array.from(bytes) }),
    async start(program) {
      // Like a database on another machine, whose free disk space is unknown.
      const ports = { RECOUNT_PORT: String(port), RECOUNT_METRICS_PORT: String(metricsPort) };
      const settings = { ...environment, ...ports, RECOUNT_MIN_FREE_BYTES: '0' };
      const started = await backend.start(program, settings);
      onTestFinished(async () => void (await started.stop()));
      return started;
    },
  };
}

const generate = (seed: number, targetBytes: number): Buffer =>
  Buffer.concat([...generateTranscript({ seed, targetBytes })]);

const readWarnings = async (program: Program): Promise<Record<string, unknown>[]> =>
  (await readFile(join(backend.directory, `${program}.log`), 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ level }) => level >= 40);

async function mount(sizeBytes: number, uid?: number): Promise<SmallDisk | undefined> {
  const disk = await mountSmallDisk(sizeBytes, uid);
  if (disk !== undefined) onTestFinished(() => disk.unmount());
  return disk;
}

it(
  'a full database disk uses up no attempts, and everything is ingested once there is space',
  async () => {
    // Before the disk, because what was started last is stopped first.
    const { rows } = await backend.database.pool.query('SHOW data_directory');
    const { uid } = await stat(rows[0].data_directory);
    const disk = await mount(DATABASE_DISK_BYTES, uid);
    if (disk === undefined) return;
    await backend.database.pool.query(`CREATE TABLESPACE small LOCATION '${disk.directory}'`);
    const DATABASE_URL = await createDatabase(backend.connectionString, 'full');
    await backend.database.pool.query('ALTER DATABASE "full" SET TABLESPACE small');
    onTestFinished(async () => {
      await backend.database.pool.query('DROP DATABASE IF EXISTS "full" WITH (FORCE)');
      await backend.database.pool.query('DROP TABLESPACE small');
    });
    await migrateDatabase(DATABASE_URL);
    const { call, readMetrics, upload, pool, start } = await install({ DATABASE_URL });
    const api = await start('api');
    const readStatuses = async () =>
      (
        await pool.pool.query<{ status: string; attempt_count: number }>(
          'SELECT status, attempt_count FROM recount.transcripts',
        )
      ).rows;

    // Large ones are handled separately, small ones in groups.
    const sizes = [4 * MIB, 3 * MIB, 2 * MIB, ...Array.from({ length: 20 }, () => SMALL_BYTES)];
    for (const [seed, size] of sizes.entries()) expect((await upload(generate(seed, size))).status).toBe(202);
    expect((await call('/readyz')).status).toBe(200);

    await disk.fill();
    const worker = await start('worker');
    await vi.waitFor(async () => {
      const warnings = await readWarnings('worker');
      expect(warnings.map(({ msg }) => msg)).toContain('work stops until the resource is back; no attempt is counted');
    }, WAIT);
    // The free space within the tables' files is used up first.
    let acceptedCount = sizes.length;
    let refused = await upload(generate(100, SMALL_BYTES));
    for (; refused.status === 202 && acceptedCount < MAX_UPLOADS; acceptedCount += 1) {
      refused = await upload(generate(100 + acceptedCount, SMALL_BYTES));
    }
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('30');
    expect(await refused.json()).toMatchObject({ type: 'urn:recount:problem:database-full' });
    await vi.waitFor(async () => expect((await call('/readyz')).status).toBe(503), WAIT);
    // PostgreSQL may refuse new connections as well, because it sometimes writes a file for them.
    for (const path of ['/v1/sessions', '/v1/search?q=hello', '/v1/transcripts']) {
      const answer = await call(path);
      if (answer.status !== 200) expect(await answer.json(), path).toMatchObject({ status: 503 });
    }
    for (const answer of [await readMetrics(), await call('/healthz')]) expect(answer.status).toBe(200);
    // The worker looks whether there is room again and again, and takes no job until there is.
    const countRefused = async (): Promise<number> => {
      const { rows } = await backend.database.pool.query<{ count: number }>(
        `SELECT xact_rollback::int AS count FROM pg_stat_database WHERE datname = 'full'`,
      );
      return rows[0]?.count ?? 0;
    };
    const refusedBefore = await countRefused();
    await vi.waitFor(async () => expect(await countRefused()).toBeGreaterThan(refusedBefore + REFUSED_WRITES), WAIT);
    expect(await readFile(join(backend.directory, 'worker.log'), 'utf8')).not.toContain('resuming');

    await disk.free();
    await vi.waitFor(async () => {
      const statuses = await readStatuses();
      expect(statuses.filter(({ status }) => status === 'failed')).toEqual([]);
      expect(statuses).toHaveLength(acceptedCount);
      expect(statuses.filter(({ status }) => status !== 'ingested')).toEqual([]);
    }, WAIT);
    const { rows: jobs } = await pool.pool.query('SELECT transcript_id FROM recount.ingest_jobs');
    expect(jobs).toEqual([]);
    // One more if the server closed a connection while the disk was full, and the attempt could not be withdrawn.
    for (const { attempt_count } of await readStatuses()) expect(attempt_count).toBeLessThanOrEqual(2);
    expect((await upload(generate(99, MIB))).status).toBe(202);
    expect([...api.crashes, ...worker.crashes]).toEqual([]);
    for (const program of ['api', 'worker'] as const) {
      expect((await readWarnings(program)).length, program).toBeLessThan(MAX_LOG_LINES);
    }
  },
  TEST_TIMEOUT_MS,
);

it('a full raw store refuses uploads with 507, and accepts them once there is space', async () => {
  const disk = await mount(STORE_DISK_BYTES);
  if (disk === undefined) return;
  const DATABASE_URL = await createDatabase(backend.connectionString, 'full_store');
  await migrateDatabase(DATABASE_URL);
  const RECOUNT_RAW_STORE = join(disk.directory, 'raw');
  const { call, readMetrics, upload, start } = await install({ DATABASE_URL, RECOUNT_RAW_STORE });
  const api = await start('api');
  const bytes = generate(1, MIB);
  await disk.fill();
  const refused = await upload(bytes);
  expect(refused.status).toBe(507);
  expect(refused.headers.get('retry-after')).toBe('30');
  expect(await refused.json()).toMatchObject({ type: 'urn:recount:problem:store-full' });
  expect(await (await call('/readyz')).json()).toMatchObject({ status: 503, checks: { raw_store: 'failed' } });
  expect(await (await readMetrics()).text()).toMatch(/^recount_store_free_bytes\{store="raw_store"\} \d{1,5}$/m);
  await disk.free();
  await vi.waitFor(async () => expect((await call('/readyz')).status).toBe(200), WAIT);
  expect((await upload(bytes)).status).toBe(202);
  expect(api.crashes).toEqual([]);
});
