import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import { MAX_SESSION_ID_LENGTH } from '@recount/core';
import { createAlertOptions } from '@recount/ingest';
import { type FastifyServerOptions, fastify, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ApiApp, ApiDependencies } from './api-dependencies.ts';
import type { ApiConfig } from './config.ts';
import { addSpaceGauges, createSpaceWatch, type SpaceWatch } from './disk-space/space-watch.ts';
import { RateStore, toMaxClientConnections } from './http/client-limits.ts';
import { toRoutedUrl } from './http/signed-in-path.ts';
import { createProviderSignIns, type ProviderSignIns } from './identity/provider-sign-ins.ts';
import { type ApiMetrics, createMetrics } from './metrics/metrics.ts';
import { addAuthentication } from './plugins/authentication.ts';
import { addDashboard } from './plugins/dashboard.ts';
import { leaveGoneClients } from './plugins/gone-clients.ts';
import { addOpenapi } from './plugins/openapi.ts';
import { addProblemAnswers, answerClientError, answerWithProblem, hasUnreadBody } from './plugins/problem-answers.ts';
import { addRequestId, addRequestLog, createFrameworkLog, toRequestId } from './plugins/request-log.ts';
import { addReveals } from './plugins/reveals.ts';
import { addSecurityHeaders } from './plugins/security-headers.ts';
import { refuseUnstorableParameters } from './plugins/storable-parameters.ts';
import { addAlertRoutes } from './routes/alerts.ts';
import { addAnalyticsRoutes } from './routes/analytics.ts';
import { addAttachmentRoutes } from './routes/attachments.ts';
import { addAuditRoutes } from './routes/audit.ts';
import { addBillRoutes } from './routes/bills.ts';
import { addBudgetRoutes } from './routes/budgets.ts';
import { addDemoRoutes } from './routes/demo.ts';
import { addDeviceRoutes } from './routes/devices.ts';
import { addDigestRoutes } from './routes/digests.ts';
import { addEnrolmentRoutes } from './routes/enrolments.ts';
import { addExportRoutes } from './routes/exports.ts';
import { addFindingRoutes } from './routes/findings.ts';
import { addKeyRoutes } from './routes/keys.ts';
import { addLiveRoutes } from './routes/live.ts';
import { addMaintenanceRoutes } from './routes/maintenance.ts';
import { addMcpRoutes } from './routes/mcp.ts';
import { addOperationsRoutes } from './routes/operations.ts';
import { addOtlpRoutes } from './routes/otlp.ts';
import { addPeopleRoutes } from './routes/people.ts';
import { addPlanRoutes } from './routes/plans.ts';
import { addPriceRoutes } from './routes/prices.ts';
import { addProviderSignInRoutes } from './routes/provider-sign-in.ts';
import { addRawTranscriptRoutes } from './routes/raw-transcripts.ts';
import { addRepositoryRoutes } from './routes/repositories.ts';
import { addRepriceRoutes } from './routes/reprice.ts';
import { addSearchRoutes } from './routes/search.ts';
import { addSessionAnnotationRoutes } from './routes/session-annotations.ts';
import { addSessionContentRoutes } from './routes/session-contents.ts';
import { addSessionDeletion, addSessionRoutes } from './routes/sessions.ts';
import { addSettingsRoutes } from './routes/settings.ts';
import { addDocumentRoutes, addShareRoutes } from './routes/shares.ts';
import { addSignInRoutes } from './routes/sign-in.ts';
import { addSignInLinkRoutes } from './routes/sign-in-links.ts';
import { addSignInListRoutes } from './routes/sign-ins.ts';
import { addTeamRoutes } from './routes/teams.ts';
import { addTranscriptChanges, addTranscriptRoutes } from './routes/transcripts.ts';
import { addUploadRoutes } from './routes/uploads.ts';
import { addWorkspaceRoutes } from './routes/workspaces.ts';

const compile = (): never => {
  throw new Error('No compiler of schemas is set');
};

/** Replaces fastify's JSON Schema compilers, which it would otherwise load although others are configured: 3 MB. */
const NO_COMPILERS = {
  buildValidator: compile,
  buildSerializer: compile,
} satisfies NonNullable<FastifyServerOptions['schemaController']>['compilersFactory'];

/** From the start of a connection, or of a further request on it, to the end of the headers. */
const HEADERS_TIMEOUT_MS = 30_000;
/** The interval of the search for connections that exceed this. */
const CONNECTION_CHECK_INTERVAL_MS = 1000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** Closes connections without any activity; silent uploads end sooner. */
const MIN_SOCKET_TIMEOUT_MS = 10 * 60_000;
/** A character of a session id takes at most 9 characters of a URL: three bytes of UTF-8, each as %XX. */
const MAX_PARAMETER_LENGTH = 9 * MAX_SESSION_ID_LENGTH;

type RouteDependencies = ApiDependencies & {
  metrics: ApiMetrics;
  space: SpaceWatch;
  providerSignIns: ProviderSignIns;
};

/** Assembles the API without starting it, so that it can be injected into or told to listen. Does not own `deps`. */
export async function createApiApp(deps: ApiDependencies, config: ApiConfig): Promise<ApiApp> {
  const app: ApiApp = fastify({
    loggerInstance: createFrameworkLog(deps.log),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: toRequestId,
    rewriteUrl: toRoutedUrl,
    ...(config.trustProxy !== undefined && { trustProxy: config.trustProxy }),
    // No limit on the total time, because a large upload may take long.
    requestTimeout: 0,
    connectionTimeout: Math.max(MIN_SOCKET_TIMEOUT_MS, 2 * config.uploadIdleTimeoutMs),
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: CONNECTION_CHECK_INTERVAL_MS },
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    return503OnClosing: false,
    frameworkErrors: answerWithProblem,
    clientErrorHandler: answerClientError,
    schemaController: { compilersFactory: NO_COMPILERS },
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  // Only uploads have a body; any other body is left unread.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  // Further connections are refused immediately, before any byte is read.
  app.server.maxConnections = toMaxClientConnections(config);
  answerExpectations(app);
  closeConnections(app);

  const { metrics = createMetrics(deps) } = deps;
  const space = createSpaceWatch(deps, config.space);
  addSpaceGauges(metrics.registry, space);
  addRequestId(app);
  addRequestLog(app, metrics);
  leaveGoneClients(app);
  await addSecurityHeaders(app);
  addProblemAnswers(app, await addDashboard(app, config.dashboardDirectory));
  refuseUnstorableParameters(app);
  await app.register(cookie);
  await app.register(rateLimit, { global: false, store: RateStore });
  const { providers: settings, ...limits } = config.oidc;
  const providerSignIns = createProviderSignIns(deps, { settings, secretKey: config.alerts.secretKey, ...limits });
  addAuthentication(app, { ...deps, providerSignIns }, config);
  addReveals(app, deps);
  addOpenapi(app);
  await addRoutes(app, { ...deps, metrics, space, providerSignIns }, config);
  return app;
}

/** Adds the routes described in openapi.json. */
export async function addRoutes(app: ApiApp, deps: RouteDependencies, config: ApiConfig): Promise<void> {
  await addUploadRoutes(app, deps, config);
  addTranscriptRoutes(app, deps);
  addTranscriptChanges(app, deps);
  addRawTranscriptRoutes(app, deps);
  addSessionRoutes(app, deps);
  addSessionContentRoutes(app, deps);
  addSessionDeletion(app, deps);
  await addAttachmentRoutes(app, deps, config);
  addDocumentRoutes(app, deps);
  await addShareRoutes(app, deps);
  addAnalyticsRoutes(app, { ...deps, reportTimeoutMs: config.reportTimeoutMs });
  addSearchRoutes(app, deps);
  addExportRoutes(app, deps, config);
  addLiveRoutes(app, deps, config.live);
  await addPeopleRoutes(app, deps);
  await addTeamRoutes(app, deps);
  await addPriceRoutes(app, deps);
  await addRepriceRoutes(app, deps);
  await addPlanRoutes(app, deps);
  await addSettingsRoutes(app, deps);
  await addBudgetRoutes(app, deps);
  await addDigestRoutes(app, deps);
  await addFindingRoutes(app, deps);
  await addAlertRoutes(app, deps, createAlertOptions(config.alerts));
  await addRepositoryRoutes(app, deps);
  await addSessionAnnotationRoutes(app, deps);
  addAuditRoutes(app, deps);
  await addKeyRoutes(app, deps);
  await addSignInLinkRoutes(app, deps);
  await addDeviceRoutes(app, deps);
  await addEnrolmentRoutes(app, deps);
  await addWorkspaceRoutes(app, deps);
  await addMaintenanceRoutes(app, deps);
  await addMcpRoutes(app);
  await addOtlpRoutes(app, deps, config);
  await addBillRoutes(app, deps);
  addOperationsRoutes(app, deps);
  addSignInRoutes(app, deps);
  await addProviderSignInRoutes(app, deps);
  addDemoRoutes(app, deps);
  addSignInListRoutes(app, deps);
}

/** `Expect: 100-continue` is answered by the route that reads the body, so that a refused client need not send it. */
function answerExpectations(app: ApiApp): void {
  app.server.on('checkContinue', (request, response) => app.routing(request, response));
}

/**
 * On close, running requests are finished, but their connections are not kept for further ones. Connections whose
 * client is still sending are closed too, because its bytes are no longer needed.
 */
function closeConnections(app: ApiApp): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onSend', async (request, reply) => {
    if (isClosing || hasUnreadBody(request)) reply.header('connection', 'close');
  });
}
