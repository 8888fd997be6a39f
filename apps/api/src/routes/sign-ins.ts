import { signInListSchema, signInParamsSchema } from '@recount/contract';
import { endSignIn, listSignIns } from '@recount/db';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const LIST_SIGN_INS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'listSignIns',
    summary: 'List the browsers that are signed in to the dashboard',
    description: 'With any key of the workspace.',
    tags: ['operations'],
    response: { 200: signInListSchema },
  },
} as const;

const END_SIGN_IN = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'endSignIn',
    summary: 'Sign a browser out of the dashboard',
    description: 'Its key stays valid.',
    tags: ['operations'],
    params: signInParamsSchema,
    response: {
      204: z.undefined().describe('It is signed out'),
      404: problemResponse('No such sign-in, or it has ended'),
    },
  },
} as const;

/** Browsers that are signed in to the dashboard, where a key with the scope admin lists them and signs them out. */
export function addSignInListRoutes(app: ApiApp, { database: pool }: Pick<ApiDependencies, 'database'>): void {
  app.get('/v1/sign-ins', LIST_SIGN_INS, async (request) => {
    const rows = await listSignIns(pool.database, workspaceOf(request));
    const currentId = request.keyHolder?.signInId;
    return { sign_ins: rows.map((row) => ({ ...row, is_current: row.id === currentId })) };
  });

  app.delete('/v1/sign-ins/:sign_in_id', END_SIGN_IN, async (request, reply) => {
    const isEnded = await pool.withTransaction((transaction) =>
      endSignIn(transaction, workspaceOf(request), request.params.sign_in_id, actorOf(request)),
    );
    if (!isEnded) throw new ProblemError('not-found', 'No such sign-in, or it has ended');
    return reply.code(204).send();
  });
}
