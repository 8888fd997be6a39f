import { randomBytes } from 'node:crypto';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { type PostgresTestServer, startEmbeddedPostgres, TEST_SERVER_SETTINGS } from './embedded-postgres.ts';

const containerImage = 'postgres:18-alpine';
const postgresPort = 5432;

async function hasContainerEngine(): Promise<boolean> {
  try {
    await getContainerRuntimeClient();
    return true;
  } catch {
    // It throws if no container engine responds, which is normal in many test environments.
    return false;
  }
}

async function startContainer(): Promise<PostgresTestServer> {
  const password = randomBytes(16).toString('hex');
  const container = await new GenericContainer(containerImage)
    .withEnvironment({ POSTGRES_PASSWORD: password })
    .withCommand(['postgres', ...Object.entries(TEST_SERVER_SETTINGS).flatMap((setting) => ['-c', setting.join('=')])])
    .withTmpFs({ '/var/lib/postgresql': 'rw' })
    .withExposedPorts(postgresPort)
    // The image starts the server once for its setup and then again.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(postgresPort)}`;
  return {
    description: `a container of ${containerImage}`,
    serverUrl: `postgres://postgres:${password}@${address}/postgres`,
    stop: async () => {
      await container.stop();
    },
  };
}

/** A PostgreSQL for tests: TEST_DATABASE_URL, else a container if an engine is running, else the bundled one. */
export async function startPostgresTestServer(environment: NodeJS.ProcessEnv): Promise<PostgresTestServer> {
  const { TEST_DATABASE_URL: serverUrl } = environment;
  if (serverUrl) return { description: 'the server of TEST_DATABASE_URL', serverUrl, stop: async () => {} };
  if (await hasContainerEngine()) return startContainer();
  return startEmbeddedPostgres();
}
