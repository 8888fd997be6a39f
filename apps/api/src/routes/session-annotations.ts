import {
  type AnnotationChange,
  annotationChangeSchema,
  annotationSchema,
  MAX_LISTED_TAGS,
  sessionParamsSchema,
  sessionTagListSchema,
} from '@recount/contract';
import { annotateSession, listSessionTags } from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { noSuchSession, noSuchSessionResponse, requireSession } from './require-session.ts';

const ANNOTATE_SESSION = {
  config: { scope: 'admin', reveals: 'texts' },
  schema: {
    operationId: 'annotateSession',
    summary: 'Rename, star, tag or note a session',
    description:
      'For everyone in the workspace. It survives new uploads and parses of the session, and is deleted with it.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    body: annotationChangeSchema,
    response: { 200: annotationSchema, 404: noSuchSessionResponse },
  },
} as const;

const LIST_SESSION_TAGS = {
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'listSessionTags',
    summary: 'List the tags of sessions',
    description: `With the number of their sessions, the most frequent first, at most ${MAX_LISTED_TAGS}.`,
    tags: ['sessions'],
    response: { 200: sessionTagListSchema },
  },
} as const;

/** Names, stars, tags and notes of sessions. */
export async function addSessionAnnotationRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, {}, (app) => {
    app.patch('/v1/sessions/:session_id', ANNOTATE_SESSION, async (request) => {
      const workspaceId = workspaceOf(request);
      const { session_id: sessionId } = await requireSession(pool.database, workspaceId, request.params.session_id);
      const change = withoutUndefined(request.body);
      const annotation = await pool.withTransaction((transaction) =>
        annotateSession(transaction, { workspaceId, sessionId, actor: actorOf(request) }, change),
      );
      if (annotation === undefined) throw noSuchSession();
      return annotation;
    });

    app.get('/v1/session-tags', LIST_SESSION_TAGS, async (request) => ({
      tags: await listSessionTags(pool.database, workspaceOf(request), MAX_LISTED_TAGS),
    }));
  });
}

const withoutUndefined = ({ given_title, is_starred, tags, note }: AnnotationChange) => ({
  ...(given_title !== undefined && { given_title }),
  ...(is_starred !== undefined && { is_starred }),
  ...(tags !== undefined && { tags }),
  ...(note !== undefined && { note }),
});
