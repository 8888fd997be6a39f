import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createTestApi, type TestApi } from './testing/test-api.ts';
import { toTranscript } from './testing/transcript-lines.ts';

let api: TestApi;
/** The number of lines that are logged when the API starts. */
let earlierLines = 0;
/** Called when an export has begun to read. */
let onRead = (): Promise<void> => Promise.resolve();

beforeAll(async () => {
  api = await createTestApi({}, ({ database }) => ({
    database: {
      ...database,
      withTransaction: async (work, options) => {
        await onRead();
        return await database.withTransaction(work, options);
      },
    },
  }));
  await api.upload(toTranscript('left', 20));
  await api.work();
  earlierLines = api.logLines.length;
});
afterAll(() => api.close());

/** Sends a request, and reads nothing. */
function send(path: string): Socket {
  const { hostname, port } = new URL(api.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${api.keys.admin}\r\n\r\n`);
  return socket;
}

const hasClosed = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('close', resolve));

/** Nothing is warned of, and no connection is held. */
async function expectQuiet(): Promise<void> {
  const { pool } = api.database;
  await vi.waitFor(() => expect(pool.idleCount).toBe(pool.totalCount), { timeout: 60_000 });
  expect(api.logLines.slice(earlierLines).filter((line) => JSON.parse(line).level >= 40)).toEqual([]);
  expect((await api.fetch('/v1/export/sessions?format=csv')).status).toBe(200);
}

it.each(['/v1/sessions', '/v1/export/messages?format=csv', '/shared/none'])(
  'asks nothing of the database for a client that has closed its connection before %s is looked at',
  async (path) => {
    const closeFirst = ({ socket }: IncomingMessage): void => void socket.destroy();
    api.app.server.prependListener('request', closeFirst);
    try {
      await hasClosed(send(path));
    } finally {
      api.app.server.off('request', closeFirst);
    }
    await expectQuiet();
  },
);

it.each(['csv', 'ndjson', 'parquet'])(
  'ends an export as %s whose client leaves before its first row',
  async (format) => {
    const [reading, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    onRead = async () => {
      onRead = () => Promise.resolve();
      reading.resolve();
      await left.promise;
    };
    const socket = send(`/v1/export/messages?format=${format}`);
    await reading.promise;
    api.app.server.closeAllConnections();
    await hasClosed(socket);
    left.resolve();
    await expectQuiet();
  },
);
