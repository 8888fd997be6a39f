import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApiKeyScope,
  countTranscriptsByStatus,
  createApiKey,
  createDatabasePool,
  type DatabasePool,
  ensureWorkspace,
} from '@recount/db';
import { handleBatch, handleJob, type JobReport, runJobs } from '@recount/ingest';
import { endPauses } from '@recount/ingest/testing/work-jobs';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { createFolderRawStore, type RawStore } from '@recount/storage';
import { pino } from 'pino';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { createApiApp } from '../app.ts';
import { type ApiConfig, readApiConfig } from '../config.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { listUploadsUnderWay } from './upload-under-way.ts';

export const HOME_WORKSPACE = '01J00000000000000000000001';
export const OTHER_WORKSPACE = '01J00000000000000000000002';

export interface TestApi {
  app: ApiApp;
  url: string;
  database: DatabasePool;
  rawStore: RawStore;
  connectionString: string;
  storeDirectory: string;
  /** Keys of the home workspace by scope; `other` has all scopes in another workspace. */
  keys: Record<'ingest' | 'read' | 'admin' | 'other', string>;
  logLines: string[];
  /** Entries that a worker would log about the jobs. */
  jobReports: JobReport[];
  /** Uses the admin key of the home workspace unless the headers contain another one. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  upload(body: string | Uint8Array, query?: Record<string, string>, init?: RequestInit): Promise<Response>;
  /** Ingests what is waiting, without pauses between attempts. */
  work(changes?: Partial<Pick<WorkDeps, 'database' | 'rawStore'>> & { maxLineBytes?: number }): Promise<void>;
  /** Keys of objects, and names of puts in progress. */
  listStore(): Promise<string[]>;
  countTranscripts(): Promise<number>;
  /** The output of the metrics port. */
  readMetrics(): Promise<string>;
  close(): Promise<void>;
}

type WorkDeps = Parameters<typeof handleJob>[0];

/** Without one more ingested, because a large transcript takes a while on a busy machine. */
const WORK_TIMEOUT_MS = 300_000;

/** A listening API with a separate database, and a folder store. */
export async function createTestApi(
  overrides: Partial<ApiConfig> = {},
  replace: (deps: ApiDependencies) => Partial<ApiDependencies> = () => ({}),
): Promise<TestApi> {
  const testDatabase = await createTestDatabase();
  const { connectionString } = testDatabase;
  const storeDirectory = await mkdtemp(join(tmpdir(), 'recount-api-'));
  const database = createDatabasePool({ connectionString });
  const rawStore = createFolderRawStore({ directory: storeDirectory });
  const logLines: string[] = [];
  const jobReports: JobReport[] = [];
  const log = pino({ level: 'trace' }, { write: (line) => void logLines.push(line) });
  const environment = { DATABASE_URL: connectionString, RECOUNT_RAW_STORE: storeDirectory };
  const config = { ...readApiConfig(environment), ...overrides };
  const metrics = createMetrics({ database, log });
  const deps: ApiDependencies = { database, rawStore, log, metrics };
  const app = await createApiApp({ ...deps, ...replace(deps) }, config);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const keys = await createKeys(database);

  const api: TestApi = {
    app,
    url,
    database,
    rawStore,
    connectionString,
    storeDirectory,
    keys,
    logLines,
    jobReports,
    fetch: (path, init = {}) =>
      fetch(url + path, { ...init, headers: { authorization: `Bearer ${keys.admin}`, ...init.headers } }),
    upload: (body, query = {}, init = {}) =>
      api.fetch(`/v1/transcripts?${new URLSearchParams(query)}`, {
        method: 'POST',
        body: typeof body === 'string' ? body : Uint8Array.from(body),
        ...init,
        headers: { 'content-type': 'application/x-ndjson', ...init.headers },
      }),
    work: ({ maxLineBytes = 1024 * 1024, ...changes } = {}) =>
      ingestAll({ database, rawStore, ...changes, onReport: (report) => void jobReports.push(report) }, maxLineBytes),
    listStore: () => listStore(storeDirectory, rawStore),
    readMetrics: () => metrics.registry.metrics(),
    async countTranscripts() {
      const counts = await countTranscriptsByStatus(database.database);
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    async close() {
      app.server.closeAllConnections();
      await app.close();
      await database.close();
      await testDatabase.drop();
      await rm(storeDirectory, { recursive: true, force: true });
    },
  };
  return api;
}

async function createKeys({ database }: DatabasePool): Promise<TestApi['keys']> {
  await ensureWorkspace(database, HOME_WORKSPACE, 'home');
  await ensureWorkspace(database, OTHER_WORKSPACE, 'other');
  const create = async (workspaceId: string, scopes: ApiKeyScope[]): Promise<string> =>
    (await createApiKey(database, { workspaceId, name: 'test', scopes })).key;
  return {
    ingest: await create(HOME_WORKSPACE, ['ingest']),
    read: await create(HOME_WORKSPACE, ['read']),
    admin: await create(HOME_WORKSPACE, ['admin']),
    other: await create(OTHER_WORKSPACE, ['ingest', 'read', 'admin']),
  };
}

async function ingestAll(deps: WorkDeps, maxLineBytes: number): Promise<void> {
  const handlers = {
    waitUntilPossible: async () => undefined,
    mayWork: async () => true,
    handleJob: (job: Parameters<typeof handleJob>[1]) => handleJob(deps, job, { maxLineBytes }),
    handleBatch: (jobs: Parameters<typeof handleBatch>[1]) => handleBatch(deps, jobs, { maxLineBytes }),
  };
  const jobs = runJobs(deps.database, handlers, { concurrency: 2, pollIntervalMs: 50, onError: () => undefined });
  try {
    let [left, deadlineMs] = [Number.POSITIVE_INFINITY, 0];
    for (;;) {
      const { queued, processing } = await countTranscriptsByStatus(deps.database.database);
      if (queued + processing === 0) return;
      if (queued + processing < left) [left, deadlineMs] = [queued + processing, Date.now() + WORK_TIMEOUT_MS];
      if (Date.now() > deadlineMs) throw new Error(`${queued + processing} transcripts are not ingested`);
      await endPauses(deps.database);
      await sleep(20);
    }
  } finally {
    await jobs.stop(WORK_TIMEOUT_MS);
  }
}

async function listStore(directory: string, rawStore: RawStore): Promise<string[]> {
  const names: string[] = [];
  for await (const { key } of rawStore.list('')) names.push(key);
  const underWay = await listUploadsUnderWay(directory);
  return [...names.sort(), ...underWay.map((name) => `.incoming/${name}`)];
}
