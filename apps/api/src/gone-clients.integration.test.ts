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
/** Transactions of exports that have not ended, also those that have no connection yet. */
const underWay = new Set<Promise<unknown>>();

beforeAll(async () => {
  api = await createTestApi({}, ({ database }) => ({
    database: {
      ...database,
      withTransaction: async (work, options) => {
        const transaction = onRead().then(() => database.withTransaction(work, options));
        underWay.add(transaction);
        return await transaction.finally(() => underWay.delete(transaction));
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

async function waitUntilSettled(): Promise<void> {
  const { pool } = api.database;
  await vi.waitFor(() => expect([underWay.size, pool.idleCount]).toEqual([0, pool.totalCount]), { timeout: 60_000 });
}

/** Nothing is warned of, and no connection is held. */
async function expectQuiet(): Promise<void> {
  await waitUntilSettled();
  const answer = await api.fetch('/v1/export/sessions?format=csv');
  expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
  await waitUntilSettled();
  expect(api.logLines.slice(earlierLines).filter((line) => JSON.parse(line).level >= 40)).toEqual([]);
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
