import { setTimeout as wait } from 'node:timers/promises';
import type { Readiness } from '@recount/contract';
import { checkDatabaseWrite, checkSchemaVersion, type Database, listSilentNodes, sql } from '@recount/db';
import { limitRepeats } from '@recount/service/telemetry/limit-repeats';
import { READINESS_OBJECT_KEY } from '@recount/storage';
import type { ApiDependencies } from '../api-dependencies.ts';
import { toLogReason } from '../problems/problem-error.ts';

const CHECK_TIMEOUT_MS = 3000;
/** Anyone may call it, so more frequent calls get the last answer. */
const CHECK_INTERVAL_MS = 1000;
/**
 * A successful write is repeated after this long, because including WAL, that costs the database about half a gigabyte
 * a day.
 */
const WRITE_INTERVAL_MS = 30_000;
/** More than the free space on a disk that is too full to extend a table. */
const DATABASE_WRITE_BYTES = 128 * 1024;

type Checks = Readiness['checks'];
type Deps = Pick<ApiDependencies, 'database' | 'rawStore' | 'log' | 'now'>;

/**
 * True if database and raw store are usable, checked at most once a second, and writable, at most every half a minute.
 */
export function createReadinessCheck({ database, rawStore, log, now = Date.now }: Deps): () => Promise<Checks> {
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let latest: Promise<Checks> | undefined;
  const writeToDatabase = createWriteSchedule(now);
  const writeToStore = createWriteSchedule(now);

  const warnOf = (check: keyof Checks) => limitRepeats((line) => log.warn({ check, ...line }, 'not ready'));
  const warnings = { database: warnOf('database'), raw_store: warnOf('raw_store') };

  const run = async (name: keyof Checks, check: () => Promise<void>): Promise<Checks['database']> => {
    const { promise, resolve } = Promise.withResolvers<Checks['database']>();
    const timer = setTimeout(() => resolve('timeout'), CHECK_TIMEOUT_MS);
    check().then(
      () => resolve('ok'),
      (error: unknown) => {
        warnings[name](toLogReason(error));
        resolve('failed');
      },
    );
    const outcome = await promise;
    clearTimeout(timer);
    return outcome;
  };

  const runAll = async (): Promise<Checks> => {
    const [databaseOutcome, storeOutcome] = await Promise.all([
      run('database', async () => {
        await checkSchemaVersion(database.database);
        await checkWritable(database.database);
        await writeToDatabase(false, () => checkDatabaseWrite(database, DATABASE_WRITE_BYTES));
      }),
      run('raw_store', async () => {
        // The object of the last write, and if it is gone, the store may be too.
        const isGone = (await rawStore.stat(READINESS_OBJECT_KEY)) === undefined;
        await writeToStore(isGone, () => rawStore.check());
      }),
    ]);
    return { database: databaseOutcome, raw_store: storeOutcome };
  };

  return () => {
    if (latest === undefined || Math.abs(now() - checkedAtMs) >= CHECK_INTERVAL_MS) {
      checkedAtMs = now();
      latest = runAll();
    }
    return latest;
  };
}

const NODES_INTERVAL_MS = 5000;

export type SilentNodes = NonNullable<Readiness['cluster']>['silent_nodes'];

/**
 * The nodes of the database's cluster without an answer, asked at most every five seconds. None if the database itself
 * does not answer, which the other checks say.
 */
export function createNodeCheck({ database, log, now = Date.now }: Omit<Deps, 'rawStore'>): () => Promise<SilentNodes> {
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let latest: Promise<SilentNodes> = Promise.resolve([]);
  const warn = limitRepeats((line) => log.warn(line, 'a node of the cluster does not answer'));
  const run = async (): Promise<SilentNodes> => {
    const silent = await listSilentNodes(database);
    for (const { node, workspaces } of silent) warn(`${node}, with ${workspaces.length} workspaces`);
    return silent.map(({ node, workspaces }) => ({ node, workspace_ids: workspaces.map(({ id }) => id) }));
  };
  return () => {
    if (Math.abs(now() - checkedAtMs) >= NODES_INTERVAL_MS) {
      checkedAtMs = now();
      latest = Promise.race([run().catch(() => []), wait(CHECK_TIMEOUT_MS, [], { ref: false })]);
    }
    return latest;
  };
}

/** Runs a write if the last successful one was too long ago, or if `isUrgent`. */
function createWriteSchedule(now: () => number): (isUrgent: boolean, write: () => Promise<void>) => Promise<void> {
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  return async (isUrgent, write) => {
    if (!isUrgent && Math.abs(now() - writtenAtMs) < WRITE_INTERVAL_MS) return;
    await write();
    writtenAtMs = now();
  };
}

/** After a failover the address may lead to a replica, which answers queries but accepts no uploads. */
async function checkWritable(database: Database): Promise<void> {
  const { rows } = await database.execute<{ value: string }>(
    sql`SELECT current_setting('transaction_read_only') AS value`,
  );
  if (rows[0]?.value !== 'off') throw new Error('The database is read-only');
}
