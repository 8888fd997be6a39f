import {
  messageListQuerySchema,
  messageListSchema,
  outlineQuerySchema,
  outlineSchema,
  sessionChangesSchema,
  sessionCostsSchema,
  sessionParamsSchema,
  sessionTranscriptQuerySchema,
} from '@recount/contract';
import { type Database, readSessionCosts } from '@recount/db';
import pLimit from 'p-limit';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { addAttachments } from '../paging/add-attachments.ts';
import { listMessagePage } from '../paging/list-pages.ts';
import { readOutline } from '../paging/outline.ts';
import { readSessionChanges } from '../paging/session-changes.ts';
import { workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { noSuchSessionResponse, requireRows, requireSession } from './require-session.ts';

const noRows = {
  409: problemResponse('The transcript has no rows, because it is not ingested, or superseded by a longer one'),
  410: problemResponse('The workspace no longer keeps the messages'),
};

const LIST_SESSION_MESSAGES = {
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'listSessionMessages',
    summary: 'List the messages of a session with their content blocks',
    description: 'Content of its primary transcript, or of the named one. If a text was cut, its line has the whole.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    querystring: messageListQuerySchema,
    response: { 200: messageListSchema, 404: noSuchSessionResponse, ...noRows },
  },
} as const;

const GET_SESSION_OUTLINE = {
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'getSessionOutline',
    summary: 'Read the turns of a session without their texts',
    description:
      'All sub-agents, however many there are, with kind, cost and failures of each. Read their messages with `from_message_id`.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    querystring: outlineQuerySchema,
    response: { 200: outlineSchema, 404: noSuchSessionResponse, ...noRows },
  },
} as const;

const GET_SESSION_CHANGES = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'getSessionChanges',
    summary: 'Read what a session changed in files',
    description: 'Files, and lines added and removed, computed from the inputs of its edits.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    querystring: sessionTranscriptQuerySchema,
    response: { 200: sessionChangesSchema, 404: noSuchSessionResponse, ...noRows },
  },
} as const;

const GET_SESSION_COSTS = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'getSessionCosts',
    summary: 'Read the breakdown of a session’s cost',
    description: 'By model, class of tokens and rate, with the most expensive responses.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    response: { 200: sessionCostsSchema, 404: noSuchSessionResponse },
  },
} as const;

/** Outlines and changes of whole sessions are made in memory, up to about 100 MB each; further ones wait. */
const MAX_CONCURRENT_SUMMARIES = 2;
const MAX_WAITING_SUMMARIES = 32;
const RETRY_AFTER = { 'retry-after': '5' };

/** The contents of a session, its messages, an outline of them, its changes to files, its costs. */
export function addSessionContentRoutes(app: ApiApp, deps: Pick<ApiDependencies, 'database'>): void {
  const limitSummaries = pLimit(MAX_CONCURRENT_SUMMARIES);
  const summarize = <Result>(read: (snapshot: Database) => Promise<Result>): Promise<Result> => {
    if (limitSummaries.pendingCount >= MAX_WAITING_SUMMARIES)
      throw new ProblemError('too-many-requests', 'Too many outlines and changes are being read', {
        headers: RETRY_AFTER,
      });
    return limitSummaries(() => deps.database.withSnapshot(read));
  };

  app.get('/v1/sessions/:session_id/messages', LIST_SESSION_MESSAGES, async (request) => {
    const workspaceId = workspaceOf(request);
    const { transcript_id, from_message_id: fromId, limit, cursor, max_bytes: maxBytes } = request.query;
    // In one snapshot, because a longer version may replace the session between two queries.
    return await deps.database.withSnapshot(async (snapshot) => {
      const session = await requireSession(snapshot, workspaceId, request.params.session_id);
      const transcriptId = transcript_id ?? session.primary_transcript_id;
      const rowSetId = await requireRows(snapshot, session, transcriptId);
      const page = await listMessagePage(
        snapshot,
        { workspaceId, rowSetId },
        {
          ...{ limit, cursor, fromId, maxBytes },
        },
      );
      const messages = await addAttachments(snapshot, { workspaceId, agent: session.agent }, page.messages);
      return { session_id: session.session_id, transcript_id: transcriptId, ...page, messages };
    });
  });

  app.get('/v1/sessions/:session_id/outline', GET_SESSION_OUTLINE, async (request) => {
    const workspaceId = workspaceOf(request);
    const { transcript_id, contains } = request.query;
    return await summarize(async (snapshot) => {
      const session = await requireSession(snapshot, workspaceId, request.params.session_id);
      const transcriptId = transcript_id ?? session.primary_transcript_id;
      const rowSetId = await requireRows(snapshot, session, transcriptId);
      const outline = await readOutline(snapshot, { workspaceId, rowSetId }, contains);
      return { session_id: session.session_id, transcript_id: transcriptId, ...outline };
    });
  });

  app.get('/v1/sessions/:session_id/changes', GET_SESSION_CHANGES, async (request) => {
    const workspaceId = workspaceOf(request);
    return await summarize(async (snapshot) => {
      const session = await requireSession(snapshot, workspaceId, request.params.session_id);
      const transcriptId = request.query.transcript_id ?? session.primary_transcript_id;
      const rowSetId = await requireRows(snapshot, session, transcriptId);
      const changes = await readSessionChanges(snapshot, { workspaceId, rowSetId });
      return { session_id: session.session_id, transcript_id: transcriptId, ...changes };
    });
  });

  app.get('/v1/sessions/:session_id/costs', GET_SESSION_COSTS, async (request) => {
    const { workspace_id, session_id } = await requireSession(
      deps.database.database,
      workspaceOf(request),
      request.params.session_id,
    );
    return { session_id, ...(await readSessionCosts(deps.database.database, workspace_id, session_id)) };
  });
}
