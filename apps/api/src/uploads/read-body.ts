import type { Readable } from 'node:stream';
import { ProblemError } from '../problems/problem-error.ts';

export interface BodyLimits {
  /** Longest silence of the client, in milliseconds. */
  idleTimeoutMs: number;
  /** Bytes that may still come, over all streams that share these limits. */
  remainingBytes: number;
}

/**
 * The bytes of a request or of a part of it, as they come. Throws ProblemError where the client is silent for too long or
 * sends too much, and what `toProblem` makes of the stream's own errors. Does not destroy the stream when it is left
 * early: the connection is still needed for the answer, and the parts behind may be wanted.
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
      const step = await withIdleTimeout(next, limits.idleTimeoutMs);
      if (step.done) return;
      limits.remainingBytes -= step.value.length;
      if (limits.remainingBytes < 0) {
        throw new ProblemError('transcript-too-large', 'The request is larger than allowed');
      }
      yield step.value;
    }
  } finally {
    // Not awaited: after a timeout, the read before it is still pending.
    chunks.return?.().catch(() => undefined);
  }
}

/** The client, or something between, closed the connection. */
export function toAborted(cause: unknown): ProblemError {
  return new ProblemError('upload-aborted', 'The connection ended before the body was complete', { cause });
}

/** Throws ProblemError `upload-idle` where nothing comes in time; the promise is then left to itself. */
export async function withIdleTimeout<T>(promise: Promise<T>, idleTimeoutMs: number): Promise<T> {
  const { promise: idle, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new ProblemError('upload-idle', `Nothing came for ${idleTimeoutMs} milliseconds`)),
    idleTimeoutMs,
  );
  // Where the timer wins, nobody else waits for the promise: its failure must not count as unhandled.
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, idle]);
  } finally {
    clearTimeout(timer);
  }
}
