import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { ApiApp } from '../api-dependencies.ts';
import type { ApiMetrics } from '../metrics/metrics.ts';
import { toLogReason } from '../problems/problem-error.ts';

/**
 * The fields that a request's log lines may have. All others are dropped. Plugins log headers, including the key, and
 * file names.
 */
const FIELDS: ReadonlySet<string> = new Set([
  'err',
  'method',
  'route',
  'status',
  'durationMs',
  'workspaceId',
  'keyId',
  'transcriptId',
  'sizeBytes',
  'isDuplicate',
  'problem',
  'reason',
]);

/** A logger for the framework, its plugins and the routes; it drops error messages that may quote the request. */
export function createFrameworkLog(log: Logger): FastifyBaseLogger {
  const formatters = {
    log: (fields: object): object => Object.fromEntries(Object.entries(fields).filter(([name]) => FIELDS.has(name))),
  };
  return log.child({}, { formatters, serializers: { err: toLogReason } }) as FastifyBaseLogger;
}

export const REQUEST_ID_HEADER = 'x-request-id';

/** Request ids that may be logged and sent unchanged. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._~:/+=-]{1,128}$/;

/** The client's X-Request-Id if it is well-formed, else a new one. */
export function toRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[REQUEST_ID_HEADER];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
}

export function addRequestId(app: ApiApp): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID_HEADER, request.id);
  });
}

/** The status that web servers log if a client left before the answer was sent. */
const CLIENT_CLOSED_STATUS = 499;

/**
 * One log line and one observation for each request, when its answer is sent or its client gone. Uses the route's
 * pattern instead of the URL: paths, queries and prompts are private.
 */
export function addRequestLog(app: ApiApp, metrics: Pick<ApiMetrics, 'observeRequest'>): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.raw.once('close', () => {
      const status = isAnswered(reply) ? reply.statusCode : CLIENT_CLOSED_STATUS;
      const route = toRouteName(request);
      const durationMs = reply.elapsedTime;
      metrics.observeRequest({ method: request.method, route, status }, durationMs / 1000);
      const { workspaceId, keyId } = request.keyHolder ?? {};
      const fields = { method: request.method, route, status, durationMs: Math.round(durationMs), workspaceId, keyId };
      // Health probes and page loads are frequent and uninteresting.
      const isQuiet = request.routeOptions.config.scope === undefined && status < 400;
      request.log[isQuiet ? 'debug' : 'info'](fields, 'request');
    });
  });
}

/**
 * A problem counts as answered once it has been started, because a client that is still sending hangs up as soon as it
 * has read it.
 */
const isAnswered = ({ raw, statusCode }: FastifyReply): boolean =>
  raw.writableFinished || (raw.headersSent && statusCode >= 400);

const toRouteName = ({ is404, routeOptions }: FastifyRequest): string =>
  is404 ? 'unmatched' : (routeOptions.url ?? 'unmatched');
