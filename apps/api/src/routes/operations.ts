import { healthSchema, readinessProblemSchema, readinessSchema } from '@recount/contract';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { SpaceWatch } from '../disk-space/space-watch.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { createNodeCheck, createReadinessCheck } from './readiness-check.ts';

type Deps = Pick<ApiDependencies, 'database' | 'rawStore' | 'log' | 'now'> & {
  space: Pick<SpaceWatch, 'read' | 'rate'>;
};

const GET_HEALTH = {
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'getHealth',
    summary: 'Is the process up',
    tags: ['operations'],
    response: { 200: healthSchema },
  },
} as const;

const GET_READINESS = {
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'getReadiness',
    summary: 'Can requests be served',
    description: [
      'Queries database and raw store, at most once a second, and writes to both, at most every half a minute.',
      '`space` warns before a disk is full.',
      'Asks the nodes of a Citus cluster, at most every five seconds: `degraded` names those that do not answer.',
    ].join(' '),
    tags: ['operations'],
    response: { 200: readinessSchema, 503: problemResponse('They cannot', readinessProblemSchema) },
  },
} as const;

export function addOperationsRoutes(app: ApiApp, deps: Deps): void {
  const checkReadiness = createReadinessCheck(deps);
  const checkNodes = createNodeCheck(deps);

  app.get('/healthz', GET_HEALTH, async () => ({ status: 'ok' as const }));

  app.get('/readyz', GET_READINESS, async () => {
    const [checks, spaces] = await Promise.all([checkReadiness(), deps.space.read()]);
    const space = deps.space.rate(spaces);
    const isUsable = checks.database === 'ok' && checks.raw_store === 'ok';
    const isFull = space.database === 'full' || space.raw_store === 'full';
    if (isUsable && !isFull) {
      const silentNodes = await checkNodes();
      if (silentNodes.length === 0) return { status: 'ready' as const, checks, space };
      return { status: 'degraded' as const, checks, space, cluster: { silent_nodes: silentNodes } };
    }
    const detail = isUsable ? 'A disk is full' : 'Something that requests need is unavailable';
    throw new ProblemError('not-ready', detail, { extensions: { checks, space } });
  });
}
