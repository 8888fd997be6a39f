import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiApp } from '../api-dependencies.ts';
import type { ApiMetrics } from './metrics.ts';

/** What web servers log for a client that went away before the answer was out. */
const CLIENT_CLOSED_STATUS = 499;

/**
 * One log line and one observation a request, when its answer is out or its client gone. The route's pattern stands for
 * the URL: paths, queries and prompts are private.
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
      // Probes and pages come often and tell little.
      const isQuiet = request.routeOptions.config.scope === undefined && status < 400;
      request.log[isQuiet ? 'debug' : 'info'](fields, 'request');
    });
  });
}

/** A problem counts as answered once it is under way: a client that still sends hangs up as soon as it has read it. */
const isAnswered = ({ raw, statusCode }: FastifyReply): boolean =>
  raw.writableFinished || (raw.headersSent && statusCode >= 400);

const toRouteName = ({ is404, routeOptions }: FastifyRequest): string =>
  is404 ? 'unmatched' : (routeOptions.url ?? 'unmatched');
