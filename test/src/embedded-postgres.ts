import { chmod, mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalPostgres } from '@recount/local-postgres';

export interface PostgresTestServer {
  /** Which server was chosen and why, for the person who runs the tests. */
  description: string;
  /** With a user who may create databases. */
  serverUrl: string;
  stop(): Promise<void>;
}

const directoryPattern = /^recount-test-postgres-(\d+)-/;
/** Linux's in-memory file system. */
const MEMORY_DIRECTORY = '/dev/shm';
/** Several times what the databases of a run take together, including their log. */
const MIN_FREE_BYTES = 8 * 1024 ** 3;
/** Places for a server's data. */
export const PARENTS = [MEMORY_DIRECTORY, tmpdir()];
const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 200 } as const;
const interruptions = ['SIGINT', 'SIGTERM'] as const;
/**
 * Test data need not survive a crash, and are written faster this way. Each worker of a run has several pools, and the
 * more cores a machine has, the more workers.
 */
export const TEST_SERVER_SETTINGS = {
  ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  max_connections: '500',
};

/**
 * In memory if there is plenty of it. Each test file copies a database of some hundred files and drops it, which took a
 * third of the tests' processor time in a disk's file system.
 */
async function chooseParent(): Promise<string> {
  const shared = await statfs(MEMORY_DIRECTORY).catch(() => undefined);
  const freeBytes = Math.min(shared === undefined ? 0 : shared.bavail * shared.bsize, process.availableMemory());
  return freeBytes >= MIN_FREE_BYTES ? MEMORY_DIRECTORY : tmpdir();
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function removeServer(directory: string): Promise<void> {
  try {
    const server = await startLocalPostgres({ directory, settings: TEST_SERVER_SETTINGS });
    await server.stop();
    await rm(server.directory, removal);
  } catch (error) {
    // Another run may be removing it right now; the tests do not depend on it.
    console.warn(`${directory}, left behind by a killed test run, holds no server: ${(error as Error).message}`);
  } finally {
    await rm(directory, removal);
  }
}

/** Stops the servers of killed test runs and removes their data, because no other program would. */
async function removeAbandonedServers(): Promise<void> {
  const entries = await Promise.all(
    PARENTS.map(async (parent) => (await readdir(parent).catch(() => [])).map((name) => ({ parent, name }))),
  );
  for (const { parent, name } of entries.flat()) {
    const starterPid = directoryPattern.exec(name)?.[1];
    if (starterPid === undefined || isRunning(Number(starterPid))) continue;
    const directory = join(parent, name);
    // Undefined if another run has just removed it.
    const ownerUid = await stat(directory).then(
      ({ uid }) => uid,
      () => undefined,
    );
    if (ownerUid !== undefined && ownerUid === process.getuid?.()) await removeServer(directory);
  }
}

/**
 * Runs something when the process gets a signal to end, and then ends it, unless another listener does so earlier. In
 * that case the server still stops, and the next run removes its data. Returns a function that undoes this.
 */
function beforeInterruption(run: () => Promise<void>): () => void {
  const interrupt = async (signal: NodeJS.Signals) => {
    await run();
    process.kill(process.pid, signal);
  };
  for (const signal of interruptions) process.once(signal, interrupt);
  return () => {
    for (const signal of interruptions) process.off(signal, interrupt);
  };
}

/** Runs the bundled PostgreSQL in a temporary directory, which is removed with it. */
export async function startEmbeddedPostgres(): Promise<PostgresTestServer> {
  await removeAbandonedServers();
  const directory = await mkdtemp(join(await chooseParent(), `recount-test-postgres-${process.pid}-`));
  // For root, the server runs as a separate account, which would keep its data elsewhere if it could not enter this
  // directory.
  await chmod(directory, 0o711);
  const server = await startLocalPostgres({ directory, settings: TEST_SERVER_SETTINGS });
  const remove = async () => {
    await server.stop();
    await Promise.all([server.directory, directory].map((path) => rm(path, removal)));
  };
  const forgetInterruption = beforeInterruption(remove);
  return {
    description: 'the bundled server, as neither TEST_DATABASE_URL is set nor a container engine runs',
    serverUrl: server.connectionString,
    stop: async () => {
      forgetInterruption();
      await remove();
    },
  };
}
