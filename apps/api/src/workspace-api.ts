import { type Actor, API_KEY_SCOPES } from '@recount/db';
import { createAlertOptions } from '@recount/ingest';
import { fastify } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ApiApp, ApiDependencies } from './api-dependencies.ts';
import { addProblemAnswers } from './plugins/problem-answers.ts';
import { addAlertRoutes } from './routes/alerts.ts';
import { addAnalyticsRoutes } from './routes/analytics.ts';
import { addAuditRoutes } from './routes/audit.ts';
import { addBillRoutes } from './routes/bills.ts';
import { addBudgetRoutes } from './routes/budgets.ts';
import { addDigestRoutes } from './routes/digests.ts';
import { addFindingRoutes } from './routes/findings.ts';
import { addKeyRoutes } from './routes/keys.ts';
import { addPeopleRoutes } from './routes/people.ts';
import { addPlanRoutes } from './routes/plans.ts';
import { addPriceRoutes } from './routes/prices.ts';
import { addRepositoryRoutes } from './routes/repositories.ts';
import { addSearchRoutes } from './routes/search.ts';
import { addSessionAnnotationRoutes } from './routes/session-annotations.ts';
import { addSessionContentRoutes } from './routes/session-contents.ts';
import { addSessionRoutes } from './routes/sessions.ts';
import { addDocumentRoutes } from './routes/shares.ts';
import { addTeamRoutes } from './routes/teams.ts';
import { addTranscriptRoutes } from './routes/transcripts.ts';

/** Only a server stores URLs of destinations, because it has the key. */
const NO_ALERTS = { secretKey: undefined, mailServer: undefined, privateNetworks: [] };

/**
 * The routes of a workspace that need its database and no raw store, to be injected into by a process
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
  const policy = { textReaders: 'readers' as const, namesFromPeople: null, pseudonymSalt: null };
  const key = { keyId: '', scopes: [...API_KEY_SCOPES], person: null, expiresAt: null, isDemo: false, policy };
  const keyHolder = { workspaceId, actor, ...key };
  app.decorateRequest('keyHolder', null);
  app.decorateRequest('onlyNames', null);
  app.decorateRequest('reveal', null);
  app.addHook('onRequest', async (request) => {
    request.keyHolder = keyHolder;
  });
  addProblemAnswers(app);
  addAnalyticsRoutes(app, deps);
  await addFindingRoutes(app, deps);
  addSearchRoutes(app, deps);
  addSessionRoutes(app, deps);
  addSessionContentRoutes(app, deps);
  await addSessionAnnotationRoutes(app, deps);
  await addRepositoryRoutes(app, deps);
  addDocumentRoutes(app, deps);
  addTranscriptRoutes(app, deps);
  await addPeopleRoutes(app, deps);
  await addTeamRoutes(app, deps);
  await addPriceRoutes(app, deps);
  await addPlanRoutes(app, deps);
  await addBudgetRoutes(app, deps);
  await addDigestRoutes(app, deps);
  await addAlertRoutes(app, deps, createAlertOptions(NO_ALERTS));
  addAuditRoutes(app, deps);
  await addKeyRoutes(app, deps);
  await addBillRoutes(app, deps);
  await app.ready();
  return app;
}
