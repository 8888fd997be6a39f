import type { ApiApp } from '../api-dependencies.ts';

const DEFAULT_MAX_BYTES = 16 * 1024;

/** Adds routes that read JSON bodies of at most `maxBytes`. Names that would set a prototype are rejected. */
export async function addJsonRoutes(
  parent: ApiApp,
  { maxBytes = DEFAULT_MAX_BYTES }: { maxBytes?: number },
  addRoutes: (app: ApiApp) => void,
): Promise<void> {
  await parent.register(async (scope) => {
    const app = scope as ApiApp;
    app.addContentTypeParser(
      'application/json',
      { parseAs: 'string', bodyLimit: maxBytes },
      app.getDefaultJsonParser('error', 'error'),
    );
    addRoutes(app);
  });
}
