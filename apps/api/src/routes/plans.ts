import { planListSchema } from '@recount/contract';
import { readPlans, replacePlans } from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';

/** A thousand plans with the longest names. */
const MAX_BODY_BYTES = 1024 * 1024;
const tags = ['budgets'];

const LIST_PLANS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'listPlans',
    summary: 'List subscriptions',
    description: '`GET /v1/analytics/plans` has what was used of them.',
    tags,
    response: { 200: planListSchema },
  },
} as const;

const PUT_PLANS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'putPlans',
    summary: 'Replace the subscriptions of the workspace',
    tags,
    body: planListSchema,
    response: { 200: planListSchema },
  },
} as const;

/** Subscriptions that use is compared with. */
export async function addPlanRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, { maxBytes: MAX_BODY_BYTES }, (app) => {
    app.get('/v1/plans', LIST_PLANS, async (request) => ({
      plans: await readPlans(pool.database, workspaceOf(request)),
    }));

    app.put('/v1/plans', PUT_PLANS, async (request) => {
      const { plans } = request.body;
      const place = { workspaceId: workspaceOf(request), actor: actorOf(request) };
      await pool.withTransaction((transaction) => replacePlans(transaction, place, plans));
      return { plans };
    });
  });
}
