import { Readable } from 'node:stream';
import {
  type Attachment,
  attachmentContentQuerySchema,
  attachmentListQuerySchema,
  attachmentListSchema,
  attachmentParamsSchema,
  attachmentReceiptSchema,
  attachmentUploadParamsSchema,
  attachmentUploadQuerySchema,
  sessionParamsSchema,
  uploadHeadersSchema,
} from '@recount/contract';
import { type AttachmentRow, findAttachment, listAttachments, showPeople } from '@recount/db';
import { DEFAULT_MAX_ATTACHMENT_BYTES, readAttachment, receiveAttachment } from '@recount/ingest';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { ApiConfig } from '../config.ts';
import type { SpaceWatch } from '../disk-space/space-watch.ts';
import { matchesEntityTag, toAttachment } from '../http/download-headers.ts';
import { cutPage, parseCursor } from '../paging/list-pages.ts';
import { personOf, uploaderOf, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse, toResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { decodeBody, parseContentEncoding } from '../uploads/decode-body.ts';
import { parseDigests, verifyDigests } from '../uploads/digests.ts';
import { readBody } from '../uploads/read-body.ts';
import { createUploadSlots } from '../uploads/receive-file.ts';
import { requireSession } from './require-session.ts';
import { assertBodySize, openBody } from './uploads.ts';

type Deps = Pick<ApiDependencies, 'database' | 'rawStore'>;
type UploadConfig = Pick<ApiConfig, 'maxTranscriptBytes' | 'maxConcurrentUploads' | 'uploadIdleTimeoutMs'>;

/** Browsers must not run the output of tools. */
const MEDIA_TYPE = 'application/octet-stream';
const content = z.string().meta({ contentMediaType: MEDIA_TYPE });
const cursorSchema = z.strictObject({ path: z.string(), id: z.string().max(100) });

const uploadSchema = {
  operationId: 'uploadAttachment',
  summary: 'Upload a file that an agent keeps with a transcript',
  description: [
    'Large tool results, facts about sub-agents, scripts and journals of workflows. The body is the file, and `path` its path in the session’s folder.',
    'The session need not exist yet. After a 200 or 201 the file is stored permanently. Uploading it again adds nothing, so it is safe to repeat.',
    'For each uploader, the latest state of a file by `modified_at` is stored, whatever the order of arrival; no uploader replaces another’s file.',
    'Digests and encodings as with transcripts.',
  ].join(' '),
  tags: ['sessions'],
  params: attachmentUploadParamsSchema,
  querystring: attachmentUploadQuerySchema,
  headers: uploadHeadersSchema,
  response: {
    200: attachmentReceiptSchema.describe('It is stored already, or a later state of it is'),
    201: attachmentReceiptSchema.describe('Stored'),
    400: problemResponse('The body does not match its encoding or its digest; nothing is stored'),
    408: problemResponse('The client was silent for too long'),
    413: problemResponse('Larger than the limit, decoded'),
    415: problemResponse('An encoding that is not supported; see Accept-Encoding'),
    422: problemResponse('The agent keeps no file at this path, or the session id is not valid'),
    507: problemResponse('The raw store has no space left; see Retry-After'),
  },
};

const LIST_ATTACHMENTS = {
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'listAttachments',
    summary: 'List the files that an agent keeps with a session’s transcript',
    tags: ['sessions'],
    params: sessionParamsSchema,
    querystring: attachmentListQuerySchema,
    response: {
      200: attachmentListSchema,
      404: problemResponse('The workspace has neither this session nor files of it'),
    },
  },
} as const;

const GET_ATTACHMENT = {
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'getAttachment',
    summary: 'Download a file that an agent keeps with a session’s transcript',
    description: 'As it was uploaded, decoded; or, as the workspace chose, with secrets replaced in place.',
    tags: ['sessions'],
    params: attachmentParamsSchema,
    querystring: attachmentContentQuerySchema,
    response: {
      200: toResponse('The file', MEDIA_TYPE, content),
      304: z.undefined().describe('Not changed'),
      404: problemResponse('The workspace has no such attachment'),
    },
  },
} as const;

export async function addAttachmentRoutes(
  parent: ApiApp,
  deps: Deps & { space: Pick<SpaceWatch, 'assertRoom' | 'noteFailure'> },
  config: UploadConfig,
): Promise<void> {
  addAttachmentReading(parent, deps);
  const slots = createUploadSlots(config.maxConcurrentUploads);
  const maxBytes = Math.min(DEFAULT_MAX_ATTACHMENT_BYTES, config.maxTranscriptBytes);
  await parent.register(async (scope) => {
    const app = scope as ApiApp;
    app.removeAllContentTypeParsers();
    // The body is left in the socket, because the handler streams it.
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.put(
      '/v1/sessions/:session_id/attachments',
      { schema: uploadSchema, config: { scope: 'ingest', reveals: 'nothing', isRateLimited: false } },
      (request, reply) =>
        slots.run(uploaderOf(request), async () => {
          assertBodySize({ maxTranscriptBytes: maxBytes }, request);
          await deps.space.assertRoom(Number(request.headers['content-length'] ?? 0));
          const encoding = parseContentEncoding(request.headers['content-encoding']);
          const digests = parseDigests(request.headers);
          const limits = openBody({ ...config, maxTranscriptBytes: maxBytes }, request, reply);
          const sent = verifyDigests(readBody(request.raw, limits), digests.sent);
          const decoded = encoding === undefined ? sent : decodeBody(sent, encoding);
          const { path, agent, machine, person, modified_at: modifiedAt } = request.query;
          const { attachment, outcome } = await receiveAttachment(deps, {
            workspaceId: workspaceOf(request),
            uploaderKeyId: uploaderOf(request),
            sessionId: request.params.session_id,
            ...{ path, agent, machine, maxBytes },
            person: personOf(request, person),
            modifiedAtMs: modifiedAt === undefined ? undefined : Date.parse(modifiedAt),
            body: verifyDigests(decoded, digests.decoded),
          }).catch((error: unknown) => {
            deps.space.noteFailure(error);
            throw error;
          });
          reply.header(
            'location',
            `/v1/sessions/${encodeURIComponent(attachment.session_id)}/attachments/${attachment.id}`,
          );
          return reply.code(outcome === 'stored' ? 201 : 200).send({ attachment: toAnswer(attachment), outcome });
        }),
    );
  });
}

function addAttachmentReading(app: ApiApp, deps: Deps): void {
  const { database } = deps.database;
  app.get('/v1/sessions/:session_id/attachments', LIST_ATTACHMENTS, async (request) => {
    const workspaceId = workspaceOf(request);
    const { limit, cursor } = request.query;
    const page = { after: parseCursor(cursorSchema, cursor), limit: limit + 1, onlyNames: request.onlyNames };
    const { session_id: name } = request.params;
    const named = await listAttachments(database, workspaceId, name, page);
    // The session is looked up only if its id has no attachments, because they may exist before any of its transcripts.
    const isNamed = named.length > 0 || cursor !== undefined;
    const sessionId = isNamed ? name : (await requireSession(database, workspaceId, name)).session_id;
    const rows = sessionId === name ? named : await listAttachments(database, workspaceId, sessionId, page);
    const { page: shown, next_cursor } = cutPage(rows, limit, ({ path, id }) => ({ path, id }));
    const attachments = await showPeople(database, workspaceId, shown);
    return { attachments: attachments.map(toAnswer), next_cursor };
  });

  app.get('/v1/sessions/:session_id/attachments/:attachment_id', GET_ATTACHMENT, async (request, reply) => {
    const workspaceId = workspaceOf(request);
    const { session_id: sessionId, attachment_id: id } = request.params;
    const row = await findAttachment(database, workspaceId, id);
    if (row?.session_id !== sessionId) throw new ProblemError('not-found', 'The session has no such attachment');
    const { redact, max_bytes: maxBytes = row.size_bytes } = request.query;
    const sizeBytes = Math.min(maxBytes, row.size_bytes);
    const name = row.path.slice(row.path.lastIndexOf('/') + 1);
    reply.type(MEDIA_TYPE).headers({
      'content-disposition': toAttachment(name.replace(/\.[^.]*$/, ''), /\.[A-Za-z0-9]{1,8}$/.exec(name)?.[0] ?? ''),
      'cache-control': 'private, no-cache',
    });
    // The rules may find more tomorrow, so only bytes that are sent as stored have a known hash.
    if (!redact && sizeBytes === row.size_bytes) {
      const entityTag = `"${row.stored_sha256 ?? row.sha256}"`;
      reply.header('etag', entityTag);
      if (matchesEntityTag(request.headers['if-none-match'], entityTag)) return reply.code(304).send();
    }
    reply.header('content-length', sizeBytes);
    return reply.send(Readable.from(await readAttachment(deps, row, { redact, maxBytes: sizeBytes })));
  });
}

const toAnswer = ({ workspace_id: _workspace, object_key: _key, ...row }: AttachmentRow): Attachment => row;
