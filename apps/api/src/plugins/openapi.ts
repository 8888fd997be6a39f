import { PROBLEM_MEDIA_TYPE, problemSchema } from '@recount/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodType } from 'zod';
import type { ApiApp } from '../api-dependencies.ts';
import { ProblemError } from '../problems/problem-error.ts';
import type { DocumentedRoute } from './documentation.ts';

/** The documentation of an answer that is not JSON. */
export const toResponse = (description: string, mediaType: string, schema: ZodType) => ({
  description,
  content: { [mediaType]: { schema } },
});

/** The documentation of a problem. */
export const problemResponse = (description: string, schema: ZodType = problemSchema) =>
  toResponse(description, PROBLEM_MEDIA_TYPE, schema);

/** Of the connection, or said of the answer by whoever sends it on. */
const HEADERS_OF_ONE_HOP = ['connection', 'keep-alive', 'date', 'transfer-encoding'];

/**
 * Serves /openapi.json and the pages at /docs, which need nothing from elsewhere. Before any route is added. What makes
 * them is loaded and run when they are first asked for: few API processes ever are, and it takes 10 MB.
 */
export function addOpenapi(app: ApiApp, version: string): void {
  const routes: DocumentedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    if (schema?.hide !== true) routes.push({ method, url, ...(schema && { schema }), ...(config && { config }) });
  });
  const create = async (): Promise<FastifyInstance> => {
    const { createDocumentation } = await import('./documentation.ts');
    return await createDocumentation({ routes, version, log: app.log });
  };
  let documentation: Promise<FastifyInstance> | undefined;
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    documentation ??= create().catch((error: unknown) => {
      documentation = undefined;
      throw error;
    });
    const { 'if-none-match': etags, 'if-modified-since': since } = request.headers;
    const headers = { ...(etags && { 'if-none-match': etags }), ...(since && { 'if-modified-since': since }) };
    const response = await (await documentation).inject({ method: 'GET', url: request.url, headers });
    const { statusCode, rawPayload } = response;
    if (statusCode >= 500) throw new Error(`The documentation failed with status ${statusCode}`);
    if (statusCode >= 400) throw new ProblemError('not-found', 'There is nothing at this path');
    for (const name of HEADERS_OF_ONE_HOP) delete response.headers[name];
    return reply
      .code(statusCode)
      .headers(response.headers)
      .send(rawPayload.length > 0 ? rawPayload : undefined);
  };
  for (const path of ['/openapi.json', '/docs', '/docs/*']) app.get(path, { schema: { hide: true } }, answer);
}
