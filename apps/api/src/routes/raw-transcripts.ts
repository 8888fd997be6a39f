import { transcriptLineParamsSchema, transcriptParamsSchema } from '@recount/contract';
import type { TranscriptRow } from '@recount/db';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import {
  matchesEntityTag,
  mayServeRange,
  parseByteRange,
  type SatisfiableRange,
  toAttachment,
} from '../http/download-headers.ts';
import { readLineAt } from '../http/read-line.ts';
import { workspaceOf } from '../plugins/authentication.ts';
import { problemResponse, toResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { noSuchTranscriptResponse, requireTranscript } from './transcripts.ts';

const MEDIA_TYPE = 'application/x-ndjson';
const lines = z.string().meta({ contentMediaType: MEDIA_TYPE });
const nothing = z.undefined();
const expired = problemResponse('The workspace no longer keeps its bytes');

const rawSchema = {
  tags: ['transcripts'],
  params: transcriptParamsSchema,
};

const GET_RAW_TRANSCRIPT = {
  exposeHeadRoute: false,
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    ...rawSchema,
    operationId: 'getRawTranscript',
    summary: 'Download the bytes of a transcript',
    description:
      'As they were uploaded, decoded; or, as the workspace chose, with secrets replaced in place. ETag is their SHA-256; If-None-Match, Range (one range) and If-Range work.',
    response: {
      200: toResponse('The whole transcript', MEDIA_TYPE, lines),
      206: toResponse('The requested range; see Content-Range', MEDIA_TYPE, lines),
      304: nothing.describe('Unchanged. It changes only if secrets are removed'),
      404: noSuchTranscriptResponse,
      410: expired,
      416: problemResponse('The range contains no byte'),
    },
  },
} as const;

const GET_TRANSCRIPT_LINE = {
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'getTranscriptLine',
    summary: 'Download one line of a transcript',
    description: 'The whole line, without its line feed. Rows hold only the beginning of texts that are too long.',
    tags: ['transcripts'],
    params: transcriptLineParamsSchema,
    response: {
      200: toResponse('The line', MEDIA_TYPE, lines),
      404: problemResponse('The workspace has no such transcript, or no line starts at this byte'),
      410: expired,
    },
  },
} as const;

export function addRawTranscriptRoutes(app: ApiApp, deps: Pick<ApiDependencies, 'database' | 'rawStore'>): void {
  app.get('/v1/transcripts/:transcript_id/raw', GET_RAW_TRANSCRIPT, async (request, reply) => {
    const transcript = await requireRawTranscript(deps, workspaceOf(request), request.params.transcript_id);
    const { range, 'if-range': ifRange, 'if-none-match': ifNoneMatch } = request.headers;
    const entityTag = setRawHeaders(reply, transcript);
    if (matchesEntityTag(ifNoneMatch, entityTag)) return reply.code(304).send();
    const { object_key: key, size_bytes: sizeBytes } = transcript;
    // An If-Range header is always a single string; Node's types allow several for headers that they do not know.
    const wanted = mayServeRange(ifRange?.toString(), entityTag) ? parseByteRange(range, sizeBytes) : undefined;
    if (wanted === 'unsatisfiable') throw toRangeProblem(sizeBytes);
    const stream = await deps.rawStore.get(key, wanted === undefined ? {} : { range: wanted });
    if (wanted !== undefined) reply.code(206).header('content-range', toContentRange(wanted, sizeBytes));
    const lengthBytes = wanted === undefined ? sizeBytes : wanted.endByteExclusive - wanted.startByte;
    return reply.header('content-length', lengthBytes).send(stream);
  });

  app.head(
    '/v1/transcripts/:transcript_id/raw',
    {
      config: { scope: 'read', reveals: 'texts', swagger: { exposeHeadRoute: true } },
      schema: {
        ...rawSchema,
        operationId: 'getRawTranscript',
        summary: 'Read size and ETag of a transcript',
        response: {
          200: nothing.describe('Headers only'),
          304: nothing.describe('Not changed'),
          404: noSuchTranscriptResponse,
          410: expired,
        },
      },
    },
    async (request, reply) => {
      const transcript = await requireRawTranscript(deps, workspaceOf(request), request.params.transcript_id);
      const entityTag = setRawHeaders(reply, transcript);
      if (matchesEntityTag(request.headers['if-none-match'], entityTag)) return reply.code(304).send();
      return reply.header('content-length', transcript.size_bytes).send();
    },
  );

  app.get('/v1/transcripts/:transcript_id/lines/:byte_offset', GET_TRANSCRIPT_LINE, async (request, reply) => {
    const { transcript_id, byte_offset } = request.params;
    const transcript = await requireRawTranscript(deps, workspaceOf(request), transcript_id);
    const object = { key: transcript.object_key, sizeBytes: transcript.size_bytes };
    const line = await readLineAt(deps.rawStore, object, byte_offset);
    if (line === undefined) throw new ProblemError('not-found', 'No line of the transcript starts at this byte');
    const name = `${transcript.session_id}_${byte_offset}`;
    return reply.type(MEDIA_TYPE).header('content-disposition', toAttachment(name, '.json')).send(line);
  });
}

/** Throws ProblemError `not-found`, or `expired` if retention has deleted the bytes. */
async function requireRawTranscript(
  { database }: Pick<ApiDependencies, 'database'>,
  workspaceId: string,
  transcriptId: string,
): Promise<TranscriptRow> {
  const transcript = await requireTranscript(database.database, workspaceId, transcriptId);
  if (transcript.raw_deleted_at === null) return transcript;
  throw new ProblemError('expired', `The bytes were deleted at ${transcript.raw_deleted_at}, by their age`);
}

/** Returns the entity tag. */
function setRawHeaders(reply: FastifyReply, { sha256, stored_sha256, session_id }: TranscriptRow): string {
  const entityTag = `"${stored_sha256 ?? sha256}"`;
  reply.type(MEDIA_TYPE).headers({
    etag: entityTag,
    'accept-ranges': 'bytes',
    'content-disposition': toAttachment(session_id, '.jsonl'),
    // The bytes hardly ever change, but who may see them does, so it is revalidated each time, sent once.
    'cache-control': 'private, no-cache',
  });
  return entityTag;
}

const toContentRange = ({ startByte, endByteExclusive }: SatisfiableRange, sizeBytes: number): string =>
  `bytes ${startByte}-${endByteExclusive - 1}/${sizeBytes}`;

function toRangeProblem(sizeBytes: number): ProblemError {
  const headers = { 'content-range': `bytes */${sizeBytes}` };
  return new ProblemError('range-not-satisfiable', `The transcript has ${sizeBytes} bytes`, { headers });
}
