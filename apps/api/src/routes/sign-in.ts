import { type SignedIn, signedInSchema, signedOutSchema, toRole, whoamiSchema } from '@recount/contract';
import {
  createSignIn,
  type Database,
  type DatabasePool,
  findCurrencyLabel,
  findWorkspaceName,
  hashApiKey,
  isDemoWorkspace,
  redeemSignInLink,
  SIGN_IN_MAX_AGE_S,
  type SignInSecrets,
  signOut,
} from '@recount/db';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { toAccess } from '../access/access.ts';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { toBrowserName } from '../http/browser-name.ts';
import type { ProviderSignIns } from '../identity/provider-sign-ins.ts';
import { workspaceOf } from '../plugins/authentication.ts';
import {
  clearSignInCookie,
  readBearerToken,
  readCredential,
  readSignIn,
  requireOwnOrigin,
  setSignInCookie,
} from '../plugins/credentials.ts';
import { createMinuteLimit } from '../plugins/minute-limit.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const nothing = z.undefined();

/** Links that are tried from one address. */
const MAX_LINKS_PER_MINUTE = 60;

const SIGN_IN = {
  config: { scope: 'read', reveals: 'nothing' },
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
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'signInByLink',
    summary: 'Sign in to the dashboard with the code of a link',
    description:
      'The code, which works once, comes as `Authorization: Bearer <code>`: see createSignInLink; `recount up` prints one, too.',
    tags: ['operations'],
    response: {
      200: signedInSchema,
      401: problemResponse('No code, or one that was used, has expired or was withdrawn'),
    },
  },
} as const;

const SIGN_OUT = {
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'signOut',
    summary: 'Sign out of the dashboard',
    description: 'After a sign-in with an OpenID provider, its refresh token is revoked.',
    tags: ['operations'],
    response: {
      200: signedOutSchema.describe('You are signed out here; the page ends the session at the provider too'),
      204: nothing.describe('You are no longer signed in with these secrets'),
    },
  },
} as const;

const GET_WHOAMI = {
  config: { scope: 'read', reveals: 'nothing' },
  schema: {
    operationId: 'getWhoami',
    summary: 'Read whose key it is, and what it may do',
    tags: ['operations'],
    response: { 200: whoamiSchema },
  },
} as const;

type Sign = (transaction: Database, browser: string | null) => Promise<SignInSecrets | undefined>;

/** Signs a browser in, and its page's former sign-in out. Undefined if `sign` refuses. */
const createSigner =
  ({ withTransaction }: DatabasePool) =>
  async (request: FastifyRequest, reply: FastifyReply, sign: Sign): Promise<SignedIn | undefined> => {
    const former = readSignIn(request);
    const secrets = await withTransaction(async (transaction) => {
      const made = await sign(transaction, toBrowserName(request.headers['user-agent']));
      // The same page signs in again.
      if (made !== undefined && former !== undefined) await signOut(transaction, former);
      return made;
    });
    if (secrets === undefined) return undefined;
    if (former !== undefined) clearSignInCookie(reply, former);
    setSignInCookie(request, reply, secrets, SIGN_IN_MAX_AGE_S);
    reply.header('cache-control', 'no-store');
    return { page: secrets.page };
  };

/** Signs a browser in to the dashboard. It sends its API key once, and gets two secrets. */
export function addSignInRoutes(
  app: ApiApp,
  deps: Pick<ApiDependencies, 'database'> & { providerSignIns: ProviderSignIns },
): void {
  const signIn = createSigner(deps.database);

  app.post('/v1/sign-in', SIGN_IN, async (request, reply) => {
    const apiKey = readBearerToken(request.headers.authorization);
    if (apiKey === undefined || request.keyHolder === null)
      throw new ProblemError('missing-key', 'Signing in needs an API key: Authorization: Bearer rk_…');
    const { workspaceId, keyId } = request.keyHolder;
    const key = { workspaceId, keyId, keyHash: hashApiKey(apiKey) };
    return await signIn(request, reply, (transaction, browser) => createSignIn(transaction, { ...key, browser }));
  });

  const onRequest = createMinuteLimit(app, MAX_LINKS_PER_MINUTE);
  app.post('/v1/sign-in/link', { ...SIGN_IN_BY_LINK, onRequest }, async (request, reply) => {
    const code = readBearerToken(request.headers.authorization) ?? '';
    const signed = await signIn(request, reply, (transaction, browser) => redeemSignInLink(transaction, code, browser));
    if (signed !== undefined) return signed;
    const detail = 'The link was used already, has expired or was withdrawn. Ask who gave it to you for another';
    throw new ProblemError('invalid-key', detail);
  });

  app.post('/v1/sign-out', SIGN_OUT, async (request, reply) => {
    const credential = readCredential(request);
    if (credential !== undefined && !('key' in credential)) {
      const ended = await deps.database.withTransaction((transaction) => signOut(transaction, credential));
      clearSignInCookie(reply, credential);
      const url = ended && (await deps.providerSignIns.end(ended, requireOwnOrigin(request)));
      if (url !== undefined) return reply.header('cache-control', 'no-store').send({ url });
    }
    return reply.code(204).send();
  });

  app.get('/v1/whoami', GET_WHOAMI, async (request) => {
    const workspaceId = workspaceOf(request);
    const holder = request.keyHolder;
    if (holder === null) throw new Error('The route has no scope');
    const { keyId, scopes, person, expiresAt } = holder;
    const { database } = deps.database;
    return {
      workspace_id: workspaceId,
      workspace: (await findWorkspaceName(database, workspaceId)) ?? workspaceId,
      is_demo: await isDemoWorkspace(database, workspaceId),
      key_id: keyId,
      scopes,
      role: toRole(scopes),
      person,
      sees_texts: toAccess(holder).texts,
      expires_at: expiresAt,
      currency_label: (await findCurrencyLabel(database, workspaceId)) ?? 'USD',
      version: packageJson.version,
    };
  });
}
