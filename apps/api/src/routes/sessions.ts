import {
  sessionDetailSchema,
  sessionListQuerySchema,
  sessionListSchema,
  sessionParamsSchema,
  subagentListQuerySchema,
  subagentListSchema,
} from '@recount/contract';
import { toResumeCommand } from '@recount/core';
import { findLiveSession, presentSessions, readSessionTrust, readSessionUsage, sumSessions } from '@recount/db';
import { deleteSession } from '@recount/ingest';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { listSessionPage } from '../paging/list-pages.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { resolveFilter, toMeantNames } from './analytics.ts';
import { noSuchSession, noSuchSessionResponse, requireSession } from './require-session.ts';
import { listTranscriptPage } from './transcripts.ts';

/** Transcripts listed with a session; a growing session may have had very many versions. */
const TRANSCRIPTS_OF_SESSION = 100;

const LIST_SESSIONS = {
  config: { scope: 'read', reveals: 'figures', isLimitable: true },
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
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'getSession',
    summary: 'Read a session with its transcripts',
    tags: ['sessions'],
    params: sessionParamsSchema,
    response: { 200: sessionDetailSchema, 404: noSuchSessionResponse },
  },
} as const;

const LIST_SESSION_SUBAGENTS = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listSessionSubagents',
    summary: 'List the sub-agents of a session',
    description: 'Each is a separate session; its tokens are not included in its parent’s.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    querystring: subagentListQuerySchema,
    response: { 200: subagentListSchema, 404: noSuchSessionResponse },
  },
} as const;

const DELETE_SESSION = {
  config: { scope: 'admin', reveals: 'nothing' },
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
  addSingleSession(app, deps);

  app.get('/v1/sessions', LIST_SESSIONS, async (request) => {
    const { sort, order, limit, cursor, is_subagent: isSubagent, has_errors: hasErrors, prompt } = request.query;
    const { branch, parent_session_id: parentId, ...named } = request.query;
    const { tool, program, mcp_server, skill, subagent_type, file, pull_request: pullRequest } = request.query;
    const { is_starred: isStarred, tag, totals: hasTotals = false } = request.query;
    const { min_cost_usd: minCostUsd, max_cost_usd: maxCostUsd } = request.query;
    const workspaceId = workspaceOf(request);
    const { filter, unmatched } = await resolveFilter(
      database,
      workspaceId,
      {
        ...named,
        git_branch: branch,
        session_id: parentId,
      },
      request.onlyNames,
    );
    const { agent, project, repository, model, machine, person, attributed, gitBranch, from, to } = filter;
    const { sessionId: parentSessionId, kindOfWork } = filter;
    const conditions = {
      ...{
        agent,
        project,
        model,
        kindOfWork,
        machine,
        person,
        attributed,
        onlyNames: filter.onlyNames,
        branch: gitBranch,
        repository,
        parentSessionId,
        isSubagent,
        hasErrors,
        isStarred,
        prompt,
      },
      ...{ from: from ?? undefined, to: to ?? undefined },
      tags: typeof tag === 'string' ? [tag] : tag,
      calls: { tool_name: tool, program, mcp_server, skill_name: skill, subagent_type },
      ...{ file, pullRequest, minCostUsd, maxCostUsd },
    };
    const page = await listSessionPage(database, workspaceId, conditions, { sort, order, limit, cursor });
    const isSummed = hasTotals && cursor === undefined;
    const totals = isSummed ? await sumSessions(database, workspaceId, conditions) : null;
    return { ...page, totals, filters: toMeantNames(filter, unmatched) };
  });
}

/** Reads a single session, and lists its sub-agents. */
function addSingleSession(app: ApiApp, deps: Pick<ApiDependencies, 'database'>): void {
  const { database } = deps.database;

  app.get('/v1/sessions/:session_id', GET_SESSION, async (request) => {
    const session = await requireSession(database, workspaceOf(request), request.params.session_id);
    const { workspace_id, session_id: sessionId } = session;
    const page = await listTranscriptPage(deps, workspace_id, { sessionId }, { limit: TRANSCRIPTS_OF_SESSION });
    const [presented] = await presentSessions(database, workspace_id, [session]);
    if (presented === undefined) throw noSuchSession();
    const usage = await readSessionUsage(database, workspace_id, sessionId);
    const trust = await readSessionTrust(database, workspace_id, sessionId);
    const live = await findLiveSession(database, { workspaceId: workspace_id, sessionId });
    return {
      ...presented,
      usage,
      ...trust,
      resume_command: session.is_subagent ? null : toResumeCommand(session.agent, sessionId),
      live: live ?? null,
      transcripts: page.transcripts,
      transcripts_next_cursor: page.next_cursor,
    };
  });

  app.get('/v1/sessions/:session_id/subagents', LIST_SESSION_SUBAGENTS, async (request) => {
    const workspaceId = workspaceOf(request);
    const { session_id: parentSessionId } = await requireSession(database, workspaceId, request.params.session_id);
    const onlyNames = request.onlyNames ?? undefined;
    const filter = { parentSessionId, person: onlyNames, onlyNames };
    return await listSessionPage(database, workspaceId, filter, request.query);
  });
}

export function addSessionDeletion(app: ApiApp, deps: Pick<ApiDependencies, 'database' | 'rawStore'>): void {
  app.delete('/v1/sessions/:session_id', DELETE_SESSION, async (request, reply) => {
    const isDeleted = await deleteSession(deps, workspaceOf(request), request.params.session_id, actorOf(request));
    if (!isDeleted) throw noSuchSession();
    return reply.code(204).send();
  });
}
