import {
  messageListQuerySchema,
  messageListSchema,
  outlineQuerySchema,
  outlineSchema,
  sessionChangesSchema,
  sessionCostsSchema,
  sessionDetailSchema,
  sessionListQuerySchema,
  sessionListSchema,
  sessionParamsSchema,
  sessionTranscriptQuerySchema,
  subagentListQuerySchema,
} from '@recount/contract';
import {
  type Database,
  findLiveSession,
  findSession,
  readSessionCosts,
  readSessionTrust,
  readSessionUsage,
  resolveSession,
  type SessionRow,
  UnresolvedNameError,
} from '@recount/db';
import { deleteSession } from '@recount/ingest';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { toLiveTotals } from '../live/to-live-totals.ts';
import { readOutline } from '../paging/outline.ts';
import { addErrorCounts, listMessagePage, listSessionPage } from '../paging/pages.ts';
import { readSessionChanges } from '../paging/session-changes.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { resolveFilter } from './analytics-report.ts';
import { listTranscriptPage, requireTranscript } from './transcripts.ts';

/** Transcripts shown with a session; a growing session may have had very many versions. */
const TRANSCRIPTS_OF_SESSION = 100;

const notFound = problemResponse('The workspace has no such session; one appears when a transcript of it is ingested');

const noRows = {
  409: problemResponse('The transcript has no rows: it is not ingested, or superseded by a longer one'),
  410: problemResponse('The workspace keeps the messages no longer'),
};

/** Everything about sessions but their deletion. */
export function addSessionRoutes(app: ApiApp, deps: Pick<ApiDependencies, 'database'>): void {
  const { database } = deps.database;

  app.get(
    '/v1/sessions',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listSessions',
        summary: 'List sessions',
        description: 'Those that pass all filters.',
        tags: ['sessions'],
        querystring: sessionListQuerySchema,
        response: { 200: sessionListSchema },
      },
    },
    async (request) => {
      const { sort, order, limit, cursor, is_subagent: isSubagent, has_errors: hasErrors, prompt } = request.query;
      const { branch, parent_session_id: parentId, ...named } = request.query;
      const { repository } = named;
      const { tool, program, mcp_server, skill, subagent_type, file, pull_request: pullRequest } = request.query;
      const { min_cost_usd: minCostUsd, max_cost_usd: maxCostUsd } = request.query;
      const workspaceId = workspaceOf(request);
      const { filter } = await resolveFilter(database, workspaceId, {
        ...named,
        git_branch: branch,
        session_id: parentId,
      });
      const { agent, project, model, machine, person, gitBranch, sessionId: parentSessionId, from, to } = filter;
      const conditions = {
        ...{
          agent,
          project,
          model,
          machine,
          person,
          branch: gitBranch,
          repository,
          parentSessionId,
          isSubagent,
          hasErrors,
          prompt,
        },
        ...{ from: from ?? undefined, to: to ?? undefined },
        calls: { tool_name: tool, program, mcp_server, skill_name: skill, subagent_type },
        ...{ file, pullRequest, minCostUsd, maxCostUsd },
      };
      return await listSessionPage(database, workspaceId, conditions, { sort, order, limit, cursor });
    },
  );

  app.get(
    '/v1/sessions/:session_id',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getSession',
        summary: 'Read a session with its transcripts',
        tags: ['sessions'],
        params: sessionParamsSchema,
        response: { 200: sessionDetailSchema, 404: notFound },
      },
    },
    async (request) => {
      const session = await requireSession(database, workspaceOf(request), request.params.session_id);
      const { workspace_id, session_id: sessionId } = session;
      const page = await listTranscriptPage(deps, workspace_id, { sessionId }, { limit: TRANSCRIPTS_OF_SESSION });
      const [counted] = await addErrorCounts(database, workspace_id, [session]);
      const usage = await readSessionUsage(database, workspace_id, sessionId);
      const trust = await readSessionTrust(database, workspace_id, sessionId);
      const live = await findLiveSession(database, { workspaceId: workspace_id, sessionId });
      return {
        ...session,
        tool_error_count: counted?.tool_error_count ?? 0,
        api_error_count: counted?.api_error_count ?? 0,
        usage,
        ...trust,
        live: live === undefined ? null : toLiveTotals(live),
        transcripts: page.transcripts,
        transcripts_next_cursor: page.next_cursor,
      };
    },
  );

  app.get(
    '/v1/sessions/:session_id/messages',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listSessionMessages',
        summary: 'List the messages of a session with their content blocks',
        description:
          'Of its primary transcript, or of the one that is named. Where a text was cut, its line has the whole.',
        tags: ['sessions'],
        params: sessionParamsSchema,
        querystring: messageListQuerySchema,
        response: { 200: messageListSchema, 404: notFound, ...noRows },
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const { transcript_id, from_message_id: fromId, limit, cursor } = request.query;
      // One snapshot: the session may be replaced by a longer version between two queries.
      return await deps.database.withSnapshot(async (snapshot) => {
        const session = await requireSession(snapshot, workspaceId, request.params.session_id);
        const transcriptId = transcript_id ?? session.primary_transcript_id;
        const rowSetId = await requireRows(snapshot, session, transcriptId);
        const page = await listMessagePage(snapshot, { workspaceId, rowSetId }, { limit, cursor, fromId });
        return { session_id: session.session_id, transcript_id: transcriptId, ...page };
      });
    },
  );

  app.get(
    '/v1/sessions/:session_id/outline',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getSessionOutline',
        summary: 'Read the turns of a session without their texts',
        description:
          'All of them, however many there are: what each is, cost and failed. Read the messages of those that are wanted with `from_message_id`.',
        tags: ['sessions'],
        params: sessionParamsSchema,
        querystring: outlineQuerySchema,
        response: { 200: outlineSchema, 404: notFound, ...noRows },
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const { transcript_id, contains } = request.query;
      return await deps.database.withSnapshot(async (snapshot) => {
        const session = await requireSession(snapshot, workspaceId, request.params.session_id);
        const transcriptId = transcript_id ?? session.primary_transcript_id;
        const rowSetId = await requireRows(snapshot, session, transcriptId);
        const outline = await readOutline(snapshot, { workspaceId, rowSetId }, contains);
        return { session_id: session.session_id, transcript_id: transcriptId, ...outline };
      });
    },
  );

  app.get(
    '/v1/sessions/:session_id/changes',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getSessionChanges',
        summary: 'Read what a session changed in files',
        description: 'Files, and lines added and removed, by the inputs of its edits.',
        tags: ['sessions'],
        params: sessionParamsSchema,
        querystring: sessionTranscriptQuerySchema,
        response: { 200: sessionChangesSchema, 404: notFound, ...noRows },
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      return await deps.database.withSnapshot(async (snapshot) => {
        const session = await requireSession(snapshot, workspaceId, request.params.session_id);
        const transcriptId = request.query.transcript_id ?? session.primary_transcript_id;
        const rowSetId = await requireRows(snapshot, session, transcriptId);
        const changes = await readSessionChanges(snapshot, { workspaceId, rowSetId });
        return { session_id: session.session_id, transcript_id: transcriptId, ...changes };
      });
    },
  );

  app.get(
    '/v1/sessions/:session_id/costs',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getSessionCosts',
        summary: 'Read what a session’s cost is made of',
        description: 'By model, class of tokens and rate, with the dearest responses.',
        tags: ['sessions'],
        params: sessionParamsSchema,
        response: { 200: sessionCostsSchema, 404: notFound },
      },
    },
    async (request) => {
      const { workspace_id, session_id } = await requireSession(
        database,
        workspaceOf(request),
        request.params.session_id,
      );
      return { session_id, ...(await readSessionCosts(database, workspace_id, session_id)) };
    },
  );

  app.get(
    '/v1/sessions/:session_id/subagents',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listSessionSubagents',
        summary: 'List the sub-agents of a session',
        description: 'Each is a session of its own; its tokens are not among those of its parent.',
        tags: ['sessions'],
        params: sessionParamsSchema,
        querystring: subagentListQuerySchema,
        response: { 200: sessionListSchema, 404: notFound },
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const { session_id: parentSessionId } = await requireSession(database, workspaceId, request.params.session_id);
      return await listSessionPage(database, workspaceId, { parentSessionId }, request.query);
    },
  );
}

export function addSessionDeletion(app: ApiApp, deps: Pick<ApiDependencies, 'database' | 'rawStore'>): void {
  app.delete(
    '/v1/sessions/:session_id',
    {
      config: { scope: 'admin' },
      schema: {
        operationId: 'deleteSession',
        summary: 'Delete a session',
        description: 'Its rows, its transcripts and their raw bytes, for good. Its sub-agents stay.',
        tags: ['sessions'],
        params: sessionParamsSchema,
        response: { 204: z.undefined().describe('Deleted'), 404: problemResponse('The workspace has no such session') },
      },
    },
    async (request, reply) => {
      const isDeleted = await deleteSession(deps, workspaceOf(request), request.params.session_id, actorOf(request));
      if (!isDeleted) throw noSuchSession();
      return reply.code(204).send();
    },
  );
}

/**
 * Returns the session with this id, or the only one whose id begins with it. Throws ProblemError `not-found`, and
 * UnresolvedNameError for the beginning of several ids.
 */
export async function requireSession(database: Database, workspaceId: string, name: string): Promise<SessionRow> {
  const found = await findSession(database, workspaceId, name);
  if (found !== undefined) return found;
  try {
    const sessionId = await resolveSession(database, workspaceId, name);
    const session = await findSession(database, workspaceId, sessionId);
    if (session !== undefined) return session;
  } catch (error) {
    if (!(error instanceof UnresolvedNameError) || error.isAmbiguous) throw error;
    throw noSuchSession(error.candidates);
  }
  throw noSuchSession();
}

/**
 * Throws ProblemError `not-found` for a transcript of another session, `no-rows` for one that is not ingested, `expired`
 * for one whose messages retention has deleted.
 */
export async function requireRows(database: Database, session: SessionRow, transcriptId: string): Promise<string> {
  const transcript = await requireTranscript(database, session.workspace_id, transcriptId);
  if (transcript.session_id !== session.session_id) {
    throw new ProblemError('not-found', 'The session has no such transcript');
  }
  const { rows_deleted_at: deletedAt } = transcript;
  if (deletedAt !== null) throw new ProblemError('expired', `The messages were deleted at ${deletedAt}, by their age`);
  if (transcript.row_set_id !== null) return transcript.row_set_id;
  const longer =
    transcript.superseded_by === null
      ? ''
      : `; its messages are among those of ${transcript.superseded_by}, or of one that has taken its place`;
  throw new ProblemError('no-rows', `The transcript is ${transcript.status}${longer}`);
}

function noSuchSession(candidates: readonly string[] = []): ProblemError {
  const hint =
    candidates.length > 0
      ? `did you mean ${candidates.join(' or ')}?`
      : 'one appears when a transcript of it is ingested';
  return new ProblemError('not-found', `There is no such session; ${hint}`, {
    extensions: { candidates: [...candidates] },
  });
}
