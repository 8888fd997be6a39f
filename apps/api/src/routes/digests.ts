import {
  type Digest,
  digestChangeSchema,
  digestListSchema,
  digestParamsSchema,
  digestPreviewSchema,
  digestRequestSchema,
  digestSchema,
  sentDigestSchema,
} from '@recount/contract';
import {
  changeDigest,
  createDigest,
  type DigestRow,
  deleteDigest,
  findDigest,
  listDigests,
  MAX_DIGESTS,
  type NewDigest,
  readDigest,
  sendDigestByHand,
  withReportSnapshot,
} from '@recount/db';
import { describeDigest } from '@recount/ingest';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, uploaderOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { createMinuteLimit } from '../plugins/minute-limit.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { MAX_MESSAGES_BY_HAND_PER_MINUTE, noSuchDestinationIn, toDelivery } from './alerts.ts';

/** Filters may have 100 names each. */
const MAX_BODY_BYTES = 256 * 1024;
const tags = ['budgets'];
const noSuchDigestResponse = problemResponse('The workspace has no such digest');

const LIST_DIGESTS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: { operationId: 'listDigests', summary: 'List digests', tags, response: { 200: digestListSchema } },
} as const;

const CREATE_DIGEST = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'createDigest',
    summary: 'Create a digest',
    description: `It is sent to its destinations six hours after the end of each week or month, once, beginning with the current one. At most ${MAX_DIGESTS} per workspace.`,
    tags,
    body: digestRequestSchema,
    response: { 201: digestSchema, 409: problemResponse('Another digest has this name, or there are too many') },
  },
} as const;

const CHANGE_DIGEST = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'changeDigest',
    summary: 'Change a digest',
    description: 'A period that was sent is not sent again.',
    tags,
    params: digestParamsSchema,
    body: digestChangeSchema,
    response: {
      200: digestSchema,
      404: noSuchDigestResponse,
      409: problemResponse('Another digest has this name'),
    },
  },
} as const;

const SEND_DIGEST = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'sendDigest',
    summary: 'Send a digest now',
    description:
      'Of the latest period that is over, to its destinations, whatever was sent before. It is also sent when it is due. A worker sends it within seconds; `GET /v1/deliveries` says what became of it.',
    tags,
    params: digestParamsSchema,
    response: {
      202: sentDigestSchema,
      404: noSuchDigestResponse,
      429: problemResponse('Too many are sent by one key'),
    },
  },
} as const;

const DELETE_DIGEST = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'deleteDigest',
    summary: 'Delete a digest',
    tags,
    params: digestParamsSchema,
    response: { 204: z.undefined().describe('Deleted'), 404: noSuchDigestResponse },
  },
} as const;

const PREVIEW_DIGEST = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'previewDigest',
    summary: 'Read a digest without sending it',
    description:
      'Of the latest period that is over, with the figures of the report `usage` for the same filters and time.',
    tags,
    params: digestParamsSchema,
    response: { 200: digestPreviewSchema, 404: noSuchDigestResponse },
  },
} as const;

/** Digests: reports that are sent when a week or month is over. */
export async function addDigestRoutes(
  parent: ApiApp,
  { database: pool, now = Date.now }: Pick<ApiDependencies, 'database' | 'now'>,
): Promise<void> {
  await addJsonRoutes(parent, { maxBytes: MAX_BODY_BYTES }, (app) => {
    app.get('/v1/digests', LIST_DIGESTS, async (request) => ({
      digests: (await listDigests(pool.database, workspaceOf(request))).map(toDigest),
    }));

    app.post('/v1/digests', CREATE_DIGEST, async (request, reply) => {
      const row = await pool.withTransaction((transaction) =>
        createDigest(transaction, workspaceOf(request), request.body, actorOf(request)),
      );
      if (row === 'taken') throw taken(request.body.name);
      if (row === 'no-destination') throw noSuchDestinationIn('destination_ids');
      if (row === 'too-many') throw new ProblemError('too-many-digests', `There are ${MAX_DIGESTS}: delete one first`);
      return reply.code(201).send(toDigest(row));
    });

    app.patch('/v1/digests/:digest_id', CHANGE_DIGEST, async (request) => {
      const place = { workspaceId: workspaceOf(request), id: request.params.digest_id, actor: actorOf(request) };
      const change = withoutUndefined(request.body);
      const row = await pool.withTransaction((transaction) => changeDigest(transaction, place, change));
      if (row === 'taken') throw taken(change.name ?? '');
      if (row === 'no-destination') throw noSuchDestinationIn('destination_ids');
      if (row === undefined) throw noSuchDigest();
      return toDigest(row);
    });

    const onRequest = createMinuteLimit(app, MAX_MESSAGES_BY_HAND_PER_MINUTE, uploaderOf);
    app.post('/v1/digests/:digest_id/send', { ...SEND_DIGEST, onRequest }, async (request, reply) => {
      const row = await findDigest(pool.database, workspaceOf(request), request.params.digest_id);
      if (row === undefined) throw noSuchDigest();
      const content = await withReportSnapshot(pool, (snapshot) => readDigest(snapshot, row, now()));
      const sent = await pool.withTransaction((transaction) =>
        sendDigestByHand(transaction, row, content, actorOf(request)),
      );
      return reply.code(202).send({ deliveries: sent.map(toDelivery) });
    });

    app.delete('/v1/digests/:digest_id', DELETE_DIGEST, async (request, reply) => {
      const place = { workspaceId: workspaceOf(request), id: request.params.digest_id, actor: actorOf(request) };
      if (!(await pool.withTransaction((transaction) => deleteDigest(transaction, place)))) throw noSuchDigest();
      return reply.code(204).send();
    });

    app.get('/v1/digests/:digest_id/preview', PREVIEW_DIGEST, async (request) => {
      const row = await findDigest(pool.database, workspaceOf(request), request.params.digest_id);
      if (row === undefined) throw noSuchDigest();
      const content = await withReportSnapshot(pool, (snapshot) => readDigest(snapshot, row, now()));
      const { subject, text, html = '' } = describeDigest(content);
      return {
        heading: subject,
        plain: text,
        html,
        content: { ...content, filters: content.filters as Digest['filters'] },
      };
    });
  });
}

const noSuchDigest = (): ProblemError => new ProblemError('not-found', 'The workspace has no such digest');

const taken = (name: string): ProblemError => new ProblemError('name-taken', `There is a digest ${name} already`);

const withoutUndefined = (change: z.output<typeof digestChangeSchema>): Partial<NewDigest> =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));

const toDigest = ({ workspace_id: _workspaceId, filters, ...digest }: DigestRow): Digest => ({
  ...digest,
  filters: filters as Digest['filters'],
});
