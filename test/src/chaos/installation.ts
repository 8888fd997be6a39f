import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createApiKey,
  createDatabasePool,
  type DatabasePool,
  distributeDatabase,
  ensureWorkspace,
  migrateDatabase,
} from '@recount/db';
import { createRawStore, type RawStore } from '@recount/storage';
import { type S3Proxy, startS3Proxy } from '@recount/storage/testing/s3-proxy';
import { startFauxqs } from 'fauxqs';
import { mountSmallDisk, type SmallDisk } from '../small-disk.ts';
import { type Program, superviseProgram } from '../test-backend.ts';
import { type ClusterOptions, startCluster } from './cluster.ts';
import { type KillablePostgres, startKillablePostgres } from './killable-postgres.ts';
import type { SupervisedProcess } from './supervised-process.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export type StoreKind = 's3' | 'folder';

export interface Installation {
  /** The place where `recount up` would look for this PostgreSQL. */
  directory: string;
  apiUrl: string;
  api: SupervisedProcess;
  workers: SupervisedProcess[];
  postgres: KillablePostgres;
  /** The database's disk; undefined if none could be mounted. */
  databaseDisk: SmallDisk | undefined;
  databaseProxy: TcpProxy;
  /** Only with an S3 store. */
  storeProxy: S3Proxy | undefined;
  /** The variables that `recount` commands need to use it, through the proxies. */
  environment: Record<string, string>;
  /** Direct access to the store, without faults. */
  rawStore: RawStore;
  /** For a folder store. */
  rawDirectory: string | undefined;
  /** A pool connected directly to the server; stale after PostgreSQL was killed. */
  openDatabase(): DatabasePool;
  createWorkspace(id: string, name: string): Promise<{ key: string }>;
  stop(): Promise<void>;
}

const WORKER_COUNT = 2;
/** Enough for a long run; only what is written takes memory. */
const DATABASE_DISK_BYTES = 8 * 1024 ** 3;
const BUCKET = 'recount-chaos';

/**
 * API and workers as separate processes, behind proxies to the raw store and to a separate PostgreSQL, or to a database
 * on a cluster.
 */
export async function startInstallation(
  directory: string,
  { store, apiPort, cluster }: { store: StoreKind; apiPort: number; cluster?: ClusterOptions | undefined },
): Promise<Installation> {
  await mkdir(join(directory, 'logs'), { recursive: true });
  const databaseProxy = await startTcpProxy();
  const onStart = (port: number): void => databaseProxy.setTargetPort(port);
  const postgres =
    cluster === undefined
      ? await startKillablePostgres(join(directory, 'postgres'), onStart)
      : await startCluster(cluster, onStart);
  const databaseDisk = await moveToSmallDisk(postgres);
  await migrateDatabase(postgres.connectionString());
  if (cluster !== undefined) await distributeDatabase(postgres.connectionString());
  const rawStore = store === 's3' ? await startS3() : undefined;
  const location = rawStore?.location ?? join(directory, 'raw');
  const databaseUrl = new URL(postgres.connectionString());
  databaseUrl.port = String(databaseProxy.port);
  const environment = {
    HOME: directory,
    DATABASE_URL: databaseUrl.href,
    RECOUNT_RAW_STORE: location,
    RECOUNT_PORT: String(apiPort),
    ...rawStore?.environment,
  };
  const supervise = (name: string, program: Program): SupervisedProcess =>
    superviseProgram(program, { name, environment, logPath: join(directory, 'logs', `${name}.log`) });
  const api = supervise('api', 'api');
  const workers = Array.from({ length: WORKER_COUNT }, (_, index) => supervise(`worker ${index + 1}`, 'worker'));
  const openDatabase = (): DatabasePool => createDatabasePool({ connectionString: postgres.connectionString() });
  return {
    directory,
    databaseDisk,
    rawDirectory: store === 'folder' ? location : undefined,
    apiUrl: `http://127.0.0.1:${apiPort}`,
    api,
    workers,
    postgres,
    databaseProxy,
    storeProxy: rawStore?.proxy,
    environment,
    rawStore: await createRawStore(location, rawStore?.options),
    openDatabase,
    async createWorkspace(id, name) {
      const pool = openDatabase();
      await ensureWorkspace(pool.database, id, name);
      const { key } = await createApiKey(pool.database, { workspaceId: id, name: 'chaos', scopes: ['ingest', 'read'] });
      await pool.close();
      return { key };
    },
    async stop() {
      await Promise.all([api, ...workers].map((program) => program.stop()));
      await databaseProxy.stop();
      await postgres.stop();
      await databaseDisk?.unmount();
      await rawStore?.stop();
    },
  };
}

/** Moves its database to a disk that can be filled; the WAL stays where it is. Not for a cluster. */
async function moveToSmallDisk({ directory, connectionString }: KillablePostgres): Promise<SmallDisk | undefined> {
  if (directory === undefined) return undefined;
  const { uid } = await stat(join(directory, 'cluster/data'));
  const disk = await mountSmallDisk(DATABASE_DISK_BYTES, uid);
  if (disk === undefined) return undefined;
  const url = new URL(connectionString());
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  const { pool, close } = createDatabasePool({ connectionString: url.href });
  await pool.query(`CREATE TABLESPACE small LOCATION '${disk.directory}'`);
  await pool.query(`ALTER DATABASE "${name}" SET TABLESPACE small`);
  await close();
  return disk;
}

async function startS3() {
  const server = await startFauxqs({ port: 0, logger: false });
  server.createBucket(BUCKET);
  const proxy = await startS3Proxy(server.address);
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const region = 'us-east-1';
  return {
    location: `s3://${BUCKET}/raw`,
    proxy,
    options: { endpoint: server.address, region, credentials },
    environment: {
      S3_ENDPOINT: proxy.url,
      S3_REGION: region,
      S3_ACCESS_KEY_ID: credentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    async stop() {
      await proxy.stop();
      await server.stop();
    },
  };
}
