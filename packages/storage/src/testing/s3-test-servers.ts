import { startFauxqs } from 'fauxqs';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';

/** The server of docker-compose.yml. */
const CONTAINER_IMAGE = 'versity/versitygw:v1.0.19';
const CONTAINER_PORT = 7070;
const CONTAINER_START_TIMEOUT_MS = 120_000;

export interface S3TestServer {
  name: string;
  endpoint: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  /** True if it rejects wrong signatures and lists multipart uploads, as S3 does. */
  isComplete: boolean;
  stop(): Promise<void>;
}

/**
 * Always an emulator in this process; also the server that S3_TEST_ENDPOINT names, and a container if a container
 * engine is running.
 */
export async function startS3TestServers(): Promise<S3TestServer[]> {
  const servers = await Promise.all([startEmulator(), nameExternalServer(), startContainer()]);
  const started = servers.filter((server) => server !== undefined);
  process.stdout.write(`S3 servers tested against: ${started.map(({ name }) => name).join(', ')}\n`);
  return started;
}

async function startEmulator(): Promise<S3TestServer> {
  const server = await startFauxqs({ port: 0, logger: false });
  return {
    name: 'fauxqs',
    endpoint: server.address,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    isComplete: false,
    stop: () => server.stop(),
  };
}

function nameExternalServer(): S3TestServer | undefined {
  const { S3_TEST_ENDPOINT, S3_TEST_REGION, S3_TEST_ACCESS_KEY_ID, S3_TEST_SECRET_ACCESS_KEY } = process.env;
  if (!S3_TEST_ENDPOINT) return undefined;
  return {
    name: S3_TEST_ENDPOINT,
    endpoint: S3_TEST_ENDPOINT,
    region: S3_TEST_REGION ?? 'us-east-1',
    credentials: { accessKeyId: S3_TEST_ACCESS_KEY_ID ?? '', secretAccessKey: S3_TEST_SECRET_ACCESS_KEY ?? '' },
    isComplete: true,
    stop: async () => {},
  };
}

async function startContainer(): Promise<S3TestServer | undefined> {
  const hasEngine = await getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
  if (!hasEngine) return undefined;
  const credentials = { accessKeyId: 'recount', secretAccessKey: 'recount-secret' };
  const container = await new GenericContainer(CONTAINER_IMAGE)
    // Creates the folder.
    .withCopyContentToContainer([{ content: '', target: '/data/.keep' }])
    .withCommand(['--port', `:${CONTAINER_PORT}`, 'posix', '/data'])
    .withEnvironment({
      ROOT_ACCESS_KEY: credentials.accessKeyId,
      ROOT_SECRET_KEY: credentials.secretAccessKey,
    })
    .withExposedPorts(CONTAINER_PORT)
    .withWaitStrategy(Wait.forListeningPorts())
    .withStartupTimeout(CONTAINER_START_TIMEOUT_MS)
    .start();
  return {
    name: CONTAINER_IMAGE,
    endpoint: `http://${container.getHost()}:${container.getMappedPort(CONTAINER_PORT)}`,
    region: 'us-east-1',
    credentials,
    isComplete: true,
    stop: async () => {
      await container.stop();
    },
  };
}
