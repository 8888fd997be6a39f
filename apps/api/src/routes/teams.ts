import {
  newTeamSchema,
  teamChangeSchema,
  teamListSchema,
  teamParamsSchema,
  teamSchema,
  teamsQuerySchema,
} from '@recount/contract';
import { changeTeam, createTeam, type Database, deleteTeam, listTeams, toTeamPlace } from '@recount/db';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { cutPage, parseCursor } from '../paging/list-pages.ts';
import { peopleScopeOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const TEAM_ERRORS = {
  404: problemResponse('The workspace has no such team'),
  409: problemResponse('Another team has the name, or people are or were in the team'),
};

const LIST_TEAMS = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listTeams',
    summary: 'List teams',
    description: 'With their cost centres, leads, and the number of people who are in them today.',
    tags: ['people'],
    querystring: teamsQuerySchema,
    response: { 200: teamListSchema },
  },
} as const;

const CREATE_TEAM = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'createTeam',
    summary: 'Add a team',
    tags: ['people'],
    body: newTeamSchema,
    response: { 201: teamSchema, 409: TEAM_ERRORS[409] },
  },
} as const;

const CHANGE_TEAM = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'changeTeam',
    summary: 'Change a team',
    description: 'Its name, cost centre or lead, for all times.',
    tags: ['people'],
    params: teamParamsSchema,
    body: teamChangeSchema,
    response: { 200: teamSchema, ...TEAM_ERRORS },
  },
} as const;

const DELETE_TEAM = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'deleteTeam',
    summary: 'Delete a team',
    description: 'Only a team that no one has ever been in.',
    tags: ['people'],
    params: teamParamsSchema,
    response: { 204: z.undefined().describe('Deleted'), ...TEAM_ERRORS },
  },
} as const;

const teamCursorSchema = z.strictObject({ name: z.string() });

/** Teams with their cost centres and leads. */
export async function addTeamRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, {}, (app) => {
    app.get('/v1/teams', LIST_TEAMS, async (request) => {
      const { limit, cursor } = request.query;
      const after = parseCursor(teamCursorSchema, cursor)?.name;
      const { hiddenOrder } = request;
      const orderSalt = hiddenOrder?.kinds.has('team') ? hiddenOrder.salt : undefined;
      const rows = await listTeams(pool.database, workspaceOf(request), { after, limit: limit + 1, orderSalt });
      const { page: teams, next_cursor } = cutPage(rows, limit, ({ id, name }) => ({
        name: orderSalt === undefined ? name : toTeamPlace(orderSalt, id),
      }));
      return { teams, next_cursor };
    });

    app.post('/v1/teams', CREATE_TEAM, async (request, reply) =>
      pool.withTransaction(async (transaction) => {
        const { name, cost_centre: costCentre, lead_id: leadId } = request.body;
        const id = await createTeam(transaction, peopleScopeOf(request), { name, costCentre, leadId });
        reply.code(201);
        return await requireTeam(transaction, workspaceOf(request), id);
      }),
    );

    app.patch('/v1/teams/:team_id', CHANGE_TEAM, async (request) =>
      pool.withTransaction(async (transaction) => {
        const { team_id: id } = request.params;
        const { name, cost_centre: costCentre, lead_id: leadId } = request.body;
        if (!(await changeTeam(transaction, peopleScopeOf(request), id, { name, costCentre, leadId })))
          throw noSuchTeam();
        return await requireTeam(transaction, workspaceOf(request), id);
      }),
    );

    app.delete('/v1/teams/:team_id', DELETE_TEAM, async (request, reply) => {
      const { team_id: id } = request.params;
      if (!(await pool.withTransaction((transaction) => deleteTeam(transaction, peopleScopeOf(request), id))))
        throw noSuchTeam();
      return reply.code(204).send();
    });
  });
}

async function requireTeam(database: Database, workspaceId: string, id: string) {
  const [team] = await listTeams(database, workspaceId, { id, limit: 1 });
  if (team === undefined) throw noSuchTeam();
  return team;
}

const noSuchTeam = (): ProblemError => new ProblemError('not-found', 'The workspace has no such team');
