import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeChunks } from '@recount/api/live/decode-chunks';

export interface ReceivedStream {
  sessionId: string;
  agent: string | null;
  bytes: Buffer;
  /** Headers of the request that ended it. */
  end: { exitCode: string | undefined; signal: string | undefined } | undefined;
}

/** The live route of an API, in memory, which can be killed and restarted with its data. */
export interface LiveServer {
  readonly url: string;
  streams: Map<string, ReceivedStream>;
  /** Method, offset and answer of each request. */
  log: string[];
  /** If set, the answer to every request. */
  refusal: { status: number; slug: string } | undefined;
  /** Ends an open stream, as after a long silence. */
  close(streamId: string): void;
  kill(): Promise<void>;
  start(): Promise<void>;
}

export async function startLiveServer(): Promise<LiveServer> {
  const streams = new Map<string, ReceivedStream>();
  const closed = new Set<string>();
  const log: string[] = [];
  let server: Server | undefined;
  let port = 0;

  const reply = (
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    slug: string | undefined,
    stored: number,
  ) => {
    log.push(
      `${request.method} ${request.headers['recount-offset'] ?? '-'} ${status}${slug === undefined ? '' : ` ${slug}`}`,
    );
    const body =
      slug === undefined
        ? { session_id: 's', stream_id: 's', state: 'open', stored_bytes: stored, transcript_id: null }
        : { type: `urn:recount:problem:${slug}`, title: slug, status, detail: 'told by the test' };
    const type = slug === undefined ? 'application/json' : 'application/problem+json';
    response.writeHead(status, { 'content-type': type, 'recount-offset': String(stored) });
    response.end(request.method === 'HEAD' ? undefined : JSON.stringify(body));
  };

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const { refusal } = self;
    if (refusal !== undefined) return reply(request, response, refusal.status, refusal.slug, 0);
    if (request.method === 'HEAD') {
      const stream = streams.get(searchParams.get('stream') ?? '');
      return reply(request, response, stream === undefined ? 404 : 200, undefined, stream?.bytes.length ?? 0);
    }
    const { 'recount-stream': streamId = '', 'recount-offset': offset, 'recount-complete': complete } = request.headers;
    const id = String(streamId);
    const sessionId = decodeURIComponent(pathname.split('/')[3] ?? '');
    const stream = streams.get(id) ?? {
      sessionId,
      agent: searchParams.get('agent'),
      bytes: Buffer.alloc(0),
      end: undefined,
    };
    streams.set(id, stream);
    if (stream.sessionId === id) stream.sessionId = sessionId;
    if (closed.has(id)) return reply(request, response, 409, 'stream-closed', stream.bytes.length);
    let position = Number(offset);
    if (position > stream.bytes.length) return reply(request, response, 409, 'offset-mismatch', stream.bytes.length);
    const sent = request as AsyncIterable<Buffer>;
    const isChunked = request.headers['content-encoding'] === 'recount-chunked';
    for await (const chunk of isChunked ? decodeChunks(sent) : sent) {
      if (closed.has(id)) return reply(request, response, 409, 'stream-closed', stream.bytes.length);
      const known = Math.max(0, stream.bytes.length - position);
      stream.bytes = Buffer.concat([stream.bytes, chunk.subarray(known)]);
      position += chunk.length;
    }
    if (complete === '?1') {
      stream.end = {
        exitCode: request.headers['recount-exit-code'] as string | undefined,
        signal: request.headers['recount-exit-signal'] as string | undefined,
      };
    }
    reply(request, response, 200, undefined, stream.bytes.length);
  };

  const self: LiveServer = {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    streams,
    log,
    refusal: undefined,
    close: (streamId) => closed.add(streamId),
    async kill() {
      if (server === undefined) return;
      const ended = once(server, 'close');
      server.close();
      server.closeAllConnections();
      server = undefined;
      await ended;
    },
    async start() {
      // Broken requests are what the tests are about.
      server = createServer((request, response) => void receive(request, response).catch(() => undefined));
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      ({ port } = server.address() as AddressInfo);
    },
  };
  await self.start();
  return self;
}
