import { workspaceListSchema, workspaceNameSchema, workspaceParamsSchema, workspaceSchema } from '@recount/contract';
import { createWorkspace, listWorkspaceSummaries, renameWorkspace } from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const taken = (name: string): ProblemError => new ProblemError('name-taken', `There is a workspace ${name} already`);

const LIST_WORKSPACES = {
  config: { scope: 'operator', reveals: 'nothing' },
  schema: {
    operationId: 'listWorkspaces',
    summary: 'List the workspaces of the installation',
    description: 'Without their contents, which need a key of each.',
    tags: ['operations'],
    response: { 200: workspaceListSchema },
  },
} as const;

const CREATE_WORKSPACE = {
  config: { scope: 'operator', reveals: 'nothing' },
  schema: {
    operationId: 'createWorkspace',
    summary: 'Create a workspace',
    description: 'It has no key: `recount keys create --workspace NAME` makes the first.',
    tags: ['operations'],
    body: workspaceNameSchema,
    response: { 201: workspaceSchema, 409: problemResponse('Another workspace has this name') },
  },
} as const;

const RENAME_WORKSPACE = {
  config: { scope: 'operator', reveals: 'nothing' },
  schema: {
    operationId: 'renameWorkspace',
    summary: 'Rename a workspace',
    description: 'Keys stay valid; `--workspace NAME` of commands needs the new name from now on.',
    tags: ['operations'],
    params: workspaceParamsSchema,
    body: workspaceNameSchema,
    response: {
      200: workspaceSchema,
      404: problemResponse('There is no such workspace'),
      409: problemResponse('Another workspace has this name, or it is the default one or the demo'),
    },
  },
} as const;

/**
 * Names of workspaces, only for operators, because names are unique, so anyone who may choose one learns about others.
 * The contents of a workspace need a key of that workspace, which is created with access to the database.
 */
export async function addWorkspaceRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, {}, (app) => {
    const find = async (id: string) => {
      const found = (await listWorkspaceSummaries(pool.database)).find((workspace) => workspace.id === id);
      if (found === undefined) throw new ProblemError('not-found', 'There is no such workspace');
      return found;
    };

    app.get('/v1/workspaces', LIST_WORKSPACES, async () => ({
      workspaces: await listWorkspaceSummaries(pool.database),
    }));

    app.post('/v1/workspaces', CREATE_WORKSPACE, async (request, reply) => {
      const workspace = { name: request.body.name, actor: actorOf(request) };
      const created = await pool.withTransaction((transaction) => createWorkspace(transaction, workspace));
      if (created === undefined) throw taken(workspace.name);
      return reply.code(201).send({ ...created, api_key_count: 0 });
    });

    app.put('/v1/workspaces/:workspace_id/name', RENAME_WORKSPACE, async (request) => {
      const { workspace_id: id } = request.params;
      const { name } = request.body;
      const outcome = await pool.withTransaction((transaction) =>
        renameWorkspace(transaction, id, name, actorOf(request)),
      );
      if (outcome === 'taken') throw taken(name);
      if (outcome === 'default') {
        throw new ProblemError('default-workspace', 'Commands use it if they name no workspace, so it keeps its name');
      }
      if (outcome === 'demo') throw new ProblemError('default-workspace', 'The demo is deleted after a day');
      return await find(id);
    });
  });
}
