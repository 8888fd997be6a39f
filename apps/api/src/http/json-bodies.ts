import type { ApiApp } from '../api-dependencies.ts';

/** Has the routes of a scope read bodies of JSON. Names that would set a prototype are refused. */
export function acceptJsonBodies(app: ApiApp, maxBytes = 16 * 1024): void {
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: maxBytes },
    app.getDefaultJsonParser('error', 'error'),
  );
}
