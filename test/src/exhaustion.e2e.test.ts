import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { createApiKey, createDatabasePool, ensureWorkspace } from '@recount/db';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import type { SupervisedProcess } from './chaos/supervised-process.ts';
import { findFreePort } from './find-free-port.ts';
import { type Program, startTestBackend, type TestBackend } from './test-backend.ts';

const WORKSPACE = '01J0000000000000000000000A';
const MAX_FILES = 256;
const GREEDY_CLIENTS = 500;
const SLOW_CLIENTS = 2000;
/** Bytes that each slow client sends; others ask after each. */
const TRICKLES = 5;
const REQUESTS_PER_TRICKLE = 4;
const MAX_DATABASE_CONNECTIONS = 40;
const MAX_RSS_BYTES = 500 * 1024 * 1024;
const WAIT = { interval: 200 };
const UPLOADS = 8;

let backend: TestBackend;
let key: string;
let port: number;
beforeAll(async () => {
  backend = await startTestBackend('exhaustion', { max_connections: String(MAX_DATABASE_CONNECTIONS) });
  await ensureWorkspace(backend.database.database, WORKSPACE, 'default');
  ({ key } = await createApiKey(backend.database.database, {
    workspaceId: WORKSPACE,
    name: 'test',
    scopes: ['admin'],
  }));
});
afterAll(() => backend.stop());

async function start(program: Program, launcher?: readonly string[]): Promise<SupervisedProcess> {
  if (program === 'api') port = await findFreePort();
  const started = await backend.start(program, { RECOUNT_PORT: String(port) }, launcher);
  onTestFinished(async () => void (await started.stop()));
  return started;
}

const call = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(60_000),
  });

/** On a new connection, which takes as long as it takes: `fetch` gives up after ten seconds, which a busy machine may need. */
function readStatus(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    request({ agent: false, port, host: '127.0.0.1', path, headers }, (answer) =>
      answer.resume().on('end', () => resolve(answer.statusCode)),
    )
      .on('error', reject)
      .end();
  });
}

let seed = 0;
const generate = (): Buffer => Buffer.concat([...generateTranscript({ seed: ++seed, targetBytes: 300_000 })]);
const upload = (): Promise<Response> => call('/v1/transcripts', { method: 'POST', body: Uint8Array.from(generate()) });

/** Makes uploads one after the other on one connection; resolves to the status, or the error of the connection. */
function uploadOn(agent: Agent): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` };
    const upload = request({ agent, port, host: '127.0.0.1', method: 'POST', path: '/v1/transcripts', headers });
    upload.on('error', (error) => resolve(error.message));
    upload.on('response', (answer) => answer.resume().on('end', () => resolve(answer.statusCode ?? 0)));
    upload.end(generate());
  });
}

async function openClients(count: number, beginning: string): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(beginning));
    socket.on('error', () => undefined);
    return socket;
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await vi.waitFor(() => expect(sockets.filter((socket) => socket.connecting)).toEqual([]), WAIT);
  return sockets;
}

const waitUntilIngested = (): Promise<void> =>
  vi.waitFor(async () => {
    const { rows } = await backend.database.pool.query(
      'SELECT status, count(*)::int AS count FROM recount.transcripts GROUP BY 1',
    );
    expect(rows).toEqual([{ status: 'ingested', count: expect.any(Number) }]);
  }, WAIT);

it(`keeps serving with ${MAX_FILES} file descriptors and ${GREEDY_CLIENTS} clients`, async () => {
  const launcher = ['prlimit', `--nofile=${MAX_FILES}:${MAX_FILES}`];
  const api = await start('api', launcher);
  const worker = await start('worker', launcher);
  // A client that is already connected, with keep-alive.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  expect(await uploadOn(agent)).toBe(202);
  const sockets = await openClients(GREEDY_CLIENTS, 'GET /healthz HTTP/1.1\r\nhost: test\r\n');
  const countHeld = () => sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length;
  await vi.waitFor(() => expect(countHeld()).toBeLessThan(MAX_FILES), WAIT);
  // Admitted clients are served, because there are descriptors left for the database and the store.
  const statuses: (number | string)[] = [];
  for (let index = 0; index < UPLOADS; index++) {
    statuses.push(await uploadOn(agent));
  }
  expect(countHeld()).toBeLessThan(MAX_FILES);
  expect(statuses).toEqual(Array.from({ length: UPLOADS }, () => 202));
  for (const socket of sockets) socket.destroy();
  await vi.waitFor(async () => expect((await call('/readyz')).status).toBe(200), WAIT);
  await waitUntilIngested();
  expect([...api.crashes, ...worker.crashes]).toEqual([]);
});

/** Takes all connections that the server has, also those that the programs use: a pool keeps one that it needs often. */
async function holdAllConnections() {
  const connectionString = `${backend.connectionString}?application_name=holder`;
  const others = createDatabasePool({ connectionString, maxConnections: 2 * MAX_DATABASE_CONNECTIONS });
  const first = await others.pool.connect();
  const held = [first];
  await vi.waitFor(async () => {
    const { rowCount } = await first.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND application_name <> 'holder'`);
    const hold = () => others.pool.connect().catch(() => undefined);
    for (let client = await hold(); client !== undefined; client = await hold()) held.push(client);
    expect(rowCount).toBe(0);
  }, WAIT);
  const release = async (): Promise<void> => {
    for (const client of held) client.release(true);
    await others.close();
  };
  return { held, release };
}

it('answers 503 while others hold all database connections, and recovers when they release them', async () => {
  const api = await start('api');
  const worker = await start('worker');
  expect((await upload()).status).toBe(202);
  const { held, release } = await holdAllConnections();
  expect(held.length).toBeGreaterThan(MAX_DATABASE_CONNECTIONS / 2);
  const answers = await Promise.all(Array.from({ length: 30 }, () => upload()));
  for (const answer of answers) {
    expect(answer.status).toBeOneOf([429, 503]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await call('/healthz')).status).toBe(200);
  await release();
  await vi.waitFor(async () => expect((await call('/readyz')).status).toBe(200), WAIT);
  expect((await upload()).status).toBe(202);
  await waitUntilIngested();
  expect([...api.crashes, ...worker.crashes]).toEqual([]);
});

it(`serves others beside ${SLOW_CLIENTS} slow uploads`, async () => {
  const api = await start('api');
  const head = [
    'POST /v1/transcripts HTTP/1.1',
    'host: test',
    `authorization: Bearer ${key}`,
    'content-length: 1000000',
  ].join('\r\n');
  const sockets = await openClients(SLOW_CLIENTS, `${head}\r\n\r\n{`);
  const durationsMs: number[] = [];
  for (let trickle = 0; trickle < TRICKLES; trickle++) {
    for (const socket of sockets) if (socket.writable) socket.write(' ');
    for (let request = 0; request < REQUESTS_PER_TRICKLE; request++) {
      const startedAtMs = performance.now();
      expect(await readStatus('/v1/sessions?limit=1')).toBe(200);
      durationsMs.push(Math.round(performance.now() - startedAtMs));
    }
  }
  const rssBytes = await readRss(api.pid());
  console.log({ slowestMs: Math.max(...durationsMs), requests: durationsMs.length, rssBytes });
  expect(rssBytes).toBeLessThan(MAX_RSS_BYTES);
  for (const socket of sockets) socket.destroy();
  await vi.waitFor(async () => expect((await upload()).status).toBe(202), WAIT);
  expect(api.crashes).toEqual([]);
});

it('survives a full disk of its log', async () => {
  port = await findFreePort();
  const output = await open('/dev/full', 'w');
  const cli = fileURLToPath(new URL('../../apps/cli/bin/recount.mjs', import.meta.url));
  const child = spawn(process.execPath, [cli, 'api'], {
    env: { PATH: process.env.PATH, ...backend.environment, RECOUNT_PORT: String(port) },
    stdio: ['ignore', output.fd, output.fd],
  });
  await output.close();
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  await vi.waitFor(async () => expect((await call('/readyz')).status).toBe(200), WAIT);
  expect((await upload()).status).toBe(202);
  expect(child.exitCode).toBeNull();
});

async function readRss(pid: number | undefined): Promise<number> {
  const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}
