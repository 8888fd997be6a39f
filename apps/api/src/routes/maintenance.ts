import { type MaintenanceCheck, maintenanceCheckListSchema, maintenanceCheckRequestSchema } from '@recount/contract';
import { listMaintenanceChecks, type MaintenanceCheckRow } from '@recount/db';
import { createMaintenanceRunner } from '@recount/ingest';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, isOperator, requireOperator, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

/** Checks are stored by workspace; checks of all workspaces under this id. */
const INSTALLATION = '';
const RETRY_AFTER_SECONDS = '60';

const LIST_CHECKS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'listChecks',
    summary: 'Read the state of checks',
    description:
      'The last one of each kind, and the findings of the last one that finished. Checks of the installation are only for keys with the scope operator.',
    tags: ['operations'],
    response: { 200: maintenanceCheckListSchema },
  },
} as const;

const START_CHECK = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'startCheck',
    summary: 'Start a check',
    description: [
      'It continues when the client disconnects; one of each kind and workspace runs at a time. `GET /v1/checks` shows its progress.',
      'The scope `installation` also needs a key with the scope operator.',
    ].join(' '),
    tags: ['operations'],
    body: maintenanceCheckRequestSchema,
    response: {
      202: maintenanceCheckListSchema,
      409: problemResponse('One of this kind is running'),
      429: problemResponse('Too many are running in this process'),
    },
  },
} as const;

/**
 * `recount doctor` and `recount verify` for those without a shell on the server. They are started here, run by this
 * process, and followed by polling.
 */
export async function addMaintenanceRoutes(parent: ApiApp, deps: ApiDependencies): Promise<void> {
  const { database } = deps.database;
  const runner = createMaintenanceRunner({
    ...deps,
    now: deps.now ?? Date.now,
    onFailure: (reason) => deps.log.warn({ reason }, 'progress of a check not recorded'),
  });
  parent.addHook('preClose', () => runner.close());
  const list = async (workspaceId: string): Promise<MaintenanceCheck[]> => {
    const scope = workspaceId === INSTALLATION ? 'installation' : 'workspace';
    return (await listMaintenanceChecks(database, workspaceId)).map((row) => toCheck(row, scope));
  };
  await addJsonRoutes(parent, {}, (app) => {
    app.get('/v1/checks', LIST_CHECKS, async (request) => {
      const own = await list(workspaceOf(request));
      return { checks: isOperator(request) ? [...own, ...(await list(INSTALLATION))] : own };
    });

    app.post('/v1/checks', START_CHECK, async (request, reply) => {
      const { kind, scope: extent, fix } = request.body;
      if (extent === 'installation') requireOperator(request);
      const workspaceId = extent === 'installation' ? INSTALLATION : workspaceOf(request);
      const check = { kind, fix, actor: actorOf(request) };
      const outcome = await runner.start({ ...check, workspaceId: workspaceId || undefined });
      if (outcome === 'running')
        throw new ProblemError('check-running', `A ${kind} is already running. Wait for it to end`);
      if (outcome === 'busy') {
        const headers = { 'retry-after': RETRY_AFTER_SECONDS };
        throw new ProblemError('too-many-checks', 'Too many checks are running', { headers });
      }
      const checks = (await list(workspaceId)).filter((started) => started.kind === kind);
      return reply.code(202).send({ checks });
    });
  });
}

function toCheck(row: MaintenanceCheckRow, scope: MaintenanceCheck['scope']): MaintenanceCheck {
  const { kind, state, is_fix, actor, started_at, ended_at, step, failure_reason, report_at, report_is_fix } = row;
  return {
    kind,
    scope,
    state,
    is_fix,
    actor,
    started_at,
    ended_at,
    step,
    done: row.done_count,
    total: row.total_count,
    failure_reason,
    report_at,
    report_is_fix,
    // Written by this process or one of another version; the answer's schema keeps the fields that it knows.
    doctor: kind === 'doctor' ? (row.report as MaintenanceCheck['doctor']) : null,
    verify: kind === 'verify' ? (row.report as MaintenanceCheck['verify']) : null,
  };
}
