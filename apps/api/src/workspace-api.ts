import { type Actor, API_KEY_SCOPES } from '@recount/db';
import { fastify } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ApiApp, ApiDependencies } from './api-dependencies.ts';
import { addProblemAnswers } from './plugins/problem-answers.ts';
import { addAnalyticsRoutes } from './routes/analytics.ts';
import { addAuditRoutes } from './routes/audit.ts';
import { addKeyRoutes } from './routes/keys.ts';
import { addPriceRoutes } from './routes/prices.ts';
import { addSearchRoutes } from './routes/search.ts';
import { addSessionContentRoutes } from './routes/session-contents.ts';
import { addSessionRoutes } from './routes/sessions.ts';
import { addDocumentRoutes } from './routes/shares.ts';
import { addTranscriptRoutes } from './routes/transcripts.ts';

/**
 * The routes for sessions, transcripts, reports, search, prices and the audit log, to be injected into by a process
 * with direct access to the database. It works without a socket or keys, because such a process may see everything.
 * Changes are recorded as made by `actor`.
 */
export async function createWorkspaceApi(
  deps: Pick<ApiDependencies, 'database' | 'log' | 'now'>,
  workspaceId: string,
  actor: Actor,
): Promise<ApiApp> {
  const app: ApiApp = fastify({ logger: false }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  const keyHolder = { workspaceId, keyId: '', scopes: [...API_KEY_SCOPES], person: null, expiresAt: null, actor };
  app.decorateRequest('keyHolder', null);
  app.addHook('onRequest', async (request) => {
    request.keyHolder = keyHolder;
  });
  addProblemAnswers(app);
  addAnalyticsRoutes(app, deps);
  addSearchRoutes(app, deps);
  addSessionRoutes(app, deps);
  addSessionContentRoutes(app, deps);
  addDocumentRoutes(app, deps);
  addTranscriptRoutes(app, deps);
  await addPriceRoutes(app, deps);
  addAuditRoutes(app, deps);
  await addKeyRoutes(app, deps);
  await app.ready();
  return app;
}
