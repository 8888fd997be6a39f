import type { Readable } from 'node:stream';
import { ProblemError } from '../problems/problem-error.ts';

export interface BodyLimits {
  /** Longest silence of the client, in milliseconds. */
  idleTimeoutMs: number;
  /** Bytes that may still come, over all streams that share these limits. */
  remainingBytes: number;
  /** The total time, in milliseconds, to wait for the client; every byte received adds to it. */
  patienceMs: number;
}

/** Otherwise a client that sends very slowly would hold an upload slot forever; a slower link is useless. */
const MIN_BYTES_PER_SECOND = 1024;
/** Slower clients are disconnected after about this time. */
export const MAX_PATIENCE_MS = 10 * 60_000;

/**
 * The bytes of a request or a part, as they arrive. Throws ProblemError if the client is silent for too long or sends
 * too much, and errors that `toProblem` makes of the stream's own. Does not destroy the stream when left early, because
 * the connection is still needed for the answer, and later parts may be needed.
 */
export async function* readBody(
  stream: Readable,
  limits: BodyLimits,
  toProblem: (cause: unknown) => ProblemError = toAborted,
): AsyncGenerator<Buffer> {
  const chunks = stream.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const next = chunks.next().catch((cause: unknown) => Promise.reject(toProblem(cause)));
      const step = await waitForClient(next, limits);
      if (step.done) return;
      const { length } = step.value;
      limits.patienceMs = Math.min(MAX_PATIENCE_MS, limits.patienceMs + (length * 1000) / MIN_BYTES_PER_SECOND);
      limits.remainingBytes -= length;
      if (limits.remainingBytes < 0) {
        throw new ProblemError('transcript-too-large', 'The request is larger than allowed');
      }
      yield step.value;
    }
  } finally {
    // Not awaited, because after a timeout, the previous read is still pending.
    chunks.return?.().catch(() => undefined);
  }
}

/** The client, or a proxy, closed the connection. */
export function toAborted(cause: unknown): ProblemError {
  return new ProblemError('upload-aborted', 'The connection ended before the body was complete', { cause });
}

/**
 * Throws ProblemError `upload-idle` if nothing arrives in time, or too little has arrived; the promise is then
 * abandoned. Only the time spent here counts, because a slow store is not the client's fault.
 */
export async function waitForClient<T>(
  promise: Promise<T>,
  limits: Pick<BodyLimits, 'idleTimeoutMs' | 'patienceMs'>,
): Promise<T> {
  const { idleTimeoutMs, patienceMs } = limits;
  const startedAtMs = performance.now();
  const { promise: idle, reject } = Promise.withResolvers<never>();
  const isSlow = patienceMs < idleTimeoutMs;
  const timer = setTimeout(
    () => reject(isSlow ? toTooSlow() : new ProblemError('upload-idle', `No data for ${idleTimeoutMs} milliseconds`)),
    isSlow ? patienceMs : idleTimeoutMs,
  );
  // If the timer wins, the promise has no observer. Its failure must not count as unhandled.
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, idle]);
  } finally {
    clearTimeout(timer);
    limits.patienceMs -= performance.now() - startedAtMs;
  }
}

function toTooSlow(): ProblemError {
  return new ProblemError('upload-idle', `Less than ${MIN_BYTES_PER_SECOND} bytes a second came for too long`);
}
