import { apiKeyParamsSchema, signInLinkRequestSchema, signInLinkSchema } from '@recount/contract';
import { createSignInLink, restoreAccountKey, type SignInLinkRefusal, withdrawSignInLink } from '@recount/db';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, uploaderOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { changeKeys, requireRightTo } from './change-keys.ts';

const RESTORE_ACCOUNT = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'restoreAccount',
    summary: 'Let an account of an OpenID provider sign in again',
    description:
      'Undoes the revocation of its key. The role is what its groups give it when it signs in. Keys that it had made stay revoked.',
    tags: ['operations'],
    params: apiKeyParamsSchema,
    response: {
      204: z.undefined().describe('It may sign in'),
      404: problemResponse('No such key of an account, or it is not revoked'),
    },
  },
} as const;

const CREATE_SIGN_IN_LINK = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'createSignInLink',
    summary: 'Make a link that signs a browser in with a key, once',
    description:
      'Only this response contains it. It replaces the link that the key had, and ends when the key or the key of this request is revoked or rotated. Opening it signs no one in before a click. A key with the scope admin gets a link only from itself and from the key that created or last rotated it.',
    tags: ['operations'],
    params: apiKeyParamsSchema,
    body: signInLinkRequestSchema,
    response: {
      201: signInLinkSchema,
      404: problemResponse('No such key, or it is revoked or has expired'),
      409: problemResponse('A link cannot sign in with this key'),
    },
  },
} as const;

const WITHDRAW_SIGN_IN_LINK = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'withdrawSignInLink',
    summary: 'Withdraw the link of a key',
    description: 'A browser that signed in with it before stays signed in: see endSignIn.',
    tags: ['operations'],
    params: apiKeyParamsSchema,
    response: {
      204: z.undefined().describe('It is withdrawn'),
      404: problemResponse('The key has no link, or it was used or has expired'),
    },
  },
} as const;

/** A link whose page asks before it signs in, because chat programs and mail filters open links. */
const toLinkPath = (code: string): string => `/sign-in#${code}&confirm`;

function toLinkProblem(refusal: SignInLinkRefusal): ProblemError {
  if (refusal === 'unknown') return new ProblemError('not-found', 'No such key, or it is revoked or has expired');
  return new ProblemError('no-sign-in-link', LINK_REFUSALS[refusal]);
}

const LINK_REFUSALS: Readonly<Record<Exclude<SignInLinkRefusal, 'unknown'>, string>> = {
  account: 'It belongs to an account of a sign-in provider. Its person signs in there',
  'cannot-read': 'It may not read, so there is nothing to show in the dashboard. Create a key with a role that reads',
  'not-made-by-you': 'An admin’s key gets a link only from itself and from the key that created or last rotated it',
};

/** Lets people in without a secret to copy: links that sign in with a key, and accounts that may sign in again. */
export async function addSignInLinkRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, {}, (app) => {
    app.post('/v1/keys/:key_id/sign-in-link', CREATE_SIGN_IN_LINK, async (request, reply) => {
      const { key_id: keyId } = request.params;
      const [workspaceId, by, actor] = [workspaceOf(request), uploaderOf(request), actorOf(request)];
      const endsAt = request.keyHolder?.expiresAt ?? null;
      const link = { workspaceId, keyId, validMs: request.body.valid_ms, actor, by, endsAt };
      const made = await changeKeys(pool, request, async (transaction) => {
        await requireRightTo(request, transaction, keyId);
        return await createSignInLink(transaction, link);
      });
      if (typeof made === 'string') throw toLinkProblem(made);
      return reply
        .header('cache-control', 'no-store')
        .code(201)
        .send({ path: toLinkPath(made.code), expires_at: made.expiresAt });
    });

    app.delete('/v1/keys/:key_id/sign-in-link', WITHDRAW_SIGN_IN_LINK, async (request, reply) => {
      const { key_id: id } = request.params;
      const isWithdrawn = await pool.withTransaction((transaction) =>
        withdrawSignInLink(transaction, workspaceOf(request), id, actorOf(request)),
      );
      if (!isWithdrawn) throw new ProblemError('not-found', 'The key has no link, or it was used or has expired');
      return reply.code(204).send();
    });

    app.post('/v1/keys/:key_id/restore', RESTORE_ACCOUNT, async (request, reply) => {
      const { key_id: id } = request.params;
      const isRestored = await changeKeys(pool, request, async (transaction) => {
        await requireRightTo(request, transaction, id);
        return await restoreAccountKey(transaction, workspaceOf(request), id, actorOf(request));
      });
      const detail = 'No such key of an account, or it is not revoked. Create another key to give access again';
      if (!isRestored) throw new ProblemError('not-found', detail);
      return reply.code(204).send();
    });
  });
}
