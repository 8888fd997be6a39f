import { mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabasePool, type DatabasePool, ensureWorkspace, findTranscript } from '@recount/db';
import { MAX_ATTEMPTS, receiveTranscript } from '@recount/ingest';
import { endPauses } from '@recount/ingest/testing/work-jobs';
import { createTestDatabase, isOnCitus, type TestDatabase } from '@recount/local-postgres/testing';
import { startCollector } from '@recount/service/telemetry/testing';
import { createFolderRawStore, type RawStore } from '@recount/storage';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readWorkerConfig, type WorkerConfig } from './config.ts';
import { type RunningWorker, startWorker } from './start-worker.ts';

const WORKSPACE = '01J00000000000000000000001';
const CANARY = 'canary';

let testDatabase: TestDatabase;
let storeDirectory: string;
let database: DatabasePool;
let rawStore: RawStore;
let config: WorkerConfig;
let worker: RunningWorker;
const logLines: string[] = [];
const log = pino({ level: 'trace' }, { write: (line) => void logLines.push(line) });

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { connectionString } = testDatabase;
  storeDirectory = await mkdtemp(join(tmpdir(), 'recount-worker-'));
  database = createDatabasePool({ connectionString });
  rawStore = createFolderRawStore({ directory: storeDirectory });
  await ensureWorkspace(database.database, WORKSPACE, 'test');
  config = readWorkerConfig({
    DATABASE_URL: connectionString,
    RECOUNT_RAW_STORE: storeDirectory,
    RECOUNT_WORKER_METRICS_PORT: String(await findFreePort()),
  });
  worker = await startWorker(config, log);
});
afterAll(async () => {
  await worker.close();
  await database.close();
  await testDatabase.drop();
  await rm(storeDirectory, { recursive: true });
});

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await vi.waitFor(() => expect(server.listening).toBe(true));
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

const toLine = (fields: Record<string, unknown>): string =>
  `${JSON.stringify({ type: 'user', message: { role: 'user', content: `${CANARY} prompt` }, ...fields })}\n`;

async function receive(text: string): Promise<string> {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text);
  }
  const path = `/home/${CANARY}/x.jsonl`;
  const request = { workspaceId: WORKSPACE, uploaderKeyId: null, body: body(), path, maxBytes: 1_000_000 };
  return (await receiveTranscript({ database, rawStore }, request)).transcript.id;
}

const readStatus = async (id: string): Promise<string | undefined> =>
  (await findTranscript(database.database, WORKSPACE, id))?.status;
const readMetrics = async (): Promise<string> =>
  await (await fetch(`http://127.0.0.1:${config.metrics?.port}/metrics`)).text();
/** The value of a metric, 0 before it was counted. */
const readMetric = (metrics: string, name: string): number =>
  Number(
    metrics
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length) ?? 0,
  );
const findReports = (transcriptId: string): Record<string, unknown>[] =>
  logLines.map((line) => JSON.parse(line)).filter((line) => line.transcriptId === transcriptId);

describe('a worker', () => {
  it('logs and counts what it ingests, under the request id of the upload', async () => {
    const before = await readMetrics();
    const increaseOf = (metrics: string, name: string): number => readMetric(metrics, name) - readMetric(before, name);
    const text = toLine({ sessionId: 'counted' }).repeat(3) + toLine({ sessionId: 'counted', message: CANARY });
    const id = await receive(text);
    await vi.waitFor(async () => expect(await readStatus(id)).toBe('ingested'));
    await vi.waitFor(() => expect(findReports(id)).toMatchObject([{ outcome: 'done', sizeBytes: text.length }]));
    await vi.waitFor(async () =>
      expect(increaseOf(await readMetrics(), 'recount_ingested_rows_total')).toBeGreaterThan(0),
    );
    const metrics = await readMetrics();
    const row = await findTranscript(database.database, WORKSPACE, id);
    const rowCount = (row?.total_messages ?? 0) + (row?.content_block_count ?? 0);
    for (const [name, increase] of [
      ['recount_ingested_transcripts_total', 1],
      ['recount_ingested_bytes_total', text.length],
      ['recount_ingested_rows_total', rowCount],
      ['recount_job_duration_seconds_count{outcome="done"}', 1],
    ] as const) {
      expect(increaseOf(metrics, name), name).toBe(increase);
    }
    const noneWaits = 'recount_database_connections{state="waiting"} 0\n';
    await vi.waitFor(async () => expect(await readMetrics()).toContain(noneWaits));
  });

  it('counts failures by kind, and discloses nothing of the transcript', async () => {
    await database.pool.query(`
      CREATE FUNCTION quote_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', NEW; END $$`);
    await database.pool.query(
      'CREATE TRIGGER quote_row BEFORE INSERT ON recount.content_blocks FOR EACH ROW EXECUTE FUNCTION quote_row()',
    );
    const id = await receive(toLine({ sessionId: 'failing' }));
    await vi.waitFor(async () => {
      await endPauses(database);
      expect(await readStatus(id)).toBe('failed');
    });
    await database.pool.query('DROP TRIGGER quote_row ON recount.content_blocks');
    await database.pool.query('DROP FUNCTION quote_row');
    // The worker reports an attempt after it has stored its end.
    const outcomes = ['alone', ...Array.from({ length: MAX_ATTEMPTS }, () => 'failed')];
    await vi.waitFor(() =>
      expect(
        findReports(id)
          .map(({ outcome }) => outcome)
          .toSorted(),
      ).toEqual(outcomes),
    );
    const metrics = await readMetrics();
    // If a node rejects a COPY, a cluster's coordinator reports it without the node's code.
    expect(metrics).toContain(`recount_job_failures_total{kind="postgres-${isOnCitus() ? 'XX000' : 'P0001'}"} 5\n`);
    for (const text of [metrics, ...logLines]) expect(text).not.toContain(CANARY);
  });

  it('survives an outage longer than the pauses between attempts', async () => {
    await worker.close();
    const id = await receive(toLine({ sessionId: 'outage' }));
    const row = await findTranscript(database.database, WORKSPACE, id);
    const path = join(storeDirectory, row?.object_key ?? '');
    await rename(path, `${path}-away`);
    // Reading a link to itself fails like reading from an unavailable store.
    await symlink(path, path);
    worker = await startWorker(config, log);
    const listOutcomes = () => findReports(id).map(({ outcome }) => outcome);
    await vi.waitFor(async () => {
      await endPauses(database);
      expect(listOutcomes().filter((outcome) => outcome === 'outage').length).toBeGreaterThan(MAX_ATTEMPTS);
    });
    expect(new Set(listOutcomes())).toEqual(new Set(['alone', 'outage']));
    expect(await readMetrics()).toMatch(/recount_job_failures_total\{kind="outage"\} ([6-9]|\d\d+)\n/);
    await rename(`${path}-away`, path);
    await vi.waitFor(async () => {
      await endPauses(database);
      expect(await readStatus(id)).toBe('ingested');
    });
  });

  it('pauses while the database has no space, and resumes by itself without using up attempts', async () => {
    await database.pool.query(`
      CREATE FUNCTION public.full_row() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
    await database.pool.query(
      'CREATE TRIGGER full_row BEFORE INSERT ON recount.content_blocks FOR EACH ROW EXECUTE FUNCTION full_row()',
    );
    await database.pool.query(`
      CREATE SEQUENCE public.refusals;
      CREATE FUNCTION public.full_table() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM nextval('public.refusals'); RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
      CREATE EVENT TRIGGER full_table ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION full_table()`);
    const ids = [await receive(toLine({ sessionId: 'full' })), await receive(toLine({ sessionId: 'full-too' }))];
    // Sequences count what is rolled back, too.
    const countRefusals = async () => {
      const { rows } = await database.pool.query<{ count: string }>('SELECT last_value AS count FROM public.refusals');
      return Number(rows[0]?.count);
    };
    const findPauses = () => logLines.filter((line) => line.includes('work stops until the resource is back'));
    await vi.waitFor(() => expect(findPauses()).toHaveLength(1));
    // Another batch may have begun before the pause.
    await vi.waitFor(async () => {
      const { rows } = await database.pool.query('SELECT FROM recount.ingest_jobs WHERE taken_at IS NOT NULL');
      expect(rows).toEqual([]);
    });
    // Space for a job's own table again, but not for its rows. No job starts before there is space for both.
    await database.pool.query('DROP TRIGGER full_row ON recount.content_blocks');
    await database.pool.query('DROP FUNCTION public.full_row');
    const before = await countRefusals();
    await vi.waitFor(async () => expect(await countRefusals()).toBeGreaterThan(before + 1));
    for (const id of ids) expect(await readStatus(id)).toBe('queued');
    await database.pool.query(
      'DROP EVENT TRIGGER full_table; DROP FUNCTION public.full_table; DROP SEQUENCE public.refusals',
    );
    for (const id of ids) await vi.waitFor(async () => expect(await readStatus(id)).toBe('ingested'));
    for (const id of ids) {
      expect(await findTranscript(database.database, WORKSPACE, id)).toMatchObject({ attempt_count: 1 });
      expect(findReports(id).filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    }
    expect(logLines.filter((line) => line.includes('database reachable again, resuming'))).toHaveLength(1);
  });

  it('takes no jobs once a newer version has migrated the database, and says so', async () => {
    await worker.close();
    const outdated = await startWorker(config, log);
    const before = `INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('of the future', 9000000000000)`;
    await database.pool.query(before);
    const id = await receive(toLine({ sessionId: 'newer' }));
    await expect(outdated.failed).rejects.toThrow('install the newer recount');
    await outdated.close();
    expect(await readStatus(id)).toBe('queued');
    expect(findReports(id).map(({ outcome }) => outcome)).not.toContain('done');
    await database.pool.query(`DELETE FROM drizzle.__drizzle_migrations WHERE hash = 'of the future'`);
    worker = await startWorker(config, log);
    await vi.waitFor(async () => expect(await readStatus(id)).toBe('ingested'));
  });

  it('sends spans of its jobs if the OpenTelemetry variables ask for it', async () => {
    const collector = await startCollector();
    vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', `${collector.url}/v1/traces`);
    await worker.close();
    const tracing = await startWorker({ ...config, isTraced: true }, log);
    const id = await receive(toLine({ sessionId: 'traced' }));
    await vi.waitFor(() => expect(findReports(id)).toHaveLength(1));
    await tracing.close();
    vi.unstubAllEnvs();
    collector.close();
    worker = await startWorker(config, log);
    const job = collector.spans.find(({ name }) => name === 'jobs');
    expect(job?.attributes).toMatchObject({ 'recount.transcript_id': id, 'recount.outcome': 'done' });
    expect(collector.spans.find(({ name }) => name === 'parse and write')?.parentSpanId).toBe(job?.spanId);
    for (const body of collector.bodies) expect(body).not.toContain(CANARY);
  });

  it('serves nothing but metrics, and does not start if their port is in use', async () => {
    const url = `http://127.0.0.1:${config.metrics?.port}`;
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(404);
    await expect(startWorker(config, log)).rejects.toThrow('EADDRINUSE');
  });
});
