import { type Database, type DatabasePool, holdApiKey, isOperatorKey } from '@recount/db';
import type { FastifyRequest } from 'fastify';
import { isOperator, missingScope, workspaceOf } from '../plugins/authentication.ts';
import { ProblemError } from '../problems/problem-error.ts';

/** Changes keys for a request whose own key stays valid until then: one that is revoked since then cannot make another. */
export const changeKeys = <Result>(
  pool: DatabasePool,
  request: FastifyRequest,
  work: (transaction: Database) => Promise<Result>,
): Promise<Result> =>
  pool.withTransaction(async (transaction) => {
    const isHeld = await holdApiKey(transaction, workspaceOf(request), request.keyHolder?.keyId ?? '');
    if (!isHeld) throw new ProblemError('invalid-key', 'The key was revoked');
    return await work(transaction);
  });

/** Throws ProblemError if the key with this id is an operator's, and the request's is not. */
export async function requireRightTo(request: FastifyRequest, transaction: Database, id: string): Promise<void> {
  if (isOperator(request) || !(await isOperatorKey(transaction, workspaceOf(request), id))) return;
  throw missingScope('operator', 'Only a key with the scope operator can change a key that has it');
}
