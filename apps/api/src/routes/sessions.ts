import {
  sessionDetailSchema,
  sessionListQuerySchema,
  sessionListSchema,
  sessionParamsSchema,
  subagentListQuerySchema,
} from '@recount/contract';
import { findLiveSession, readSessionTrust, readSessionUsage } from '@recount/db';
import { deleteSession } from '@recount/ingest';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { addErrorCounts, listSessionPage } from '../paging/list-pages.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { resolveFilter } from './analytics.ts';
import { noSuchSession, noSuchSessionResponse, requireSession } from './require-session.ts';
import { listTranscriptPage } from './transcripts.ts';

/** Transcripts listed with a session; a growing session may have had very many versions. */
const TRANSCRIPTS_OF_SESSION = 100;

const LIST_SESSIONS = {
  config: { scope: 'read' },
  schema: {
    operationId: 'listSessions',
    summary: 'List sessions',
    description: 'Those that pass all filters.',
    tags: ['sessions'],
    querystring: sessionListQuerySchema,
    response: { 200: sessionListSchema },
  },
} as const;

const GET_SESSION = {
  config: { scope: 'read' },
  schema: {
    operationId: 'getSession',
    summary: 'Read a session with its transcripts',
    tags: ['sessions'],
    params: sessionParamsSchema,
    response: { 200: sessionDetailSchema, 404: noSuchSessionResponse },
  },
} as const;

const LIST_SESSION_SUBAGENTS = {
  config: { scope: 'read' },
  schema: {
    operationId: 'listSessionSubagents',
    summary: 'List the sub-agents of a session',
    description: 'Each is a separate session; its tokens are not included in its parent’s.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    querystring: subagentListQuerySchema,
    response: { 200: sessionListSchema, 404: noSuchSessionResponse },
  },
} as const;

const DELETE_SESSION = {
  config: { scope: 'admin' },
  schema: {
    operationId: 'deleteSession',
    summary: 'Delete a session',
    description: 'Its rows, its transcripts and their raw bytes, permanently. Its sub-agents stay.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    response: { 204: z.undefined().describe('Deleted'), 404: problemResponse('The workspace has no such session') },
  },
} as const;

/** Lists sessions and sub-agents, and reads a single one. */
export function addSessionRoutes(app: ApiApp, deps: Pick<ApiDependencies, 'database'>): void {
  const { database } = deps.database;

  app.get('/v1/sessions', LIST_SESSIONS, async (request) => {
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
  });

  app.get('/v1/sessions/:session_id', GET_SESSION, async (request) => {
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
      live: live ?? null,
      transcripts: page.transcripts,
      transcripts_next_cursor: page.next_cursor,
    };
  });

  app.get('/v1/sessions/:session_id/subagents', LIST_SESSION_SUBAGENTS, async (request) => {
    const workspaceId = workspaceOf(request);
    const { session_id: parentSessionId } = await requireSession(database, workspaceId, request.params.session_id);
    return await listSessionPage(database, workspaceId, { parentSessionId }, request.query);
  });
}

export function addSessionDeletion(app: ApiApp, deps: Pick<ApiDependencies, 'database' | 'rawStore'>): void {
  app.delete('/v1/sessions/:session_id', DELETE_SESSION, async (request, reply) => {
    const isDeleted = await deleteSession(deps, workspaceOf(request), request.params.session_id, actorOf(request));
    if (!isDeleted) throw noSuchSession();
    return reply.code(204).send();
  });
}
