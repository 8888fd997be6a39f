import { whoamiSchema } from '@recount/contract';
import { findCurrencyLabel, findWorkspaceName } from '@recount/db';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { KEY_COOKIE, readApiKey, readBearerToken, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { createSignInLinks } from '../plugins/sign-in-links.ts';
import { ProblemError } from '../problems/problem-error.ts';

const COOKIE_MAX_AGE_SECONDS = 30 * 24 * 60 * 60;
const nothing = z.undefined();

/** Signs a browser in to the dashboard: its API key becomes a cookie that scripts cannot read. */
export function addSignInRoutes(app: ApiApp, deps: Pick<ApiDependencies, 'database' | 'signInLinks'>): void {
  const links = deps.signInLinks ?? createSignInLinks();

  app.post(
    '/v1/sign-in',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'signIn',
        summary: 'Sign in to the dashboard with an API key',
        description: 'Sets a cookie with the key of this request: httpOnly, SameSite=Strict, for 30 days.',
        tags: ['operations'],
        response: { 204: nothing.describe('Signed in') },
      },
    },
    (request, reply) => setKeyCookie(request, reply, readApiKey(request) ?? ''),
  );

  app.post(
    '/v1/sign-in/link',
    {
      schema: {
        operationId: 'signInByLink',
        summary: 'Sign in to the dashboard with the code of a link',
        description: 'The code, which works once, comes as `Authorization: Bearer <code>`: `recount up` prints one.',
        tags: ['operations'],
        response: { 204: nothing.describe('Signed in'), 401: problemResponse('No code, or one that is used up') },
      },
    },
    (request, reply) => {
      const apiKey = links.redeem(readBearerToken(request.headers.authorization) ?? '');
      if (apiKey === undefined) throw new ProblemError('invalid-key', 'The link was used already, or has expired');
      return setKeyCookie(request, reply, apiKey);
    },
  );

  app.post(
    '/v1/sign-out',
    {
      schema: {
        operationId: 'signOut',
        summary: 'Sign out of the dashboard',
        tags: ['operations'],
        response: { 204: nothing.describe('The cookie is gone') },
      },
    },
    (_request, reply) => reply.clearCookie(KEY_COOKIE, { path: '/v1' }).code(204).send(),
  );

  app.get(
    '/v1/whoami',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getWhoami',
        summary: 'Read whose key it is, and what it may do',
        tags: ['operations'],
        response: { 200: whoamiSchema },
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const { keyId = '', scopes = [], expiresAt = null } = request.keyHolder ?? {};
      const { database } = deps.database;
      return {
        workspace_id: workspaceId,
        workspace: (await findWorkspaceName(database, workspaceId)) ?? workspaceId,
        key_id: keyId,
        scopes,
        expires_at: expiresAt,
        currency_label: (await findCurrencyLabel(database, workspaceId)) ?? 'USD',
        version: packageJson.version,
      };
    },
  );
}

/**
 * Only below /v1: no file needs it, and programs on other ports of this host, to which browsers send it too, hardly
 * ever see it.
 */
function setKeyCookie(request: FastifyRequest, reply: FastifyReply, apiKey: string): FastifyReply {
  const secure = request.protocol === 'https';
  const options = { path: '/v1', httpOnly: true, sameSite: 'strict' as const, secure, maxAge: COOKIE_MAX_AGE_SECONDS };
  return reply.header('cache-control', 'no-store').setCookie(KEY_COOKIE, apiKey, options).code(204).send();
}
