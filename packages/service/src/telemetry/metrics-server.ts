import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Registry } from 'prom-client';

const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 100;

/**
 * Serves GET /metrics without authentication, so it must be on loopback or a private network. Throws if the port is in
 * use.
 */
export async function startMetricsServer(
  { registry }: { registry: Registry },
  { host, port }: { host: string; port: number },
): Promise<{ close(): Promise<void> }> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('request', (request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404, { connection: 'close' }).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
