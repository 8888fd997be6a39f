import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyReply } from 'fastify';
import type { ApiApp } from '../api-dependencies.ts';
import { ProblemError } from '../problems/problem-error.ts';
import type { AnswerUnrouted } from './problem-answers.ts';
import { DASHBOARD_CONTENT_SECURITY_POLICY } from './security-headers.ts';

const PAGE = 'index.html';
const YEAR_SECONDS = 365 * 24 * 60 * 60;
/** Below these paths, missing files are a 404 even for browsers. */
const NO_PAGES = /^\/(v1|signed-in|shared|docs|assets|healthz|readyz|openapi\.json)(\/|$)/;

/**
 * Serves the files of the built dashboard, and its page for every other path that a browser opens. Client-side routing
 * decides whether that exists. Pages get their data from the API, with the signed-in user's secrets.
 */
export async function addDashboard(app: ApiApp, directory: string): Promise<AnswerUnrouted> {
  if (!existsSync(join(directory, PAGE))) {
    app.log.warn('no dashboard is built, so only the API is served. In a clone, `npm start` builds it');
    return ({ url }) => {
      if (url.split('?', 1)[0] !== '/') return undefined;
      throw new ProblemError(
        'not-found',
        'No dashboard is built here. In a clone, `npm start` builds it. See also /docs',
      );
    };
  }
  // No path of a request is looked up in the file system.
  const files = new Set(
    readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/')),
  );
  await app.register(fastifyStatic, { root: directory, serve: false, preCompressed: true, cacheControl: false });
  const send = (reply: FastifyReply, name: string, cacheControl: string): FastifyReply => {
    reply.code(200).header('content-security-policy', DASHBOARD_CONTENT_SECURITY_POLICY);
    return reply.header('cache-control', cacheControl).sendFile(name);
  };
  return ({ method, url, headers }, reply) => {
    const [path = ''] = url.split('?', 1);
    if (method !== 'GET' && method !== 'HEAD') return undefined;
    const name = path.slice(1);
    // Names of assets contain a hash of their content.
    if (/^assets\/[\w.-]+$/.test(name) && files.has(name))
      return send(reply, name, `public, max-age=${YEAR_SECONDS}, immutable`);
    if (/^[\w-]+\.svg$/.test(name) && files.has(name)) return send(reply, name, 'public, no-cache');
    const isPage = path === '/' || /\btext\/html\b/.test(headers.accept ?? '');
    if (NO_PAGES.test(path) || !isPage) return undefined;
    return send(reply, PAGE, 'no-cache');
  };
}
