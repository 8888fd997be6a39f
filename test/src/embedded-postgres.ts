import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalPostgres } from '@recount/local-postgres';

export interface PostgresTestServer {
  /** What was chosen and why, for the person who watches the tests. */
  description: string;
  /** Of a user who may create databases. */
  serverUrl: string;
  stop(): Promise<void>;
}

const directoryPattern = /^recount-test-postgres-(\d+)-/;
const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 200 } as const;
const interruptions = ['SIGINT', 'SIGTERM'] as const;
/** Test data need not survive a crash, and are written faster for it. */
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

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
    const server = await startLocalPostgres({ directory, settings });
    await server.stop();
    await rm(server.directory, removal);
  } catch (error) {
    // Another run may be removing it at this moment; the tests do not depend on it.
    console.warn(`${directory}, left behind by a killed test run, holds no server: ${(error as Error).message}`);
  } finally {
    await rm(directory, removal);
  }
}

/** Stops the servers of test runs that were killed, and removes their data: nobody else ever would. */
async function removeAbandonedServers(): Promise<void> {
  for (const entry of await readdir(tmpdir())) {
    const starterPid = directoryPattern.exec(entry)?.[1];
    if (starterPid === undefined || isRunning(Number(starterPid))) continue;
    const directory = join(tmpdir(), entry);
    // Undefined where another run has just removed it.
    const ownerUid = await stat(directory).then(
      ({ uid }) => uid,
      () => undefined,
    );
    if (ownerUid !== undefined && ownerUid === process.getuid?.()) await removeServer(directory);
  }
}

/**
 * Runs something when the process is told to end, and then ends it, unless another listener does so earlier. Such an
 * exit stops the server all the same, and the next run removes its data. Returns how to undo this.
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

/** Runs the bundled PostgreSQL on a temporary directory, which goes with it. */
export async function startEmbeddedPostgres(): Promise<PostgresTestServer> {
  await removeAbandonedServers();
  const directory = await mkdtemp(join(tmpdir(), `recount-test-postgres-${process.pid}-`));
  const server = await startLocalPostgres({ directory, settings });
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
