import {
  type RepositoryRenameList,
  repositoriesQuerySchema,
  repositoryListSchema,
  repositoryRenameListSchema,
  repositoryRenameParamsSchema,
  repositoryRenameRequestSchema,
} from '@recount/contract';
import { toRepositoryName } from '@recount/core';
import {
  type Database,
  listRepositories,
  listRepositoryRenames,
  RenameConflictError,
  renameRepositories,
  resolveReportFilter,
  resolveRepositories,
  TooManyRenamesError,
  undoRepositoryRename,
  withReportSnapshot,
} from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { toMeantNames } from './analytics.ts';

/** A hundred names that are as long as paths. */
const MAX_BODY_BYTES = 512 * 1024;

const LIST_REPOSITORIES = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listRepositories',
    summary: 'List repositories',
    description: 'With sessions, people, cost and activity of all time, the most expensive first.',
    tags: ['operations'],
    querystring: repositoriesQuerySchema,
    response: { 200: repositoryListSchema },
  },
} as const;

const LIST_RENAMES = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listRepositoryRenames',
    summary: 'List renamed and merged repositories',
    description: 'With who renamed them, when, and how far stored sessions have followed.',
    tags: ['operations'],
    response: { 200: repositoryRenameListSchema },
  },
} as const;

const RENAME = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'renameRepositories',
    summary: 'Rename or merge repositories',
    description:
      'If another repository has the new name, or several are given, they are merged. It applies immediately to what arrives later; a worker applies it to stored sessions within seconds or minutes. It can be undone for each repository at any time. What was renamed to one of them before follows. Answers with all renamed repositories.',
    tags: ['operations'],
    body: repositoryRenameRequestSchema,
    response: {
      200: repositoryRenameListSchema,
      409: problemResponse('The new name is itself renamed, or the workspace has too many renamed repositories'),
      422: problemResponse('A repository is unknown, or a part of a name matches several'),
    },
  },
} as const;

const UNDO = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'undoRepositoryRename',
    summary: 'Undo the renaming of a repository',
    description:
      'It has the name that its transcripts tell again; all other renamings stay. Answers with all renamed repositories.',
    tags: ['operations'],
    params: repositoryRenameParamsSchema,
    response: { 200: repositoryRenameListSchema, 404: problemResponse('No such renaming') },
  },
} as const;

/** Repositories, and the names that admins give them. */
export async function addRepositoryRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, { maxBytes: MAX_BODY_BYTES }, (app) => {
    app.get('/v1/repositories', LIST_REPOSITORIES, async (request) => {
      const { repository, limit } = request.query;
      return await withReportSnapshot(pool, async (snapshot) => {
        const all = { timeZone: 'UTC', subagents: 'include', repository } as const;
        const resolved = await resolveReportFilter(snapshot, workspaceOf(request), all);
        const { filter, unmatched, currencyLabel } = resolved;
        return {
          ...(await listRepositories(snapshot, filter, limit)),
          filters: toMeantNames(filter, unmatched),
          currency_label: currencyLabel,
        };
      });
    });

    app.get('/v1/repository-renames', LIST_RENAMES, async (request) =>
      readRenames(pool.database, workspaceOf(request)),
    );

    app.post('/v1/repository-renames', RENAME, async (request) => {
      const change = { workspaceId: workspaceOf(request), actor: actorOf(request) };
      const { repositories, new_name: newName } = request.body;
      return await pool.withTransaction(async (transaction) => {
        const names = await resolveRepositories(transaction, change.workspaceId, repositories);
        await renameRepositories(transaction, change, names, toNewName(newName)).catch(rejectConflict);
        return await readRenames(transaction, change.workspaceId);
      });
    });

    app.delete('/v1/repository-renames/:rename_id', UNDO, async (request) => {
      const change = { workspaceId: workspaceOf(request), actor: actorOf(request) };
      return await pool.withTransaction(async (transaction) => {
        const undone = await undoRepositoryRename(transaction, change, request.params.rename_id);
        if (undone === undefined) throw new ProblemError('not-found', 'There is no such renaming, or it was undone');
        return await readRenames(transaction, change.workspaceId);
      });
    });
  });
}

const readRenames = async (database: Database, workspaceId: string): Promise<RepositoryRenameList> => ({
  renames: (await listRepositoryRenames(database, workspaceId)).map(({ checked_count, session_count, ...rename }) => ({
    ...rename,
    checked_sessions: checked_count,
    all_sessions: session_count,
  })),
});

/** The address of a remote, as it is copied from a browser or git, becomes the name that its clones have. */
function toNewName(text: string): string {
  const isAddress = /^[a-z][a-z\d+.-]*:\/\/|^[\w.-]+@[\w.-]+:/i.test(text);
  return (isAddress ? toRepositoryName({ address: text, folder: null }) : null) ?? text;
}

function rejectConflict(error: unknown): never {
  const isConflict = error instanceof RenameConflictError || error instanceof TooManyRenamesError;
  throw isConflict ? new ProblemError('rename-conflict', error.message) : error;
}
