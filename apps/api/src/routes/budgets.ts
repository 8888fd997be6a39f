import {
  type Budget,
  type BudgetRequest,
  budgetChangeSchema,
  budgetHistoryQuerySchema,
  budgetHistorySchema,
  budgetListSchema,
  budgetParamsSchema,
  budgetRequestSchema,
  budgetSchema,
} from '@recount/contract';
import {
  type BudgetChange,
  type BudgetRow,
  changeBudget,
  createBudget,
  type Database,
  deleteBudget,
  findBudget,
  listBudgets,
  listCrossings,
  MAX_BUDGETS,
  readBudgetStatus,
  UnresolvedNameError,
  withReportSnapshot,
} from '@recount/db';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { cutPage, parseCursor } from '../paging/list-pages.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { noSuchDestinationIn } from './alerts.ts';

/** Filters may have 100 names each. */
const MAX_BODY_BYTES = 256 * 1024;

const noSuchBudgetResponse = problemResponse('The workspace has no such budget');
const takenResponse = problemResponse('Another budget has this name, or there are too many');
const tags = ['budgets'];

const LIST_BUDGETS = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listBudgets',
    summary: 'List budgets',
    description: 'With what is spent in the current period, by the same sums as the reports.',
    tags,
    response: { 200: budgetListSchema },
  },
} as const;

const CREATE_BUDGET = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'createBudget',
    summary: 'Create a budget',
    description: `It warns of the current period and later ones, within about a minute. At most ${MAX_BUDGETS} per workspace.`,
    tags,
    body: budgetRequestSchema,
    response: { 201: budgetSchema, 409: takenResponse },
  },
} as const;

const GET_BUDGET = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'getBudget',
    summary: 'Read a budget',
    tags,
    params: budgetParamsSchema,
    response: { 200: budgetSchema, 404: noSuchBudgetResponse },
  },
} as const;

const CHANGE_BUDGET = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'changeBudget',
    summary: 'Change a budget',
    description:
      'What it counts does not change: create another one for that. A threshold that it has warned of in a period is not warned of again in that period.',
    tags,
    params: budgetParamsSchema,
    body: budgetChangeSchema,
    response: { 200: budgetSchema, 404: noSuchBudgetResponse, 409: takenResponse },
  },
} as const;

const DELETE_BUDGET = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'deleteBudget',
    summary: 'Delete a budget',
    description: 'With its history.',
    tags,
    params: budgetParamsSchema,
    response: { 204: z.undefined().describe('Deleted'), 404: noSuchBudgetResponse },
  },
} as const;

const LIST_HISTORY = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listBudgetHistory',
    summary: 'List what a budget has warned of',
    tags,
    params: budgetParamsSchema,
    querystring: budgetHistoryQuerySchema,
    response: { 200: budgetHistorySchema, 404: noSuchBudgetResponse },
  },
} as const;

const cursorSchema = z.strictObject({
  crossed_at: z.iso.datetime(),
  period_start: z.string().max(20),
  kind: z.enum(['threshold', 'forecast', 'anomaly']),
  threshold: z.int(),
});

type Deps = Pick<ApiDependencies, 'database' | 'now'>;

/** Budgets of the workspace, with what is spent of them. */
export async function addBudgetRoutes(parent: ApiApp, deps: Deps): Promise<void> {
  const { database: pool } = deps;
  const answer = async (row: BudgetRow): Promise<Budget> => {
    const [budget] = await toAnswers(deps, [row]);
    if (budget === undefined) throw noSuchBudget();
    return budget;
  };
  await addJsonRoutes(parent, { maxBytes: MAX_BODY_BYTES }, (app) => {
    app.get('/v1/budgets', LIST_BUDGETS, async (request) => ({
      budgets: await toAnswers(deps, await listBudgets(pool.database, workspaceOf(request))),
    }));

    app.post('/v1/budgets', CREATE_BUDGET, async (request, reply) => {
      const budget = toNewBudget(request.body);
      const row = await pool.withTransaction((transaction) =>
        createBudget(transaction, workspaceOf(request), budget, actorOf(request)),
      );
      if (row === 'taken') throw taken(budget.name);
      if (row === 'no-destination') throw noSuchDestinationIn('destination_ids');
      if (row === 'too-many') throw new ProblemError('too-many-budgets', `There are ${MAX_BUDGETS}: delete one first`);
      return reply.code(201).send(await answer(row));
    });

    app.get('/v1/budgets/:budget_id', GET_BUDGET, async (request) => {
      return await answer(await requireBudget(pool.database, workspaceOf(request), request.params.budget_id));
    });

    app.patch('/v1/budgets/:budget_id', CHANGE_BUDGET, async (request) => {
      const { budget_id: id } = request.params;
      const workspaceId = workspaceOf(request);
      const { period, unit } = await requireBudget(pool.database, workspaceId, id);
      const change = withoutUndefined(request.body);
      requireForecast({ period, unit, forecast_percent: change.forecast_percent });
      const place = { workspaceId, id, actor: actorOf(request) };
      const row = await pool.withTransaction((transaction) => changeBudget(transaction, place, change));
      if (row === 'taken') throw taken(change.name ?? '');
      if (row === 'no-destination') throw noSuchDestinationIn('destination_ids');
      if (row === undefined) throw noSuchBudget();
      return await answer(row);
    });

    app.delete('/v1/budgets/:budget_id', DELETE_BUDGET, async (request, reply) => {
      const place = { workspaceId: workspaceOf(request), id: request.params.budget_id, actor: actorOf(request) };
      if (!(await pool.withTransaction((transaction) => deleteBudget(transaction, place)))) throw noSuchBudget();
      return reply.code(204).send();
    });

    app.get('/v1/budgets/:budget_id/history', LIST_HISTORY, async (request) => {
      const row = await requireBudget(pool.database, workspaceOf(request), request.params.budget_id);
      return await readHistory(pool.database, row, request.query);
    });
  });
}

async function readHistory(
  database: Database,
  { workspace_id: workspaceId, id: budgetId }: BudgetRow,
  { limit, cursor }: z.output<typeof budgetHistoryQuerySchema>,
) {
  const after = parseCursor(cursorSchema, cursor);
  const rows = await listCrossings(database, { workspaceId, budgetId }, { after, limit: limit + 1 });
  const { page, next_cursor } = cutPage(rows, limit, toPlace);
  const crossings = page.map(({ workspace_id: _workspaceId, budget_id: _budgetId, ...crossing }) => crossing);
  return { crossings, next_cursor };
}

const toPlace = ({ crossed_at, period_start, kind, threshold }: z.infer<typeof cursorSchema>) => ({
  ...{ crossed_at, period_start, kind, threshold },
});

const noSuchBudget = (): ProblemError => new ProblemError('not-found', 'The workspace has no such budget');
const taken = (name: string): ProblemError => new ProblemError('name-taken', `There is a budget ${name} already`);

async function requireBudget(database: Database, workspaceId: string, id: string): Promise<BudgetRow> {
  const row = await findBudget(database, workspaceId, id);
  if (row === undefined) throw noSuchBudget();
  return row;
}

type ParsedRequest = z.output<typeof budgetRequestSchema>;

function toNewBudget({ forecast_percent: given, ...budget }: ParsedRequest) {
  const { period, unit } = budget;
  requireForecast({ period, unit, forecast_percent: given });
  return { ...budget, forecast_percent: given ?? (given === undefined && hasForecast(budget) ? 100 : null) };
}

const hasForecast = ({ period, unit }: Pick<BudgetRequest, 'period' | 'unit'>): boolean =>
  period === 'month' && unit === 'usd';

/** Only dollars of a month are forecast. Throws ProblemError `invalid-request`. */
function requireForecast(budget: Pick<BudgetRequest, 'period' | 'unit' | 'forecast_percent'>): void {
  if (budget.forecast_percent == null || hasForecast(budget)) return;
  const message = 'Only budgets in dollars by month have a forecast';
  const errors = [{ location: 'body' as const, field: 'forecast_percent', message }];
  throw new ProblemError('invalid-request', 'Not valid: forecast_percent', { extensions: { errors } });
}

const withoutUndefined = (change: z.output<typeof budgetChangeSchema>): BudgetChange =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));

/** Budgets with their current periods, all of one moment. */
async function toAnswers({ database, now = Date.now }: Deps, rows: readonly BudgetRow[]): Promise<Budget[]> {
  return await withReportSnapshot(database, async (snapshot) => {
    const budgets: Budget[] = [];
    for (const row of rows) budgets.push(await toAnswer(snapshot, row, now()));
    return budgets;
  });
}

async function toAnswer(snapshot: Database, row: BudgetRow, nowMs: number): Promise<Budget> {
  const { workspace_id: _workspaceId, ...budget } = row;
  const status = await readStatus(snapshot, row, nowMs);
  return { ...budget, filters: budget.filters as Budget['filters'], status };
}

async function readStatus(snapshot: Database, row: BudgetRow, nowMs: number): Promise<Budget['status']> {
  try {
    const { from, to, spent, unpricedResponses, forecast, unmatched } = await readBudgetStatus(snapshot, row, nowMs);
    return {
      ...{ from, to, spent, spent_share: spent / row.amount, unpriced_responses: unpricedResponses },
      forecast: forecast && { cost_usd: forecast.costUsd, low_usd: forecast.lowUsd, high_usd: forecast.highUsd },
      unmatched: unmatched.map(({ message }) => message),
    };
  } catch (error) {
    if (!(error instanceof UnresolvedNameError)) throw error;
    return null;
  }
}
