import { healthSchema, type Readiness, readinessProblemSchema, readinessSchema } from '@recount/contract';
import { checkSchemaVersion, type Database, sql } from '@recount/db';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { ApiConfig } from '../config.ts';
import type { ApiMetrics } from '../plugins/metrics.ts';
import { problemResponse, toResponse } from '../plugins/openapi.ts';
import { toLogReason } from '../problems/log-reason.ts';
import { ProblemError } from '../problems/problem-error.ts';

const CHECK_TIMEOUT_MS = 3000;
/** Anyone may ask, and a check costs the store a write: asked more often, the last answer is given again. */
const CHECK_INTERVAL_MS = 1000;

type Deps = Pick<ApiDependencies, 'database' | 'rawStore' | 'log' | 'now'> & { metrics: Pick<ApiMetrics, 'registry'> };
type Outcome = Readiness['checks']['database'];

export function addOperationsRoutes(app: ApiApp, deps: Deps, config: Pick<ApiConfig, 'metricsPublic'>): void {
  const checkReadiness = createReadinessCheck(deps);

  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'getHealth',
        summary: 'Is the process up',
        tags: ['operations'],
        response: { 200: healthSchema },
      },
    },
    async () => ({ status: 'ok' as const }),
  );

  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'getReadiness',
        summary: 'Can requests be served',
        description: 'Asks database and raw store, at most once a second.',
        tags: ['operations'],
        response: { 200: readinessSchema, 503: problemResponse('They cannot', readinessProblemSchema) },
      },
    },
    async () => {
      const checks = await checkReadiness();
      if (checks.database === 'ok' && checks.raw_store === 'ok') return { status: 'ready' as const, checks };
      throw new ProblemError('not-ready', 'Not everything that requests need is there', { extensions: { checks } });
    },
  );

  app.get(
    '/metrics',
    {
      config: config.metricsPublic ? {} : { scope: 'admin' },
      schema: {
        operationId: 'getMetrics',
        summary: 'Metrics for Prometheus',
        description: 'Of this process, and the number of transcripts in all workspaces.',
        tags: ['operations'],
        response: { 200: toResponse('Prometheus text format', 'text/plain', z.string()) },
      },
    },
    async (_request, reply) => {
      const { registry } = deps.metrics;
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}

function createReadinessCheck({ database, rawStore, log, now = Date.now }: Deps): () => Promise<Readiness['checks']> {
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let latest: Promise<Readiness['checks']> | undefined;

  const run = async (name: string, check: () => Promise<void>): Promise<Outcome> => {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const timer = setTimeout(() => resolve('timeout'), CHECK_TIMEOUT_MS);
    check().then(
      () => resolve('ok'),
      (error: unknown) => {
        log.warn({ check: name, reason: toLogReason(error) }, 'not ready');
        resolve('failed');
      },
    );
    const outcome = await promise;
    clearTimeout(timer);
    return outcome;
  };

  const runAll = async (): Promise<Readiness['checks']> => {
    const [databaseOutcome, storeOutcome] = await Promise.all([
      run('database', async () => {
        await checkSchemaVersion(database.database);
        await checkWritable(database.database);
      }),
      run('raw_store', () => rawStore.check()),
    ]);
    return { database: databaseOutcome, raw_store: storeOutcome };
  };

  return () => {
    if (latest === undefined || now() - checkedAtMs >= CHECK_INTERVAL_MS) {
      checkedAtMs = now();
      latest = runAll();
    }
    return latest;
  };
}

/** After a failover the address may lead to a replica, which answers queries and takes no upload. */
async function checkWritable(database: Database): Promise<void> {
  const { rows } = await database.execute<{ value: string }>(
    sql`SELECT current_setting('transaction_read_only') AS value`,
  );
  if (rows[0]?.value !== 'off') throw new Error('The database is read-only');
}
