import {
  diskUseSchema,
  ingestionSchema,
  issueListQuerySchema,
  issueListSchema,
  noticeListSchema,
  reparseReceiptSchema,
  type Transcript,
  transcriptListQuerySchema,
  transcriptListSchema,
  transcriptParamsSchema,
  transcriptSchema,
} from '@recount/contract';
import {
  countTranscriptErrors,
  countTranscriptsByStatus,
  type Database,
  findTranscript,
  listIssues,
  listNotices,
  listTranscripts,
  readDiskUse,
  readSearchBacklog,
  sumRawBytes,
  type TranscriptRow,
  titleTranscripts,
} from '@recount/db';
import { deleteTranscript, requeueTranscript } from '@recount/ingest';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { cutPage, parseCursor } from '../paging/list-pages.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const transcriptCursorSchema = z.strictObject({ transcript: z.string().regex(/^[0-9A-Z]{26}$/) });
const issueCursorSchema = z.strictObject({ issue: z.int32() });

/** Final states, where a transcript can be requeued from; the others are waiting or in progress. */
const FINISHED = ['ingested', 'superseded', 'failed'] as const;

const MAX_NOTICES = 1000;

export const noSuchTranscriptResponse = problemResponse('The workspace has no such transcript');

const LIST_TRANSCRIPTS = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listTranscripts',
    summary: 'List transcripts',
    description: 'In the order of their upload, or the latest first.',
    tags: ['transcripts'],
    querystring: transcriptListQuerySchema,
    response: { 200: transcriptListSchema },
  },
} as const;

const GET_INGESTION = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'getIngestion',
    summary: 'Count transcripts by status',
    tags: ['transcripts'],
    response: { 200: ingestionSchema },
  },
} as const;

const LIST_NOTICES = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listNotices',
    summary: 'List what recount does not read',
    description:
      'Types of lines, content and usage in the workspace’s transcripts that recount does not read or does not know. Their raw bytes stay stored.',
    tags: ['transcripts'],
    response: { 200: noticeListSchema },
  },
} as const;

const GET_DISK_USE = {
  config: { scope: 'read', reveals: 'nothing' },
  schema: {
    operationId: 'getDiskUse',
    summary: 'Read the disk use of transcripts and their rows',
    tags: ['operations'],
    response: { 200: diskUseSchema },
  },
} as const;

const GET_TRANSCRIPT = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'getTranscript',
    summary: 'Read a transcript’s status and figures',
    tags: ['transcripts'],
    params: transcriptParamsSchema,
    response: { 200: transcriptSchema, 404: noSuchTranscriptResponse },
  },
} as const;

const LIST_TRANSCRIPT_ISSUES = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listTranscriptIssues',
    summary: 'List what is wrong in a transcript',
    description: 'In the order of its lines. The transcript itself has the counts of all issues.',
    tags: ['transcripts'],
    params: transcriptParamsSchema,
    querystring: issueListQuerySchema,
    response: { 200: issueListSchema, 404: noSuchTranscriptResponse },
  },
} as const;

const REPARSE_TRANSCRIPT = {
  config: { scope: 'ingest', reveals: 'nothing' },
  schema: {
    operationId: 'reparseTranscript',
    summary: 'Ingest a transcript again from its raw bytes',
    description:
      'Its rows stay until the new ones replace them. Does nothing if it is queued or being ingested already.',
    tags: ['transcripts'],
    params: transcriptParamsSchema,
    response: {
      202: reparseReceiptSchema,
      404: noSuchTranscriptResponse,
      410: problemResponse('The workspace no longer keeps its bytes'),
    },
  },
} as const;

const DELETE_TRANSCRIPT = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'deleteTranscript',
    summary: 'Delete a transcript',
    description:
      'Deletes its rows and its raw bytes permanently. Responses it was credited with are re-assigned to other transcripts, the primary version is chosen again, and rows of shorter versions are ingested again. Its key may upload it again, so revoke that first.',
    tags: ['transcripts'],
    params: transcriptParamsSchema,
    response: { 204: z.undefined().describe('Deleted'), 404: noSuchTranscriptResponse },
  },
} as const;

/** Routes that read transcripts. */
export function addTranscriptRoutes(app: ApiApp, deps: Pick<ApiDependencies, 'database'>): void {
  const { database } = deps.database;

  app.get('/v1/transcripts', LIST_TRANSCRIPTS, async (request) => {
    const {
      status,
      session_id: sessionId,
      sha256,
      uploader_key_id: uploaderKeyId,
      has_errors,
      ...page
    } = request.query;
    const statuses = status === undefined ? undefined : [status].flat();
    const filter = { sessionId, sha256, uploaderKeyId, statuses, hasErrors: has_errors };
    return await listTranscriptPage(deps, workspaceOf(request), filter, page);
  });

  app.get('/v1/ingestion', GET_INGESTION, async (request) => {
    const workspaceId = workspaceOf(request);
    const counts = await countTranscriptsByStatus(database, { workspaceId });
    const { errors, transcripts } = await countTranscriptErrors(database, workspaceId);
    const { waitingSessions, failingSessions } = await readSearchBacklog(database, workspaceId);
    const search = { waiting_sessions: waitingSessions, failing_sessions: failingSessions };
    return { transcripts: counts, error_count: errors, transcripts_with_errors: transcripts, search };
  });

  app.get('/v1/notices', LIST_NOTICES, async (request) => {
    const notices = await listNotices(database, workspaceOf(request), MAX_NOTICES);
    return {
      notices: notices.map(({ agentVersion, transcriptCount, occurrenceCount, ...notice }) => ({
        ...notice,
        agent_version: agentVersion,
        transcript_count: transcriptCount,
        occurrence_count: occurrenceCount,
      })),
    };
  });

  app.get('/v1/disk', GET_DISK_USE, async (request) => {
    const isAdmin = request.keyHolder?.scopes.includes('admin');
    const use = isAdmin ? await readDiskUse(database) : undefined;
    return {
      raw_bytes: await sumRawBytes(database, workspaceOf(request)),
      database_bytes: use?.databaseBytes ?? null,
      search_bytes: use?.searchBytes ?? null,
      wal_bytes: use?.walBytes ?? null,
    };
  });

  app.get('/v1/transcripts/:transcript_id', GET_TRANSCRIPT, (request) =>
    readTranscript(deps.database.database, workspaceOf(request), request.params.transcript_id),
  );

  app.get('/v1/transcripts/:transcript_id/issues', LIST_TRANSCRIPT_ISSUES, (request) =>
    listIssuePage(database, workspaceOf(request), request.params.transcript_id, request.query),
  );
}

async function listIssuePage(
  database: Database,
  workspaceId: string,
  transcriptId: string,
  { limit, cursor }: z.output<typeof issueListQuerySchema>,
) {
  const afterNumber = parseCursor(issueCursorSchema, cursor)?.issue;
  const { workspace_id, row_set_id } = await requireTranscript(database, workspaceId, transcriptId);
  const query = { afterNumber, limit: limit + 1 };
  const rows = row_set_id === null ? [] : await listIssues(database, workspace_id, row_set_id, query);
  const { page: issues, next_cursor } = cutPage(rows, limit, ({ issue_number: issue }) => ({ issue }));
  return { issues, next_cursor };
}

/** Routes that change transcripts. */
export function addTranscriptChanges(app: ApiApp, deps: Omit<ApiDependencies, 'log'>): void {
  app.post('/v1/transcripts/:transcript_id/reparse', REPARSE_TRANSCRIPT, async (request, reply) => {
    const job = { workspaceId: workspaceOf(request), transcriptId: request.params.transcript_id };
    await requeueTranscript(deps, job, FINISHED, { actor: actorOf(request) });
    const row = await requireTranscript(deps.database.database, job.workspaceId, job.transcriptId);
    const { id, session_id, status, raw_deleted_at: deletedAt } = row;
    if (deletedAt !== null) throw new ProblemError('expired', `The bytes were deleted at ${deletedAt}, by their age`);
    return reply.code(202).send({ transcript_id: id, session_id, status });
  });

  app.delete('/v1/transcripts/:transcript_id', DELETE_TRANSCRIPT, async (request, reply) => {
    const isDeleted = await deleteTranscript(deps, workspaceOf(request), request.params.transcript_id);
    if (!isDeleted) throw noSuchTranscript();
    return reply.code(204).send();
  });
}

/** A page of a workspace's transcripts. Throws ProblemError `invalid-cursor`. */
export async function listTranscriptPage(
  deps: Pick<ApiDependencies, 'database'>,
  workspaceId: string,
  filter: Parameters<typeof listTranscripts>[2],
  { limit, cursor, order = 'asc' }: { limit: number; cursor?: string | undefined; order?: 'asc' | 'desc' },
): Promise<z.infer<typeof transcriptListSchema>> {
  const afterId = parseCursor(transcriptCursorSchema, cursor)?.transcript;
  const rows = await listTranscripts(deps.database.database, workspaceId, filter, { afterId, limit: limit + 1, order });
  const { page, next_cursor } = cutPage(rows, limit, ({ id }) => ({ transcript: id }));
  return { transcripts: await toTranscripts(deps.database.database, workspaceId, page), next_cursor };
}

/** Throws ProblemError `not-found`. */
export async function requireTranscript(
  database: Database,
  workspaceId: string,
  transcriptId: string,
): Promise<TranscriptRow> {
  const transcript = await findTranscript(database, workspaceId, transcriptId);
  if (transcript === undefined) throw noSuchTranscript();
  return transcript;
}

const noSuchTranscript = (): ProblemError => new ProblemError('not-found', 'There is no such transcript');

async function readTranscript(database: Database, workspaceId: string, transcriptId: string): Promise<Transcript> {
  const row = await requireTranscript(database, workspaceId, transcriptId);
  const [transcript] = await toTranscripts(database, workspaceId, [row]);
  if (transcript === undefined) throw noSuchTranscript();
  return transcript;
}

/** Columns that the contract does not list are dropped when the answer is serialized. */
async function toTranscripts(
  database: Database,
  workspaceId: string,
  rows: readonly TranscriptRow[],
): Promise<Transcript[]> {
  const titled = await titleTranscripts(database, workspaceId, rows);
  return titled.map((row) => {
    const { issue_counts, secret_counts } = row as Pick<Transcript, 'issue_counts' | 'secret_counts'>;
    return { ...row, issue_counts, secret_counts };
  });
}
