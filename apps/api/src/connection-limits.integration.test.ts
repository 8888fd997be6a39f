import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { MULTIPART_TYPE, toMultipart } from './testing/multipart-body.ts';
import { createTestApi, type TestApi } from './testing/test-api.ts';
import { toTranscript } from './testing/transcript-lines.ts';

const MAX_CONNECTIONS = 20;
const TIMEOUTS = { headersTimeout: 30_000, keepAliveTimeout: 72_000, timeout: 600_000 };

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi({ maxClientConnections: MAX_CONNECTIONS });
  expect(api.app.server).toMatchObject(TIMEOUTS);
});
afterAll(() => api.close());

/**
 * With the configured timeouts, tests would take minutes; the server accepts changes at any time. Only until the test
 * ends, because a busy machine may take longer than that for what other tests do.
 */
function shorten(name: 'headersTimeout' | 'keepAliveTimeout'): void {
  api.app.server[name] = 300;
  onTestFinished(() => {
    api.app.server[name] = TIMEOUTS[name];
  });
}

interface Connection {
  socket: Socket;
  /** Everything received before the server closed the connection. */
  answer: Promise<string>;
}

async function open(beginning: string): Promise<Connection> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  const received: Buffer[] = [];
  socket.on('data', (chunk) => received.push(chunk));
  socket.on('error', () => undefined);
  const answer = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(Buffer.concat(received).toString()));
  });
  await once(socket, 'connect');
  socket.write(beginning);
  return { socket, answer };
}

describe('a connection', () => {
  it.each([
    ['says nothing', ''],
    ['begins its headers and stops', 'GET /healthz HTTP/1.1\r\nhost: test\r\nx-slow: '],
  ])('is closed if it %s', async (_what, beginning) => {
    shorten('headersTimeout');
    const { answer } = await open(beginning);
    const text = await answer;
    expect(text).toMatch(/^HTTP\/1.1 408 /);
    expect(text).toContain('urn:recount:problem:request-timeout');
    expect(text).toMatch(/x-request-id: \S+/);
  });

  it('is closed if it sends one header now and then', async () => {
    shorten('headersTimeout');
    const { socket, answer } = await open('GET /healthz HTTP/1.1\r\nhost: test\r\n');
    const timer = setInterval(() => socket.write('x-slow: 1\r\n'), 50);
    expect(await answer).toMatch(/^HTTP\/1.1 408 /);
    clearInterval(timer);
  });

  it('is closed when it stays idle between two requests', async () => {
    shorten('keepAliveTimeout');
    const { answer } = await open('GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1.1 200 /);
  });

  it('is closed if the client keeps sending a body that is not being read', async () => {
    const { socket, answer } = await open('GET /healthz HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n');
    const timer = setInterval(() => socket.write('1\r\nx\r\n'), 20);
    const text = await answer;
    clearInterval(timer);
    expect(text).toMatch(/^HTTP\/1.1 200 /);
    expect(text).toMatch(/connection: close/i);
  });

  it('stays open once the whole body was read, also after either kind of upload', async () => {
    const single = await api.upload(toTranscript('kept', 4));
    const multipart = await api.upload(
      toMultipart([{ filename: 'kept.jsonl', content: toTranscript('kept-too', 4) }]),
      {},
      { headers: { 'content-type': MULTIPART_TYPE } },
    );
    for (const { status, headers } of [single, multipart]) {
      expect(status).toBe(202);
      expect(headers.get('connection')).toBe('keep-alive');
    }
  });

  it('stays open while the client still sends a refused body, until it has read the error', async () => {
    const bytes = Buffer.alloc(16 * 1024 * 1024, 'x');
    const head = [
      'POST /v1/transcripts HTTP/1.1',
      'host: test',
      `authorization: Bearer ${api.keys.ingest}`,
      'content-encoding: deflate',
      `content-length: ${bytes.length}`,
    ];
    const { socket, answer } = await open(`${head.join('\r\n')}\r\n\r\n`);
    const failures: Error[] = [];
    socket.on('error', (error) => failures.push(error));
    let isEnded = false;
    socket.once('end', () => {
      isEnded = true;
    });
    // More than the buffers of both sides hold, in pieces, after the answer and within the lingering time.
    await once(socket, 'data');
    for (let start = 0; start < bytes.length; start += bytes.length / 4) {
      expect(isEnded).toBe(false);
      if (!socket.write(bytes.subarray(start, start + bytes.length / 4))) await once(socket, 'drain');
    }
    const text = await answer;
    expect(text).toMatch(/^HTTP\/1.1 415 /);
    expect(text).toContain('urn:recount:problem:unsupported-encoding');
    expect(text).toMatch(/connection: close/i);
    expect(failures).toEqual([]);
  });

  it.each([
    ['one long header', `x: ${'x'.repeat(20_000)}\r\n`, 431],
    ['many headers', 'x: x\r\n'.repeat(4000), 431],
    ['two lengths', 'content-length: 1\r\ncontent-length: 2\r\n', 400],
    ['a length and chunks', 'content-length: 1\r\ntransfer-encoding: chunked\r\n', 400],
    ['a folded header', 'x: a\r\n b\r\n', 400],
  ])('is refused with %s', async (_what, headers, status) => {
    const { answer } = await open(`POST /v1/transcripts HTTP/1.1\r\nhost: test\r\n${headers}\r\n`);
    const text = await answer;
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text).toContain('application/problem+json');
    expect(text).not.toMatch(/\bat |node:/);
  });

  it('is refused above the limit', async () => {
    const countConnections = promisify(api.app.server.getConnections.bind(api.app.server));
    const isAlone = async () => expect(await countConnections()).toBe(0);
    api.app.server.closeAllConnections();
    await vi.waitFor(isAlone);
    const head = 'GET /healthz HTTP/1.1\r\nhost: test\r\n';
    const held = await Promise.all(Array.from({ length: MAX_CONNECTIONS }, () => open(head)));
    const refused = await open(`${head}\r\n`);
    expect(await refused.answer).toBe('');
    for (const { socket } of held) socket.destroy();
    await vi.waitFor(isAlone);
    const { answer } = await open(`${head}connection: close\r\n\r\n`);
    expect(await answer).toMatch(/^HTTP\/1.1 200 /);
  });
});
