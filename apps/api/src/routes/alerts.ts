import { randomUUID } from 'node:crypto';
import {
  deliveryListSchema,
  deliveryParamsSchema,
  deliveryQuerySchema,
  deliverySchema,
  destinationListSchema,
  destinationParamsSchema,
  destinationRequestSchema,
  newDestinationSchema,
} from '@recount/contract';
import {
  type DeliveryRow,
  DestinationInUseError,
  type DestinationRow,
  deleteDestination,
  enqueueMessages,
  findDestination,
  listDeliveries,
  listDestinations,
  MAX_DESTINATIONS,
  retryDelivery,
} from '@recount/db';
import { AddressError, type AlertOptions, addDestination, MissingSecretKeyError } from '@recount/ingest';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { cutPage, parseCursor } from '../paging/list-pages.ts';
import { actorOf, uploaderOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { createMinuteLimit } from '../plugins/minute-limit.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const tags = ['budgets'];
const noSuchDestinationResponse = problemResponse('The workspace has no such destination');
/** Messages that one key sends by hand, so that no one's mailbox is flooded through the operator's mail server. */
export const MAX_MESSAGES_BY_HAND_PER_MINUTE = 20;
const cursorSchema = z.strictObject({ delivery: z.string().max(100) });

const LIST_DESTINATIONS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'listDestinations',
    summary: 'List destinations of warnings',
    description: 'Without their secrets.',
    tags,
    response: { 200: destinationListSchema },
  },
} as const;

const CREATE_DESTINATION = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'createDestination',
    summary: 'Create a destination of warnings',
    description: `It gets the warnings of all budgets, and the digests, that name no destinations. Only this response contains the signing secret of a webhook. At most ${MAX_DESTINATIONS} per workspace.`,
    tags,
    body: destinationRequestSchema,
    response: {
      201: newDestinationSchema,
      409: problemResponse('The name is taken, there are too many, or the server has no key to encrypt secrets with'),
    },
  },
} as const;

const DELETE_DESTINATION = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'deleteDestination',
    summary: 'Delete a destination',
    description:
      'With its messages, also those that wait. Budgets and digests that name it keep their other destinations.',
    tags,
    params: destinationParamsSchema,
    response: {
      204: z.undefined().describe('Deleted'),
      404: noSuchDestinationResponse,
      409: problemResponse('A budget or digest names no other destination'),
    },
  },
} as const;

const TEST_DESTINATION = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'testDestination',
    summary: 'Send a test to a destination',
    description: 'A worker sends it within seconds; `GET /v1/deliveries` says what became of it.',
    tags,
    params: destinationParamsSchema,
    response: {
      202: deliverySchema,
      404: noSuchDestinationResponse,
      429: problemResponse('Too many tests of one key'),
    },
  },
} as const;

const LIST_DELIVERIES = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'listDeliveries',
    summary: 'List messages to destinations',
    description: 'What waits, was sent, or was given up after about a day of attempts.',
    tags,
    querystring: deliveryQuerySchema,
    response: { 200: deliveryListSchema },
  },
} as const;

const RETRY_DELIVERY = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'retryDelivery',
    summary: 'Try a message again that was given up',
    tags,
    params: deliveryParamsSchema,
    response: {
      204: z.undefined().describe('It waits again'),
      404: problemResponse('The workspace has no such message that was given up'),
    },
  },
} as const;

type Deps = Pick<ApiDependencies, 'database'>;

/** Destinations of warnings, and the messages to them. */
export async function addAlertRoutes(parent: ApiApp, deps: Deps, options: AlertOptions): Promise<void> {
  await addJsonRoutes(parent, {}, (app) => {
    addDestinationRoutes(app, deps, options);
    addDeliveryRoutes(app, deps);
  });
}

function addDestinationRoutes(app: ApiApp, deps: Deps, options: AlertOptions): void {
  const { database: pool } = deps;
  app.get('/v1/destinations', LIST_DESTINATIONS, async (request) => ({
    destinations: (await listDestinations(pool.database, workspaceOf(request))).map(toDestination),
  }));

  app.post('/v1/destinations', CREATE_DESTINATION, async (request, reply) => {
    const place = { workspaceId: workspaceOf(request), actor: actorOf(request) };
    const added = await addDestination(deps, options, place, request.body).catch(rethrow);
    if (added === 'taken') {
      throw new ProblemError('name-taken', `There is a destination ${request.body.name} already`);
    }
    if (added === 'too-many') {
      throw new ProblemError('too-many-destinations', `There are ${MAX_DESTINATIONS}: delete one first`);
    }
    return reply
      .header('cache-control', 'no-store')
      .code(201)
      .send({ ...toDestination(added.row), signing_secret: added.signingSecret ?? null });
  });

  app.delete('/v1/destinations/:destination_id', DELETE_DESTINATION, async (request, reply) => {
    const place = { workspaceId: workspaceOf(request), id: request.params.destination_id, actor: actorOf(request) };
    const isDeleted = await pool
      .withTransaction((transaction) => deleteDestination(transaction, place))
      .catch(rethrowInUse);
    if (!isDeleted) throw noSuchDestination();
    return reply.code(204).send();
  });

  const onRequest = createMinuteLimit(app, MAX_MESSAGES_BY_HAND_PER_MINUTE, uploaderOf);
  app.post('/v1/destinations/:destination_id/test', { ...TEST_DESTINATION, onRequest }, async (request, reply) => {
    const workspaceId = workspaceOf(request);
    const { destination_id: id } = request.params;
    const message = {
      event: 'test',
      payload: { text: 'This destination works.' },
      uniqueKey: `test ${randomUUID()}`,
    };
    const [row] = await pool.withTransaction(async (transaction) => {
      if ((await findDestination(transaction, workspaceId, id)) === undefined) throw noSuchDestination();
      return await enqueueMessages(transaction, workspaceId, [message], [id]);
    });
    if (row === undefined) throw noSuchDestination();
    return reply.code(202).send(toDelivery(row));
  });
}

function addDeliveryRoutes(app: ApiApp, { database: pool }: Deps): void {
  app.get('/v1/deliveries', LIST_DELIVERIES, async (request) => {
    const { limit, cursor, state, event, destination_id: destinationId } = request.query;
    const afterId = parseCursor(cursorSchema, cursor)?.delivery;
    const filter = { state, destinationId, event };
    const rows = await listDeliveries(pool.database, workspaceOf(request), filter, { afterId, limit: limit + 1 });
    const { page, next_cursor } = cutPage(rows, limit, ({ id }) => ({ delivery: id }));
    return { deliveries: page.map(toDelivery), next_cursor };
  });

  app.post('/v1/deliveries/:delivery_id/retry', RETRY_DELIVERY, async (request, reply) => {
    const place = { workspaceId: workspaceOf(request), id: request.params.delivery_id, actor: actorOf(request) };
    const isWaiting = await pool.withTransaction((transaction) => retryDelivery(transaction, place));
    if (!isWaiting) throw new ProblemError('not-found', 'The workspace has no such message that was given up');
    return reply.code(204).send();
  });
}

const noSuchDestination = (): ProblemError => new ProblemError('not-found', 'The workspace has no such destination');

const toDestination = ({ workspace_id: _workspaceId, secret: _secret, ...destination }: DestinationRow) => destination;

/** A message in answers. */
export const toDelivery = ({ workspace_id: _workspaceId, unique_key: _uniqueKey, ...delivery }: DeliveryRow) =>
  delivery;

function rethrowInUse(error: unknown): never {
  if (error instanceof DestinationInUseError) throw new ProblemError('destination-in-use', error.message);
  throw error;
}

/** A budget or digest is to be sent to a destination that the workspace lacks. */
export function noSuchDestinationIn(field: string): ProblemError {
  const errors = [{ location: 'body' as const, field, message: 'The workspace has no such destination' }];
  return new ProblemError('invalid-request', `Not valid: ${field}`, { extensions: { errors } });
}

function rethrow(error: unknown): never {
  if (error instanceof MissingSecretKeyError) throw new ProblemError('no-secret-key', error.message);
  if (!(error instanceof AddressError)) throw error;
  const errors = [{ location: 'body' as const, field: 'url', message: error.message }];
  throw new ProblemError('invalid-request', 'Not valid: url', { extensions: { errors } });
}
