import { billDeletionQuerySchema, billImportSchema, billListSchema, billReceiptSchema } from '@recount/contract';
import { deleteBill, listBills, RegroupedBillError, storeBill } from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const MAX_BODY_BYTES = 8 * 1024 ** 2;

const IMPORT_BILL = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'importBill',
    summary: 'Import lines of a vendor’s bill',
    description:
      'Lines of its usage and cost reports, as `recount bill import` reads them. A line that is stored already gets the new figures, so it is safe to repeat. They are compared with the transcripts (`GET /v1/analytics/bills`), and never part of another figure.',
    tags: ['analytics'],
    body: billImportSchema,
    response: {
      200: billReceiptSchema,
      409: problemResponse('Lines of the same days are grouped otherwise, so that amounts would count twice'),
    },
  },
} as const;

const LIST_BILLS = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listBills',
    summary: 'List what is imported of vendors’ bills',
    tags: ['analytics'],
    response: { 200: billListSchema },
  },
} as const;

const DELETE_BILL = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'deleteBill',
    summary: 'Delete lines of a vendor’s bill',
    description: 'All lines, or the lines of the days from `first_day` to `last_day`.',
    tags: ['analytics'],
    querystring: billDeletionQuerySchema,
    response: { 200: billReceiptSchema },
  },
} as const;

function toKnownError(error: unknown): never {
  if (!(error instanceof RegroupedBillError)) throw error;
  const detail = `${error.message} Together they would count amounts twice. Delete the lines of these days first`;
  throw new ProblemError('bill-regrouped', detail, { cause: error });
}

/** Imports of vendors' usage and cost reports. */
export async function addBillRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, { maxBytes: MAX_BODY_BYTES }, (app) => {
    app.post('/v1/bills', IMPORT_BILL, async (request) => {
      const { vendor, rows } = request.body;
      const bill = { workspaceId: workspaceOf(request), vendor, actor: actorOf(request) };
      await pool.withTransaction((transaction) => storeBill(transaction, bill, rows)).catch(toKnownError);
      return { lines: rows.length };
    });

    app.get('/v1/bills', LIST_BILLS, async (request) => ({
      bills: await listBills(pool.database, workspaceOf(request)),
    }));

    app.delete('/v1/bills', DELETE_BILL, async (request) => {
      const { vendor, first_day: firstDay, last_day: lastDay } = request.query;
      const bill = { workspaceId: workspaceOf(request), vendor, actor: actorOf(request) };
      const lines = await pool.withTransaction((transaction) => deleteBill(transaction, bill, { firstDay, lastDay }));
      return { lines };
    });
  });
}
