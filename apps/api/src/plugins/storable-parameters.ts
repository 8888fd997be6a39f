import type { ApiApp } from '../api-dependencies.ts';
import { ProblemError } from '../problems/problem-error.ts';

const MAX_FIELD_NAME_LENGTH = 100;

/**
 * Refuses parameters of path and query that contain NUL, which Postgres cannot compare with any text. This goes for
 * every route, whatever its schema says. Bodies and headers have their own rules.
 */
export function refuseUnstorableParameters(app: ApiApp): void {
  app.addHook('preValidation', async ({ params, query }) => {
    if (findUnstorable(params) !== undefined) throw new ProblemError('not-found', 'There is nothing at this path');
    const field = findUnstorable(query)?.slice(0, MAX_FIELD_NAME_LENGTH);
    if (field === undefined) return;
    const errors = [{ location: 'query' as const, field, message: 'NUL characters are not allowed' }];
    throw new ProblemError('invalid-request', `Not valid: ${field}`, { extensions: { errors } });
  });
}

/** The name of a parameter with NUL in it. */
function findUnstorable(parameters: unknown): string | undefined {
  const found = Object.entries((parameters ?? {}) as Record<string, unknown>).find(([, value]) =>
    [value].flat().some((text) => typeof text === 'string' && text.includes('\0')),
  );
  return found?.[0];
}
