import type { ApiApp } from '../api-dependencies.ts';

/** Makes the routes of a scope read JSON bodies. Names that would set a prototype are rejected. */
export function acceptJsonBodies(app: ApiApp, maxBytes = 16 * 1024): void {
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: maxBytes },
    app.getDefaultJsonParser('error', 'error'),
  );
}
