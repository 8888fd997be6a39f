import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiApp } from '../api-dependencies.ts';
import { ProblemError } from '../problems/problem-error.ts';

const RATE_WINDOW_MS = 60_000;

/** A hook that refuses more than `max` requests a minute, from one address or `by` something else, with 429. */
export function createMinuteLimit(app: ApiApp, max: number, by?: (request: FastifyRequest) => string) {
  let count: ReturnType<ApiApp['createRateLimit']> | undefined;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.header('cache-control', 'no-store');
    // Created on the first request, because the program that writes the API's documentation has no limiter.
    count ??= app.createRateLimit({ max, timeWindow: RATE_WINDOW_MS, ...(by && { keyGenerator: by }) });
    const counted = await count(request);
    if (counted.isAllowed || !counted.isExceeded) return;
    const headers = { 'retry-after': String(counted.ttlInSeconds) };
    throw new ProblemError('too-many-requests', `At most ${max} requests a minute from one ${by ? 'key' : 'address'}`, {
      headers,
    });
  };
}
