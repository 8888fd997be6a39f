import { signedInSchema, whoamiSchema } from '@recount/contract';
import {
  createSignIn,
  findCurrencyLabel,
  findKeyHolder,
  findWorkspaceName,
  hashApiKey,
  SIGN_IN_MAX_AGE_S,
  signOut,
} from '@recount/db';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { toBrowserName } from '../http/browser-name.ts';
import { createSignInLinks } from '../http/sign-in-links.ts';
import { hasScope, workspaceOf } from '../plugins/authentication.ts';
import {
  clearSignInCookie,
  readBearerToken,
  readCredential,
  readSignIn,
  setSignInCookie,
} from '../plugins/credentials.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const nothing = z.undefined();

/** A key, and the secret of it that a browser sends. */
type SignedInKey = Omit<Parameters<typeof createSignIn>[1], 'browser'>;

const SIGN_IN = {
  config: { scope: 'read' },
  schema: {
    operationId: 'signIn',
    summary: 'Sign in to the dashboard with an API key',
    description:
      'Sets a cookie with its own secret, not the key. It is httpOnly, SameSite=Strict, sent to `/signed-in/<page>` only, for 30 days, or 7 days without use. It ends with the key.',
    tags: ['operations'],
    response: { 200: signedInSchema },
  },
} as const;

const SIGN_IN_BY_LINK = {
  schema: {
    operationId: 'signInByLink',
    summary: 'Sign in to the dashboard with the code of a link',
    description: 'The code, which works once, comes as `Authorization: Bearer <code>`: `recount up` prints one.',
    tags: ['operations'],
    response: { 200: signedInSchema, 401: problemResponse('No code, or one that is used up') },
  },
} as const;

const SIGN_OUT = {
  schema: {
    operationId: 'signOut',
    summary: 'Sign out of the dashboard',
    tags: ['operations'],
    response: { 204: nothing.describe('You are no longer signed in with these secrets') },
  },
} as const;

const GET_WHOAMI = {
  config: { scope: 'read' },
  schema: {
    operationId: 'getWhoami',
    summary: 'Read whose key it is, and what it may do',
    tags: ['operations'],
    response: { 200: whoamiSchema },
  },
} as const;

/** Signs a browser in to the dashboard. It sends its API key once, and gets two secrets . */
export function addSignInRoutes(app: ApiApp, deps: Pick<ApiDependencies, 'database' | 'signInLinks'>): void {
  const links = deps.signInLinks ?? createSignInLinks();

  const signIn = async (request: FastifyRequest, reply: FastifyReply, key: SignedInKey): Promise<FastifyReply> => {
    const former = readSignIn(request);
    const secrets = await deps.database.withTransaction(async (transaction) => {
      // The same page signs in again.
      if (former !== undefined) await signOut(transaction, former);
      return await createSignIn(transaction, { ...key, browser: toBrowserName(request.headers['user-agent']) });
    });
    if (former !== undefined) clearSignInCookie(reply, former);
    setSignInCookie(request, reply, secrets, SIGN_IN_MAX_AGE_S);
    return reply.header('cache-control', 'no-store').send({ page: secrets.page });
  };

  app.post('/v1/sign-in', SIGN_IN, async (request, reply) => {
    const apiKey = readBearerToken(request.headers.authorization);
    if (apiKey === undefined || request.keyHolder === null)
      throw new ProblemError('missing-key', 'Signing in needs an API key: Authorization: Bearer rk_…');
    const { workspaceId, keyId } = request.keyHolder;
    return await signIn(request, reply, { workspaceId, keyId, keyHash: hashApiKey(apiKey) });
  });

  app.post('/v1/sign-in/link', SIGN_IN_BY_LINK, async (request, reply) => {
    const apiKey = links.redeem(readBearerToken(request.headers.authorization) ?? '');
    if (apiKey === undefined) throw new ProblemError('invalid-key', 'The link was used already, or has expired');
    const keyHash = hashApiKey(apiKey);
    const holder = await findKeyHolder(deps.database.database, keyHash);
    if (holder === undefined || holder.isExpired || !hasScope(holder, 'read'))
      throw new ProblemError('invalid-key', 'The key of the link was revoked, or has expired');
    return await signIn(request, reply, { workspaceId: holder.workspaceId, keyId: holder.keyId, keyHash });
  });

  app.post('/v1/sign-out', SIGN_OUT, async (request, reply) => {
    const credential = readCredential(request);
    if (credential !== undefined && !('key' in credential)) {
      await signOut(deps.database.database, credential);
      clearSignInCookie(reply, credential);
    }
    return reply.code(204).send();
  });

  app.get('/v1/whoami', GET_WHOAMI, async (request) => {
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
  });
}
