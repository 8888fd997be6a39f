import type { Readable } from 'node:stream';
import { PROBLEMS, type ProblemSlug } from '@recount/contract';
import { findLiveStream, type LiveStreamRow } from '@recount/db';
import {
  createLiveBudget,
  createOverlap,
  type LiveDependencies,
  LiveError,
  type LiveErrorCode,
  type LiveRequest,
  type LiveWriter,
  openLiveWriter,
  readStoredStream,
  settleLiveStream,
} from '@recount/ingest';
import type { LiveConfig } from '../config.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { toAborted } from '../uploads/read-body.ts';
import type { LiveDecoder } from './decode-chunks.ts';

const SLUGS: Record<LiveErrorCode, ProblemSlug> = {
  'too-many-streams': 'too-many-streams',
  'wrong-session': 'invalid-request',
  'offset-mismatch': 'offset-mismatch',
  'different-bytes': 'stream-conflict',
  closed: 'stream-closed',
  'taken-over': 'stream-taken-over',
  'too-large': 'stream-too-large',
  'no-memory': 'too-many-streams',
};

const RETRY_AFTER_SECONDS = '5';

function toLiveProblem({ code, message, storedBytes }: LiveError): ProblemError {
  const slug = SLUGS[code];
  const headers: Record<string, string> = {};
  if (storedBytes !== undefined) headers['recount-offset'] = String(storedBytes);
  if (PROBLEMS[slug].status === 429) headers['retry-after'] = RETRY_AFTER_SECONDS;
  return new ProblemError(slug, message, { headers });
}

interface LiveBodyOptions {
  /** Longest silence, in milliseconds. */
  idleTimeoutMs: number;
  /** Rejects with the reason to stop reading the body. */
  stopped: Promise<never>;
}

/** Nothing was received for `idleTimeoutMs`. */
class SilentBodyError extends Error {
  override name = 'SilentBodyError';
}

/**
 * The bytes of a request that may last for hours, as they arrive. Throws SilentBodyError, the reason for stopping, or
 * the stream's own errors. Leaves the stream open, because the connection is still needed for the answer.
 */
async function* readLiveBody(stream: Readable, options: LiveBodyOptions): AsyncGenerator<Buffer> {
  const chunks = stream.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const step = await waitForChunk(chunks.next(), options);
      if (step.done) return;
      yield step.value;
    }
  } finally {
    // Not awaited, because a read may be pending.
    chunks.return?.().catch(() => undefined);
  }
}

async function waitForChunk<T>(next: Promise<T>, { idleTimeoutMs, stopped }: LiveBodyOptions): Promise<T> {
  const { promise: silent, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new SilentBodyError('Nothing came')), idleTimeoutMs);
  // If the other promise wins, this one has no observer.
  next.catch(() => undefined);
  try {
    return await Promise.race([next, silent, stopped]);
  } finally {
    clearTimeout(timer);
  }
}

interface LiveUpload extends LiveRequest {
  body: Readable;
  decode: LiveDecoder;
  /** Set if the agent has ended, with its exit code or signal if known. */
  completion: { exitCode?: number | undefined; exitSignal?: string | undefined } | undefined;
}

type LiveReception = Pick<LiveStreamRow, 'state' | 'stored_bytes' | 'transcript_id'>;

interface LiveReceiver {
  /** Stores a body until it ends. Throws ProblemError, and errors of the database and raw store. */
  receive(upload: LiveUpload): Promise<LiveReception>;
  /** Stores what has arrived of the current bodies, and ends their requests. Their clients continue elsewhere. */
  stop(): void;
}

export function createLiveReceiver(deps: LiveDependencies, config: LiveConfig): LiveReceiver {
  const limits = { maxOpenStreams: config.maxOpenStreams, maxBytes: config.maxStreamBytes };
  const budget = createLiveBudget(config.maxHeldBytes);
  /** Ends a stream's current request when another one comes, because its client may be long gone. */
  const underWay = new Map<string, (reason: Error) => void>();

  const receiveOpen = async (upload: LiveUpload, writer: LiveWriter): Promise<LiveReception> => {
    const name = `${upload.workspaceId}/${upload.streamId}`;
    const { promise: stopped, reject: stop } = Promise.withResolvers<never>();
    stopped.catch(() => undefined);
    writer.failed.catch(stop);
    underWay.get(name)?.(new LiveError('taken-over', 'Another request continues the stream'));
    underWay.set(name, stop);
    try {
      await appendAll(upload, writer, { idleTimeoutMs: config.idleTimeoutMs, stopped });
    } catch (error) {
      if (!(error instanceof SilentBodyError)) throw error;
      await writer.end({ silentMs: config.idleTimeoutMs });
      throw new ProblemError(
        'upload-idle',
        `No data for ${config.idleTimeoutMs} milliseconds, so the stream is closed`,
      );
    } finally {
      if (underWay.get(name) === stop) underWay.delete(name);
    }
    const { completion } = upload;
    if (completion === undefined) {
      await writer.flush();
      return { state: 'open', stored_bytes: writer.storedBytes, transcript_id: null };
    }
    return await writer.end({ exit: toExit(completion) });
  };

  return {
    async receive(upload) {
      const share = budget.open();
      try {
        const writer = await openOrAnswer(deps, upload, { ...limits, share });
        return 'append' in writer ? await receiveOpen(upload, writer) : writer;
      } catch (error) {
        throw error instanceof LiveError ? toLiveProblem(error) : error;
      } finally {
        share.release();
      }
    },
    stop() {
      const headers = { 'retry-after': '1' };
      const reason = new ProblemError('not-ready', 'The server is stopping. Continue the stream on another one', {
        headers,
      });
      for (const stop of underWay.values()) stop(reason);
    },
  };
}

/**
 * A writer; or the result of an ended stream, if the request only repeats its end. Its bytes are a transcript then. If
 * an earlier request could not store them, this one does.
 */
async function openOrAnswer(
  deps: LiveDependencies,
  upload: LiveUpload,
  limits: Parameters<typeof openLiveWriter>[2],
): Promise<LiveWriter | LiveReception> {
  try {
    return await openLiveWriter(deps, upload, limits);
  } catch (error) {
    if (!(error instanceof LiveError) || error.code !== 'closed' || upload.completion === undefined) throw error;
    const stream = await findLiveStream(deps.database.database, upload);
    if (stream === undefined || upload.offset > stream.stored_bytes) throw error;
    const overlap = createOverlap(readStoredStream(deps, stream, upload.offset), stream.stored_bytes - upload.offset);
    for await (const chunk of upload.decode(upload.body)) {
      if ((await overlap.take(chunk)).length > 0) throw error;
    }
    if (overlap.leftBytes > 0) throw error;
    return await settleLiveStream(deps, stream);
  }
}

/** Everything received before a failure is stored. */
async function appendAll(
  { body, decode }: LiveUpload,
  writer: LiveWriter,
  options: Parameters<typeof readLiveBody>[1],
): Promise<void> {
  try {
    for await (const chunk of decode(readLiveBody(body, options))) await writer.append(chunk);
  } catch (error) {
    if (error instanceof LiveError || error instanceof SilentBodyError) throw error;
    await writer.flush();
    throw body.errored === error ? toAborted(error) : error;
  }
}

function toExit(completion: NonNullable<LiveUpload['completion']>) {
  const { exitCode, exitSignal } = completion;
  if (exitCode === undefined && exitSignal === undefined) return undefined;
  return { exitCode: exitCode ?? null, signal: exitSignal ?? null };
}
