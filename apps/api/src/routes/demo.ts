import { signedInSchema } from '@recount/contract';
import { createSignIn, hashApiKey, SIGN_IN_MAX_AGE_S } from '@recount/db';
import { deleteDemo, openDemo } from '@recount/ingest';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { toBrowserName } from '../http/browser-name.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { setSignInCookie } from '../plugins/credentials.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const OPEN_DEMO = {
  config: { scope: 'operator', reveals: 'nothing' },
  schema: {
    operationId: 'openDemo',
    summary: 'Open the demo workspace',
    description:
      'Makes a workspace with some 300 sessions of an invented company, if there is none or if it is older than a day, and signs the browser in to it with separate secrets. The sign-in of the request stays valid. Workers ingest the sessions within seconds.',
    tags: ['operations'],
    response: { 200: signedInSchema },
  },
} as const;

const DELETE_DEMO = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'deleteDemo',
    summary: 'Delete the demo workspace',
    description: 'Works with a key of the demo only.',
    tags: ['operations'],
    response: {
      204: z.undefined().describe('The workspace and its keys are deleted'),
      404: problemResponse('The workspace of the key is not a demo'),
    },
  },
} as const;

/** A workspace with invented data, beside the users' own. */
export function addDemoRoutes(app: ApiApp, deps: ApiDependencies): void {
  app.post('/v1/demo', OPEN_DEMO, async (request, reply) => {
    const { now = Date.now } = deps;
    const { workspaceId, keyId, apiKey } = await openDemo(deps, { nowMs: now(), actor: actorOf(request) });
    const browser = toBrowserName(request.headers['user-agent']);
    const key = { workspaceId, keyId, keyHash: hashApiKey(apiKey), browser };
    const secrets = await deps.database.withTransaction((transaction) => createSignIn(transaction, key));
    setSignInCookie(request, reply, secrets, SIGN_IN_MAX_AGE_S);
    return reply.header('cache-control', 'no-store').send({ page: secrets.page });
  });

  app.delete('/v1/demo', DELETE_DEMO, async (request, reply) => {
    if (!(await deleteDemo(deps, workspaceOf(request), actorOf(request))))
      throw new ProblemError('not-found', 'The workspace of this key is not a demo');
    return reply.code(204).send();
  });
}
