import {
  MAX_PEOPLE_CSV_LENGTH,
  newPersonSchema,
  type Person,
  type PersonChange,
  peopleImportRequestSchema,
  peopleImportSchema,
  peopleQuerySchema,
  personChangeSchema,
  personListSchema,
  personMergeSchema,
  personParamsSchema,
  personSchema,
  unattributedListSchema,
  unattributedQuerySchema,
} from '@recount/contract';
import {
  changePerson,
  createPerson,
  type Database,
  deletePerson,
  listPeople,
  listUnattributed,
  mergePerson,
  type PersonFigures,
  type Person as PersonRow,
  readPeopleFigures,
  undoMerge,
  withReportSnapshot,
} from '@recount/db';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { cutPage, parseCursor } from '../paging/list-pages.ts';
import { exportPeople, importPeople } from '../people/import-people.ts';
import { peopleScopeOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse, toResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const PERSON_ERRORS = {
  404: problemResponse('The workspace has no such person'),
  409: problemResponse('Someone else has one of the names'),
  422: problemResponse('There is no team with that name'),
};
const LIST_PEOPLE = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'listPeople',
    summary: 'List people',
    description: 'With the names under which their sessions arrive, and their teams.',
    tags: ['people'],
    querystring: peopleQuerySchema,
    response: { 200: personListSchema },
  },
} as const;

const LIST_UNATTRIBUTED = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'listUnattributed',
    summary: 'List names that no person has',
    description:
      'With sessions, cost, and people with similar names. Give the name to a person, and it leaves the list.',
    tags: ['people'],
    querystring: unattributedQuerySchema,
    response: { 200: unattributedListSchema },
  },
} as const;

const IMPORT_PEOPLE = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'importPeople',
    summary: 'Import people from CSV',
    description:
      'Finds each by e-mail address, else by name; adds who is missing, and teams. Empty cells change nothing. Without `apply`, or with an error on any line, nothing changes.',
    tags: ['people'],
    body: peopleImportRequestSchema,
    response: { 200: peopleImportSchema },
  },
} as const;

const EXPORT_PEOPLE = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'exportPeople',
    summary: 'Export people as CSV',
    description: 'With the team of today or later, in the form that the import reads.',
    tags: ['people'],
    response: { 200: toResponse('The file', 'text/csv', z.string()) },
  },
} as const;

const CREATE_PERSON = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'createPerson',
    summary: 'Add a person',
    description: 'Sessions with one of the names are theirs immediately, also sessions ingested earlier.',
    tags: ['people'],
    body: newPersonSchema,
    response: { 201: personSchema, 409: PERSON_ERRORS[409], 422: PERSON_ERRORS[422] },
  },
} as const;

const CHANGE_PERSON = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'changePerson',
    summary: 'Change a person',
    description: 'Names, teams and their times. Reports show it immediately.',
    tags: ['people'],
    params: personParamsSchema,
    body: personChangeSchema,
    response: { 200: personSchema, ...PERSON_ERRORS },
  },
} as const;

const DELETE_PERSON = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'deletePerson',
    summary: 'Delete a person',
    description: 'With those merged into them. Their sessions stay, and become unattributed.',
    tags: ['people'],
    params: personParamsSchema,
    response: { 204: z.undefined().describe('Deleted'), 404: PERSON_ERRORS[404] },
  },
} as const;

const MERGE_PERSON = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'mergePerson',
    summary: 'Merge a person into another',
    description: 'Their names count as the other person’s, whose teams hold. It can be undone.',
    tags: ['people'],
    params: personParamsSchema,
    body: personMergeSchema,
    response: { 200: personSchema, 404: PERSON_ERRORS[404], 409: problemResponse('One of them is merged already') },
  },
} as const;

const UNDO_MERGE = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'undoMerge',
    summary: 'Undo a merge',
    description: 'Separates a merged person again, with their names and teams.',
    tags: ['people'],
    params: personParamsSchema,
    response: { 200: personSchema, 404: problemResponse('The workspace has no such person, or they are not merged') },
  },
} as const;

const peopleCursorSchema = z.strictObject({ key: z.string(), id: z.string() });
const offsetCursorSchema = z.strictObject({ offset: z.int().min(0) });
/** JSON may take six bytes for one of a file. */
const MAX_BODY_BYTES = 6 * MAX_PEOPLE_CSV_LENGTH;

/** People, and the names of their sessions. */
export async function addPeopleRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, { maxBytes: MAX_BODY_BYTES }, (app) => {
    addBulkRoutes(app, pool);

    app.get('/v1/people', LIST_PEOPLE, async (request) => {
      const { search, team, figures: hasFigures, limit, cursor } = request.query;
      const after = parseCursor(peopleCursorSchema, cursor);
      const rows = await listPeople(pool.database, workspaceOf(request), { search, team }, { after, limit: limit + 1 });
      const { page, next_cursor } = cutPage(rows, limit, ({ sort_key: key, id }) => ({ key, id }));
      const figures = hasFigures
        ? await withReportSnapshot(pool, (snapshot) => readPeopleFigures(snapshot, workspaceOf(request)))
        : undefined;
      return { people: page.map((row) => toPerson(row, figures)), next_cursor };
    });

    app.post('/v1/people', CREATE_PERSON, async (request, reply) => {
      const { display_name: displayName } = request.body;
      return await pool.withTransaction(async (transaction) => {
        const id = await createPerson(transaction, peopleScopeOf(request), {
          ...toChange(request.body),
          displayName,
        });
        reply.code(201);
        return await requirePerson(transaction, workspaceOf(request), id);
      });
    });

    app.patch('/v1/people/:person_id', CHANGE_PERSON, async (request) =>
      pool.withTransaction(async (transaction) => {
        const { person_id: id } = request.params;
        if (!(await changePerson(transaction, peopleScopeOf(request), id, toChange(request.body))))
          throw noSuchPerson();
        return await requirePerson(transaction, workspaceOf(request), id);
      }),
    );

    app.delete('/v1/people/:person_id', DELETE_PERSON, async (request, reply) => {
      const { person_id: id } = request.params;
      const isDeleted = await pool.withTransaction((transaction) =>
        deletePerson(transaction, peopleScopeOf(request), id),
      );
      if (!isDeleted) throw noSuchPerson();
      return reply.code(204).send();
    });
    addMergeRoutes(app, pool);
  });
}

function addMergeRoutes(app: ApiApp, pool: ApiDependencies['database']): void {
  app.put('/v1/people/:person_id/merge', MERGE_PERSON, async (request) =>
    pool.withTransaction(async (transaction) => {
      const { into } = request.body;
      const merge = { id: request.params.person_id, into };
      if (!(await mergePerson(transaction, peopleScopeOf(request), merge))) throw noSuchPerson();
      return await requirePerson(transaction, workspaceOf(request), into);
    }),
  );

  app.delete('/v1/people/:person_id/merge', UNDO_MERGE, async (request) =>
    pool.withTransaction(async (transaction) => {
      const { person_id: id } = request.params;
      if (!(await undoMerge(transaction, peopleScopeOf(request), id))) throw noSuchPerson();
      return await requirePerson(transaction, workspaceOf(request), id);
    }),
  );
}

/** Names that no person has, and files of people. */
function addBulkRoutes(app: ApiApp, pool: ApiDependencies['database']): void {
  app.get('/v1/people/unattributed', LIST_UNATTRIBUTED, async (request) => {
    const { limit, cursor } = request.query;
    const { offset } = parseCursor(offsetCursorSchema, cursor) ?? { offset: 0 };
    const names = await withReportSnapshot(pool, (snapshot) =>
      listUnattributed(snapshot, workspaceOf(request), { offset, limit: limit + 1 }),
    );
    const { page, next_cursor } = cutPage(names, limit, () => ({ offset: offset + limit }));
    return { names: page, next_cursor };
  });

  app.post('/v1/people/import', IMPORT_PEOPLE, async (request) => {
    const { csv, apply } = request.body;
    return await importPeople(pool, peopleScopeOf(request), { csv, isApplied: apply });
  });

  app.get('/v1/people/export', EXPORT_PEOPLE, async (request, reply) => {
    const csv = await exportPeople(pool.database, workspaceOf(request));
    reply.header('content-disposition', 'attachment; filename="people.csv"').type('text/csv; charset=utf-8');
    return csv;
  });
}

const toChange = (change: PersonChange) => ({
  ...{ displayName: change.display_name, email: change.email, names: change.names, notes: change.notes },
  ...{ team: change.team, costCentre: change.cost_centre, teamFrom: change.team_from },
  ...{ joinedOn: change.joined_on, leftOn: change.left_on, leads: change.leads },
  memberships: change.memberships?.map(({ cost_centre: costCentre, ...rest }) => ({ ...rest, costCentre })),
});

const NO_FIGURES: PersonFigures = { sessions: 0, cost_usd: 0, last_timestamp: null };

function toPerson(
  { sort_key: _key, ...person }: PersonRow & { sort_key: string },
  figures?: ReadonlyMap<string, PersonFigures>,
): Person {
  return { ...person, figures: figures === undefined ? null : (figures.get(person.id) ?? NO_FIGURES) };
}

async function requirePerson(database: Database, workspaceId: string, id: string): Promise<Person> {
  const [row] = await listPeople(database, workspaceId, { id }, { limit: 1 });
  if (row === undefined) throw noSuchPerson();
  return toPerson(row);
}

const noSuchPerson = (): ProblemError => new ProblemError('not-found', 'The workspace has no such person');
