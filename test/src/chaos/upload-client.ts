import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { Tally } from './tally.ts';
import type { PlannedUpload } from './uploads.ts';

export interface ClientOptions {
  baseUrl: string;
  key: string;
  /** Answers by status, and broken connections. */
  answers: Tally;
}

export interface Receipt {
  transcriptId: string;
  sessionId: string;
  /** The outcome for the bytes: `stored`, or for existing ones `duplicate` or `healed`. */
  rawObject: string | undefined;
}

export interface UploadResult {
  /** Of all its bytes. */
  sha256: string;
  /** Undefined if the client gave up. */
  receipt: Receipt | undefined;
}

const CHUNK_BYTES = 64 * 1024;
const REQUEST_TIMEOUT_MS = 60_000;
const MAX_RETRY_PAUSE_MS = 800;
/** Statuses where a client may retry unchanged. */
const RETRYABLE = new Set([408, 429, 500, 502, 503, 504]);

/** Uploads until it is acknowledged, or once if the plan is to give up; throws if the server rejects it permanently. */
export async function upload(options: ClientOptions, planned: PlannedUpload): Promise<UploadResult> {
  const plain = planned.read();
  const sha256 = createHash('sha256').update(plain).digest('hex');
  const body = compress(plain, planned.encoding);
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send(options, planned, body).catch(() => undefined);
    options.answers.add(answer === undefined ? 'broken off' : String(answer.status));
    if (planned.givesUpAfter !== undefined) return { sha256, receipt: undefined };
    if (answer?.status === 200 || answer?.status === 202) {
      const { transcript_id, session_id, raw_object } = JSON.parse(answer.body) as Record<string, string>;
      if (transcript_id !== undefined && session_id !== undefined) {
        return { sha256, receipt: { transcriptId: transcript_id, sessionId: session_id, rawObject: raw_object } };
      }
    }
    if (answer !== undefined && !RETRYABLE.has(answer.status)) {
      throw new Error(`The API refused an upload: ${answer.status} ${answer.body}`);
    }
    await sleep(Math.min(MAX_RETRY_PAUSE_MS, 50 * 2 ** attempt));
  }
}

function compress(bytes: Buffer, encoding: PlannedUpload['encoding']): Buffer {
  if (encoding === 'gzip') return gzipSync(bytes, { level: 1 });
  return encoding === 'zstd' ? zstdCompressSync(bytes) : bytes;
}

async function send(
  { baseUrl, key }: ClientOptions,
  { path, sessionId, encoding, pauseMs, givesUpAfter = 1 }: PlannedUpload,
  body: Buffer,
): Promise<{ status: number; body: string }> {
  const url = new URL('/v1/transcripts', baseUrl);
  if (path !== undefined) url.searchParams.set('path', path);
  if (sessionId !== undefined) url.searchParams.set('session_id', sessionId);
  const outgoing = request(url, {
    method: 'POST',
    agent: false,
    timeout: REQUEST_TIMEOUT_MS,
    headers: {
      authorization: `Bearer ${key}`,
      'content-length': body.length,
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    },
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
  const answering = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  answering.catch(() => undefined);
  async function* chunks(): AsyncGenerator<Buffer> {
    const end = Math.floor(body.length * givesUpAfter);
    for (let start = 0; start < end; start += CHUNK_BYTES) {
      yield body.subarray(start, Math.min(start + CHUNK_BYTES, end));
      if (pauseMs > 0) await sleep(pauseMs);
    }
    if (givesUpAfter < 1) throw new Error('given up');
  }
  const sending = pipeline(Readable.from(chunks()), outgoing).catch(() => undefined);
  try {
    const [incoming] = await answering;
    return { status: incoming.statusCode ?? 0, body: await text(incoming) };
  } finally {
    outgoing.on('error', () => undefined);
    if (!outgoing.writableFinished) outgoing.destroy();
    await sending;
  }
}

export const CHAOS_WORKSPACE = '01J0000000000000000000000A';

/** An upload that a client sent, and the answer. */
export interface Attempted extends UploadResult {
  planned: PlannedUpload;
}
