import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createDatabasePool,
  type DatabasePool,
  distributeDatabase,
  migrateDatabase,
  type TranscriptRow,
} from '@recount/db';
import { receiveTranscript } from '@recount/ingest';
import { startLocalPostgres } from '@recount/local-postgres';
import { createFolderRawStore, type RawStore } from '@recount/storage';
import { type SupervisedProcess, superviseProcess } from './chaos/supervised-process.ts';
import { createCitusDatabase } from './citus-test-server.ts';

export type Program = 'api' | 'worker';

/**
 * The backend of programs (a PostgreSQL, or a database on a cluster, and a separate folder store, in a temporary
 * folder).
 */
export interface TestBackend {
  directory: string;
  connectionString: string;
  database: DatabasePool;
  rawStore: RawStore;
  /** For `recount` commands that should use it. */
  environment: Record<string, string>;
  /**
   * Starts `recount api` or `recount worker`, and resolves once it is ready. It is stopped with the backend at the
   * latest.
   */
  start(program: Program, settings?: Record<string, string>, launcher?: readonly string[]): Promise<SupervisedProcess>;
  /** Stores a transcript and enqueues its job, like an upload. */
  receive(workspaceId: string, chunks: Iterable<Uint8Array>, path?: string): Promise<TranscriptRow>;
  stop(): Promise<void>;
}

const MAX_TRANSCRIPT_BYTES = 2 ** 31;

/**
 * The database is on the run's server, or on the cluster of RECOUNT_TEST_CITUS_URL if set, unless the test wants a
 * separate server. `ownServer` has the settings of that server, e.g. `max_connections`.
 */
export async function startTestBackend(name: string, ownServer?: Record<string, string>): Promise<TestBackend> {
  const { RECOUNT_TEST_CITUS_URL: citusUrl } = process.env;
  const directory = await mkdtemp(join(tmpdir(), `recount-${name}-e2e-`));
  const server =
    ownServer !== undefined
      ? await startServer(join(directory, 'postgres'), { fsync: 'off', ...ownServer })
      : await (citusUrl ? prepareCluster(citusUrl) : copyTemplate());
  const { connectionString } = server;
  const database = createDatabasePool({ connectionString });
  const rawStore = createFolderRawStore({ directory: join(directory, 'raw') });
  const environment = { HOME: directory, DATABASE_URL: connectionString, RECOUNT_RAW_STORE: join(directory, 'raw') };
  const programs: SupervisedProcess[] = [];
  return {
    directory,
    connectionString,
    database,
    rawStore,
    environment,
    async start(program, settings = {}, launcher) {
      const started = superviseProgram(program, {
        environment: { ...environment, ...settings },
        logPath: join(directory, `${program}.log`),
        launcher,
      });
      programs.push(started);
      await started.waitUntilReady();
      return started;
    },
    async receive(workspaceId, chunks, path) {
      const body = (async function* () {
        yield* chunks;
      })();
      const request = { workspaceId, uploaderKeyId: null, path, body, maxBytes: MAX_TRANSCRIPT_BYTES };
      return (await receiveTranscript({ database, rawStore }, request)).transcript;
    },
    async stop() {
      await Promise.all(programs.map((program) => program.stop()));
      await database.close();
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function copyTemplate() {
  // Only here. Other programs start separate servers.
  const { createTestDatabase } = await import('@recount/local-postgres/testing');
  const { connectionString, drop } = await createTestDatabase();
  return { connectionString, stop: drop };
}

async function startServer(directory: string, settings: Record<string, string>) {
  const postgres = await startLocalPostgres({ directory, settings });
  const { connectionString } = postgres;
  await migrateDatabase(connectionString);
  const stop = async (): Promise<void> => {
    await postgres.stop();
    await rm(postgres.directory, { recursive: true, force: true });
  };
  return { connectionString, stop };
}

async function prepareCluster(citusUrl: string) {
  const name = `recount_e2e_${randomBytes(8).toString('hex')}`;
  const { connectionString, drop: stop } = await createCitusDatabase(citusUrl, name);
  await migrateDatabase(connectionString);
  await distributeDatabase(connectionString);
  return { connectionString, stop };
}

export function superviseProgram(
  program: Program,
  {
    name = program,
    ...options
  }: { name?: string; environment: Record<string, string>; logPath: string; launcher?: readonly string[] | undefined },
): SupervisedProcess {
  const readyPattern = program === 'api' ? /"msg":"api ready"/ : /"msg":"worker ready"/;
  return superviseProcess({ ...options, name, commandArguments: [program], readyPattern });
}
