import { expect, it } from 'vitest';
import type { ApiDependencies } from '../api-dependencies.ts';
import { addRoutes } from '../app.ts';
import { readApiConfig } from '../config.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { createOpenapiDocument } from './openapi-document.ts';

it('equals openapi.json: `vitest -u` writes it', async () => {
  const config = readApiConfig({ DATABASE_URL: 'postgres://nowhere/none', RECOUNT_RAW_STORE: '/nowhere' });
  // No handler runs.
  const deps = { rawStore: {}, database: {} } as ApiDependencies;
  const document = await createOpenapiDocument((app) =>
    addRoutes(
      app,
      {
        ...deps,
        metrics: createMetrics(deps),
        space: { hasRoom: async () => true } as never,
        providerSignIns: { providers: [] } as never,
      },
      config,
    ),
  );
  await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot('../../openapi.json');
});
