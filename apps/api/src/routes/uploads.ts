import multipart from '@fastify/multipart';
import {
  continuationHeadersSchema,
  MAX_UPLOAD_FILES,
  multipartReceiptSchema,
  transcriptParamsSchema,
  type UploadQuery,
  uploadHeadersSchema,
  uploadProblemSchema,
  uploadQuerySchema,
  uploadReceiptSchema,
} from '@recount/contract';
import type { TranscriptRow } from '@recount/db';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { ApiConfig } from '../config.ts';
import type { SpaceWatch } from '../disk-space/space-watch.ts';
import type { ApiMetrics } from '../metrics/metrics.ts';
import { personOf, uploaderOf, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { decodeBody, parseContentEncoding } from '../uploads/decode-body.ts';
import { findSha256, hasDigests, parseDigests, verifyDigests } from '../uploads/digests.ts';
import { type BodyLimits, MAX_PATIENCE_MS, readBody } from '../uploads/read-body.ts';
import { createUploadSlots, receiveFile } from '../uploads/receive-file.ts';
import { receiveMultipart } from '../uploads/receive-multipart.ts';
import { requireTranscript } from './transcripts.ts';

type Deps = ApiDependencies & {
  metrics: Pick<ApiMetrics, 'observeUpload'>;
  space: Pick<SpaceWatch, 'assertRoom' | 'noteFailure'>;
};
type Config = Pick<ApiConfig, 'maxTranscriptBytes' | 'maxConcurrentUploads' | 'uploadIdleTimeoutMs'>;

/** The overhead of a request over its transcripts, such as multipart headers, or compression that made it longer. */
const MAX_OVERHEAD_BYTES = 1024 * 1024;
const MAX_FIELDS = 10;
const MAX_FIELD_BYTES = 4096;

const schema = {
  operationId: 'uploadTranscripts',
  summary: 'Upload a transcript, or several',
  description: [
    'After a 200 or 202, the transcript is stored permanently and will be ingested.',
    'The same bytes of the same session again are a duplicate and add nothing, so it is safe to repeat an upload.',
    'The stored ones are then read and compared. If they are lost or damaged, the upload replaces them.',
    'With a digest (`Content-Digest`, `Unencoded-Digest`, `x-amz-checksum-sha256`) the upload itself is checked;',
    'Content-Digest and Unencoded-Digest may also come as trailers, with sha-256.',
    'The session is determined by `session_id`, else by the path, else by the lines.',
    'A request that fails leaves nothing behind; of a multipart request, the files before the failure stay.',
  ].join(' '),
  tags: ['transcripts'],
  querystring: uploadQuerySchema,
  headers: uploadHeadersSchema,
  response: {
    200: z.union([uploadReceiptSchema, multipartReceiptSchema]).describe('All of it was stored already'),
    400: problemResponse('The body does not match its encoding or its digest; nothing is stored', uploadProblemSchema),
    202: z
      .union([uploadReceiptSchema, multipartReceiptSchema])
      .describe('Stored; Location is the transcript, if it is one'),
    207: multipartReceiptSchema.describe('Multipart upload where at least one file was refused, see its `error`'),
    408: problemResponse('The client was silent for too long', uploadProblemSchema),
    413: problemResponse('Larger than the limit, decoded', uploadProblemSchema),
    415: problemResponse('An encoding, or a kind of multipart, that is not supported; see Accept-Encoding'),
    507: problemResponse('The raw store has no space left; see Retry-After', uploadProblemSchema),
    422: problemResponse('Not a readable transcript, or its session cannot be determined'),
  },
};

const continuationSchema = {
  operationId: 'continueTranscript',
  summary: 'Upload what was added to a transcript',
  description: [
    'The body follows the stored bytes. Both together are treated like an upload of the whole, once their SHA-256 matches:',
    'a client that is wrong about the stored bytes gets `400` or `409`, nothing is stored, and it should upload the whole.',
  ].join(' '),
  tags: ['transcripts'],
  params: transcriptParamsSchema,
  querystring: uploadQuerySchema,
  headers: continuationHeadersSchema,
  response: {
    200: uploadReceiptSchema.describe('The whole was stored already'),
    202: uploadReceiptSchema.describe('Stored; Location is the transcript'),
    400: problemResponse('Stored and added bytes together do not match the SHA-256; nothing is stored'),
    404: problemResponse('The workspace has no such transcript'),
    409: problemResponse('The stored transcript does not end where the body begins, or its bytes are missing'),
    413: problemResponse('Larger than the limit, decoded'),
    415: problemResponse('An encoding that is not supported; see Accept-Encoding'),
    507: problemResponse('The raw store has no space left; see Retry-After'),
  },
};

export async function addUploadRoutes(parent: ApiApp, deps: Deps, config: Config): Promise<void> {
  const slots = createUploadSlots(config.maxConcurrentUploads);
  await parent.register(async (scope) => {
    const app = scope as ApiApp;
    app.removeAllContentTypeParsers();
    await app.register(multipart, {
      preservePath: true,
      throwFileSizeLimit: false,
      limits: {
        files: MAX_UPLOAD_FILES,
        parts: MAX_UPLOAD_FILES + MAX_FIELDS,
        fields: MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        fileSize: Number.POSITIVE_INFINITY,
      },
    });
    // The body is left in the socket, because the handler streams it.
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.patch(
      '/v1/transcripts/:transcript_id',
      { schema: continuationSchema, config: { scope: 'ingest', reveals: 'nothing', isRateLimited: false } },
      (request, reply) =>
        slots.run(uploaderOf(request), async () => {
          const storedBytes = request.headers['recount-offset'];
          assertBodySize(config, request, storedBytes);
          await deps.space.assertRoom(storedBytes + Number(request.headers['content-length'] ?? 0));
          return await handleContinuation(deps, config, request, request, reply).catch((error: unknown) => {
            deps.space.noteFailure(error);
            throw error;
          });
        }),
    );
    app.post(
      '/v1/transcripts',
      { schema, config: { scope: 'ingest', reveals: 'nothing', isRateLimited: false } },
      (request, reply) =>
        slots.run(uploaderOf(request), async () => {
          // Before anything of the body is read, or requested by 100-continue.
          assertBodySize(config, request);
          await deps.space.assertRoom(Number(request.headers['content-length'] ?? 0));
          const handle = request.isMultipart() ? handleMultipart : handleSingle;
          return await handle(deps, config, request, request.query, reply).catch((error: unknown) => {
            deps.space.noteFailure(error);
            throw error;
          });
        }),
    );
  });
}

async function handleSingle(
  deps: Deps,
  config: Config,
  request: FastifyRequest,
  query: UploadQuery,
  reply: FastifyReply,
) {
  if (/^multipart\//i.test(request.headers['content-type'] ?? '')) {
    throw new ProblemError('unsupported-media-type', 'Only multipart/form-data is accepted');
  }
  const encoding = parseContentEncoding(request.headers['content-encoding']);
  const digests = parseDigests(request.headers);
  const limits = openBody(config, request, reply);
  const trailers = hasDigestTrailers(request) ? () => parseDigests(request.raw.trailers) : undefined;
  const sent = readBody(request.raw, limits);
  const bytes = verifyDigests(sent, digests.sent, trailers && (() => trailers().sent));
  const decoded = encoding === undefined ? bytes : decodeBody(bytes, encoding);
  const receipt = await receiveFile(
    { ...deps, log: request.log },
    {
      workspaceId: workspaceOf(request),
      uploaderKeyId: uploaderOf(request),
      machine: query.machine,
      repository: query.repository,
      worktree: query.worktree,
      person: personOf(request, query.person),
      body: verifyDigests(decoded, digests.decoded, trailers && (() => trailers().decoded)),
      sha256: findSha256([...digests.decoded, ...(encoding === undefined ? digests.sent : [])]),
      sessionId: query.session_id,
      path: query.path,
      agent: query.agent,
      maxBytes: config.maxTranscriptBytes,
    },
  );
  reply.header('location', `/v1/transcripts/${receipt.transcript_id}`);
  return reply.code(receipt.duplicate ? 200 : 202).send(receipt);
}

/** True if the client announces digests after the body. A proxy may drop them. */
const hasDigestTrailers = ({ headers }: FastifyRequest): boolean => /-digest\b/i.test(headers.trailer ?? '');

/** Required of a request that continues a transcript. */
interface Continuation {
  params: { transcript_id: string };
  query: UploadQuery;
  headers: { 'recount-offset': number; 'recount-sha256': string };
}

/**
 * True if more lines cannot change whose transcript it is. For a sub-agent's, the first line may have to name the
 * parent.
 */
const isIdentified = ({ is_subagent, parent_session_id }: TranscriptRow): boolean =>
  !is_subagent || parent_session_id !== null;

/**
 * Receives the stored bytes followed by the body's as one transcript, which replaces the stored one when it is
 * ingested.
 */
async function handleContinuation(
  deps: Deps,
  config: Config,
  request: FastifyRequest,
  { params, query, headers }: Continuation,
  reply: FastifyReply,
) {
  const workspaceId = workspaceOf(request);
  const base = await requireTranscript(deps.database.database, workspaceId, params.transcript_id);
  const isWhole = base.stored_sha256 === null && base.raw_deleted_at === null && base.raw_damaged_at === null;
  if (!isWhole || base.size_bytes !== headers['recount-offset']) {
    const detail = isWhole ? `It has ${base.size_bytes} bytes` : 'Its stored bytes are not those uploaded';
    throw new ProblemError('not-continued', `${detail}: upload the transcript as a whole`);
  }
  const encoding = parseContentEncoding(request.headers['content-encoding']);
  const digests = parseDigests(request.headers);
  const sent = verifyDigests(readBody(request.raw, openBody(config, request, reply)), digests.sent);
  const added = encoding === undefined ? sent : decodeBody(sent, encoding);
  async function* joined(): AsyncGenerator<Buffer> {
    yield* await deps.rawStore.get(base.object_key);
    yield* verifyDigests(added, digests.decoded);
  }
  const whole = { algorithm: 'sha256' as const, value: Buffer.from(headers['recount-sha256'], 'hex') };
  const receipt = await receiveFile(
    { ...deps, log: request.log },
    {
      workspaceId,
      uploaderKeyId: uploaderOf(request),
      machine: query.machine,
      repository: query.repository,
      worktree: query.worktree,
      person: personOf(request, query.person),
      body: verifyDigests(joined(), [whole]),
      sha256: findSha256([whole]),
      sessionId: query.session_id ?? (isIdentified(base) ? base.session_id : undefined),
      // Often only the path tells that it is a sub-agent's, and whose.
      path: query.path ?? base.path ?? undefined,
      agent: query.agent,
      maxBytes: config.maxTranscriptBytes,
    },
  );
  reply.header('location', `/v1/transcripts/${receipt.transcript_id}`);
  return reply.code(receipt.duplicate ? 200 : 202).send(receipt);
}

async function handleMultipart(
  deps: Deps,
  config: Config,
  request: FastifyRequest,
  query: UploadQuery,
  reply: FastifyReply,
) {
  if (parseContentEncoding(request.headers['content-encoding']) !== undefined) {
    throw new ProblemError('unsupported-encoding', 'A multipart body is accepted only without Content-Encoding');
  }
  if (hasDigests(parseDigests(request.headers))) {
    const detail =
      'A digest is only checked for a body that is one transcript, because a multipart body is stored file by file';
    throw new ProblemError('invalid-digest', detail);
  }
  const workspaceId = workspaceOf(request);
  const origin = {
    uploaderKeyId: uploaderOf(request),
    machine: query.machine,
    repository: query.repository,
    worktree: query.worktree,
    person: personOf(request, query.person),
  };
  const results = await receiveMultipart({
    limits: openBody(config, request, reply),
    parts: request.parts(),
    sessionId: query.session_id,
    requestId: request.id,
    receive: (file) =>
      receiveFile(
        { ...deps, log: request.log },
        { ...file, ...origin, workspaceId, agent: query.agent, maxBytes: config.maxTranscriptBytes },
      ),
  });
  const hasFailures = results.some((result) => 'error' in result);
  const hasNews = results.some((result) => 'duplicate' in result && !result.duplicate);
  return reply.code(hasFailures ? 207 : hasNews ? 202 : 200).send({ results });
}

/**
 * Throws ProblemError if the headers announce a larger body than is accepted after the stored bytes, however much room
 * there is.
 */
export function assertBodySize(
  { maxTranscriptBytes }: Pick<Config, 'maxTranscriptBytes'>,
  { headers }: Pick<FastifyRequest, 'headers'>,
  storedBytes = 0,
): void {
  if (storedBytes + Number(headers['content-length'] ?? 0) <= maxTranscriptBytes + MAX_OVERHEAD_BYTES) return;
  throw new ProblemError('transcript-too-large', `At most ${maxTranscriptBytes} bytes are accepted`);
}

/**
 * The limits of a request's body, which the client may send from now on. Throws ProblemError if its headers announce
 * too much.
 */
export function openBody(
  config: Pick<Config, 'maxTranscriptBytes' | 'uploadIdleTimeoutMs'>,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): BodyLimits {
  const maxBodyBytes = config.maxTranscriptBytes + MAX_OVERHEAD_BYTES;
  assertBodySize(config, { headers });
  if (headers.expect !== undefined) reply.raw.writeContinue();
  return { idleTimeoutMs: config.uploadIdleTimeoutMs, remainingBytes: maxBodyBytes, patienceMs: MAX_PATIENCE_MS };
}
