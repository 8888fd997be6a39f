import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** An action on a request instead of passing it on unchanged. */
export type Fault =
  | { kind: 'answer'; status: number; body: string }
  /** The server handles the request, but the connection breaks before its answer. */
  | { kind: 'lose-answer' }
  /** Half of the answer's body arrives, then the connection breaks, or goes silent. */
  | { kind: 'cut-body' | 'stall-body' }
  /** Neither the server nor the client hears anything; with `reset`, the connection is reset immediately. */
  | { kind: 'ignore' | 'reset' }
  /** Passed on unchanged, but later. */
  | { kind: 'delay'; delayMs: number };

export interface S3Proxy {
  url: string;
  /** Ids of multipart uploads that were begun, but neither completed nor aborted. */
  openUploads: ReadonlySet<string>;
  /** Called for each request, as `GET /bucket/key?query`. Replaces the previous callback. */
  onRequest(chooseFault: (request: string) => Fault | undefined): void;
  stop(): Promise<void>;
}

export const s3ErrorAnswer = (status: number, code: string): Fault => ({
  kind: 'answer',
  status,
  body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>injected</Message></Error>`,
});

/** An HTTP proxy in front of an S3 server that tracks multipart uploads and injects the faults that a test asks for. */
export async function startS3Proxy(target: string): Promise<S3Proxy> {
  const openUploads = new Set<string>();
  let chooseFault: (request: string) => Fault | undefined = () => undefined;

  async function handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const fault = chooseFault(`${incoming.method} ${incoming.url}`);
    if (fault?.kind === 'ignore') return;
    if (fault?.kind === 'reset') {
      answer.destroy();
      return;
    }
    if (fault?.kind === 'delay') await sleep(fault.delayMs);
    if (fault?.kind === 'answer') {
      answer.writeHead(fault.status, { 'content-type': 'application/xml' }).end(fault.body);
      return;
    }
    const upstream = await forward(target, incoming, body);
    trackUploads(openUploads, incoming, upstream);
    if (fault?.kind === 'lose-answer') {
      answer.destroy();
      return;
    }
    answer.writeHead(upstream.status, upstream.headers);
    if (fault === undefined || fault.kind === 'delay') {
      answer.end(upstream.body);
      return;
    }
    answer.write(upstream.body.subarray(0, upstream.body.length / 2), () => {
      if (fault.kind === 'cut-body') answer.destroy();
    });
  }

  const server = createServer((incoming, answer) => {
    handle(incoming, answer).catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    openUploads,
    onRequest: (choose) => {
      chooseFault = choose;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

function forward(target: string, incoming: IncomingMessage, body: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method, headers } = incoming;
    const outgoing = request(new URL(incoming.url ?? '/', target), { method, headers, agent: false }, (answer) => {
      const toAnswer = (answerBody: Buffer) => ({
        status: answer.statusCode ?? 500,
        headers: answer.headers,
        body: answerBody,
      });
      buffer(answer).then(toAnswer).then(resolve, reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function trackUploads(openUploads: Set<string>, { method, url = '' }: IncomingMessage, { status, body }: Answer): void {
  if (status >= 300) return;
  const { searchParams } = new URL(url, 'http://proxy');
  const begun = method === 'POST' && searchParams.has('uploads') && /<UploadId>(.+)<\/UploadId>/.exec(body.toString());
  if (begun) openUploads.add(begun[1] ?? '');
  if (method === 'POST' || method === 'DELETE') openUploads.delete(searchParams.get('uploadId') ?? '');
}
