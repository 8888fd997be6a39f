import { type Reprice, repriceRequestSchema, repriceSchema } from '@recount/contract';
import { cancelReprice, type RepriceRun, readReprice, startReprice } from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const PATH = '/v1/prices/reprice';
/** Names of two hundred models. */
const MAX_BODY_BYTES = 64 * 1024;

const GET_REPRICE = {
  config: { scope: 'read', reveals: 'nothing' },
  schema: {
    operationId: 'getReprice',
    summary: 'Read the progress of repricing',
    description: 'The latest run of the workspace, with its progress, and the sums before and after it.',
    tags: ['operations'],
    response: { 200: repriceSchema },
  },
} as const;

const START_REPRICE = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'startReprice',
    summary: 'Price stored usage again',
    description: [
      'A worker prices everything that was priced by other prices than the current ones, or only what uses the given models.',
      'One run of a workspace at a time. It continues in another worker if its worker ends, and repeating it changes nothing.',
    ].join(' '),
    tags: ['operations'],
    body: repriceRequestSchema,
    response: { 202: repriceSchema, 409: problemResponse('One is queued or running') },
  },
} as const;

const CANCEL_REPRICE = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'cancelReprice',
    summary: 'Cancel repricing',
    description: 'It stops within seconds. Transcripts that it has priced keep their new costs.',
    tags: ['operations'],
    response: { 200: repriceSchema, 404: problemResponse('None is queued or running') },
  },
} as const;

/** Prices what is stored again, after prices have changed. Workers do it. */
export async function addRepriceRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  const read = async (workspaceId: string): Promise<Reprice> => {
    const run = await readReprice(pool.database, workspaceId);
    return { run: run === undefined ? null : toAnswer(run) };
  };
  await addJsonRoutes(parent, { maxBytes: MAX_BODY_BYTES }, (app) => {
    app.get(PATH, GET_REPRICE, (request) => read(workspaceOf(request)));

    app.post(PATH, START_REPRICE, async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const { models } = request.body;
      const run = { workspaceId, models, actor: actorOf(request), runner: 'worker' } as const;
      if ((await pool.withTransaction((transaction) => startReprice(transaction, run))) === undefined)
        throw new ProblemError('check-running', 'Repricing is already queued or running. Wait for it, or cancel it');
      return reply.code(202).send(await read(workspaceId));
    });

    app.delete(PATH, CANCEL_REPRICE, async (request) => {
      const workspaceId = workspaceOf(request);
      const actor = actorOf(request);
      if (!(await pool.withTransaction((transaction) => cancelReprice(transaction, workspaceId, actor))))
        throw new ProblemError('not-found', 'No repricing is queued or running');
      return await read(workspaceId);
    });
  });
}

const toAnswer = ({ startedAt, endedAt, failureReason, ...run }: RepriceRun): NonNullable<Reprice['run']> => ({
  ...run,
  started_at: startedAt,
  ended_at: endedAt,
  failure_reason: failureReason,
});
