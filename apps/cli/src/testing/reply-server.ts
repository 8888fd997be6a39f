import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ReplyServer {
  url: string;
  /** Method and path of each request, in order. */
  requests: string[];
}

/** An HTTP server that answers as `reply` says; it is closed after the test. */
export async function startReplyServer(
  reply: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<ReplyServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    reply(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

export function replyJson(
  response: ServerResponse,
  body: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): void {
  const type = status < 400 ? 'application/json; charset=utf-8' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type, ...headers }).end(JSON.stringify(body));
}
