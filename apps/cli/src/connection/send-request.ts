import { once } from 'node:events';
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DeliveryError } from '@recount/collect/delivery-error';

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

interface HttpRequest {
  /** Default: GET. */
  method?: string;
  headers: Record<string, string>;
  body?: AsyncIterable<Uint8Array> | undefined;
  /** Sent after the body; called after its last byte. The header `trailer` must list them. */
  trailers?: (() => Record<string, string>) | undefined;
  signal?: AbortSignal | undefined;
}

/** A connection without progress for this long is aborted. */
const IDLE_TIMEOUT_MS = 120_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** An answer whose body is not read yet. */
interface OpenAnswer {
  response: IncomingMessage;
  /** Ends sending, if the answer came before the request was sent. */
  close(): Promise<void>;
}

/**
 * Sends a request whose body is read at the server's pace: `fetch` would load it all into memory. An answer that comes
 * before the body is sent stops sending. Rejects with a DeliveryError if the connection or the body breaks off, and
 * with the signal's reason if it aborts.
 */
export async function sendRequest(url: URL, request: HttpRequest): Promise<HttpAnswer> {
  const { response, close } = await openRequest(url, request);
  try {
    return { status: response.statusCode ?? 0, headers: response.headers, text: await readText(response) };
  } catch (cause) {
    request.signal?.throwIfAborted();
    throw toUnreachable(cause, url);
  } finally {
    await close();
  }
}

/**
 * The same, without reading the answer's body. It is read at the caller's pace, and ends with an error if it breaks.
 */
export async function openRequest(
  url: URL,
  { method = 'GET', headers, body, trailers, signal }: HttpRequest,
): Promise<OpenAnswer> {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const request = send(url, { method, headers, timeout: IDLE_TIMEOUT_MS, ...(signal && { signal }) });
  destroyWhenIdle(request);
  const answering = once(request, 'response') as Promise<[IncomingMessage]>;
  // Errors of the body destroy the request, which `answering` notices.
  const sending = body === undefined ? request.end() : sendBody(request, body, trailers).catch(() => undefined);
  const close = async (): Promise<void> => {
    // After the answer, errors of the connection no longer matter.
    request.on('error', () => undefined);
    if (!request.writableFinished) request.destroy();
    await sending;
  };
  try {
    const [response] = await answering;
    return { response, close };
  } catch (cause) {
    await close();
    signal?.throwIfAborted();
    throw toUnreachable(cause, url);
  }
}

/**
 * Ends a request without progress. A timer of the connection that ends sooner is not the request's, so it does not
 * count.
 */
function destroyWhenIdle(request: ClientRequest): void {
  const startedAtMs = performance.now();
  request.once('socket', (socket) => {
    const onTimeout = (): void => {
      if (performance.now() - startedAtMs < IDLE_TIMEOUT_MS) socket.setTimeout(IDLE_TIMEOUT_MS);
      else request.destroy(new Error(`no data for ${IDLE_TIMEOUT_MS / 1000} s`));
    };
    socket.on('timeout', onTimeout);
    request.once('close', () => socket.off('timeout', onTimeout));
  });
}

/** No answer came. */
function toUnreachable(cause: unknown, { origin }: URL): DeliveryError {
  // If a name has several addresses, the error holds one for each.
  const { code, message } = (cause instanceof AggregateError ? cause.errors[0] : cause) as NodeJS.ErrnoException;
  return new DeliveryError('unavailable', `Cannot reach ${origin} (${code ?? message})`, { cause });
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
