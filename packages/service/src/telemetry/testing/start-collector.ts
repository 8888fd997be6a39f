import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface CollectedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  status: { code?: number; message?: string };
  attributes: Record<string, unknown>;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** Request bodies as received. */
  bodies: string[];
  close(): void;
}

/** Accepts OTLP over HTTP and answers with `status`. */
export async function startCollector(status = 200): Promise<Collector> {
  const bodies: string[] = [];
  const spans: CollectedSpan[] = [];
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString();
    bodies.push(text);
    for (const { scopeSpans } of JSON.parse(text).resourceSpans) {
      for (const scope of scopeSpans) spans.push(...scope.spans.map(toCollectedSpan));
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, spans, bodies, close: () => void server.close() };
}

type SentSpan = Omit<CollectedSpan, 'attributes'> & { attributes: { key: string; value: Record<string, unknown> }[] };

function toCollectedSpan({ attributes, ...span }: SentSpan): CollectedSpan {
  const entries = attributes.map(({ key, value }) => [key, Object.values(value)[0]] as const);
  return { ...span, attributes: Object.fromEntries(entries) };
}
