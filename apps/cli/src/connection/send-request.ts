import { once } from 'node:events';
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

interface HttpRequest {
  method: string;
  headers: Record<string, string>;
  body: AsyncIterable<Uint8Array> | undefined;
  /** Sent after the body; called after its last byte. The header `trailer` must list them. */
  trailers?: (() => Record<string, string>) | undefined;
  signal: AbortSignal | undefined;
}

/** A connection without progress for this long is aborted. */
const IDLE_TIMEOUT_MS = 120_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Sends a request whose body is read at the server's pace: `fetch` would load it all into memory. An answer that comes
 * before the body is sent stops sending. Rejects if the connection or the body breaks off, or the signal aborts.
 */
export async function sendRequest(
  url: URL,
  { method, headers, body, trailers, signal }: HttpRequest,
): Promise<HttpAnswer> {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const request = send(url, { method, headers, timeout: IDLE_TIMEOUT_MS, ...(signal && { signal }) });
  request.on('timeout', () => request.destroy(new Error(`no data for ${IDLE_TIMEOUT_MS / 1000} s`)));
  const answering = once(request, 'response') as Promise<[IncomingMessage]>;
  // Errors of the body destroy the request, which `answering` notices.
  const sending = body === undefined ? request.end() : sendBody(request, body, trailers).catch(() => undefined);
  try {
    const [response] = await answering;
    const text = await readText(response);
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  } finally {
    // After the answer, errors of the connection no longer matter.
    request.on('error', () => undefined);
    if (!request.writableFinished) request.destroy();
    await sending;
  }
}

async function sendBody(
  request: ClientRequest,
  body: AsyncIterable<Uint8Array>,
  trailers: HttpRequest['trailers'],
): Promise<void> {
  if (trailers === undefined) return await pipeline(toReadable(body), request);
  await pipeline(toReadable(body), request, { end: false });
  request.addTrailers(trailers());
  request.end();
}

function toReadable(body: AsyncIterable<Uint8Array>): Readable {
  return body instanceof Readable ? body : Readable.from(body, { objectMode: false });
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new Error('the answer is too long');
  }
  return Buffer.concat(chunks).toString('utf8');
}
