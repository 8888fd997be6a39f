import type { ApiApp } from '../api-dependencies.ts';
import { ProblemError } from '../problems/problem-error.ts';

const DEFAULT_MAX_BYTES = 16 * 1024;

/** An escape of half a character in JSON, after an even number of backslashes. */
const HALF_CHARACTER = /(?<!\\)(?:\\\\)*\\ud[89a-f]/i;

/**
 * Adds routes that read JSON bodies of at most `maxBytes`. Names that would set a prototype are rejected, and so are
 * halves of characters, which Postgres does not store as JSON.
 */
export async function addJsonRoutes(
  parent: ApiApp,
  { maxBytes = DEFAULT_MAX_BYTES }: { maxBytes?: number },
  addRoutes: (app: ApiApp) => void,
): Promise<void> {
  await parent.register(async (scope) => {
    const app = scope as ApiApp;
    const parse = app.getDefaultJsonParser('error', 'error');
    app.addContentTypeParser<string>(
      'application/json',
      { parseAs: 'string', bodyLimit: maxBytes },
      (request, body, done) =>
        parse(request, body, (error, parsed) => {
          // Written again, only halves are left of escapes.
          const isHalf = error === null && HALF_CHARACTER.test(body) && HALF_CHARACTER.test(JSON.stringify(parsed));
          if (!isHalf) return done(error, parsed);
          done(new ProblemError('invalid-request', 'The body has half of a character (\\ud800 to \\udfff)'));
        }),
    );
    addRoutes(app);
  });
}
