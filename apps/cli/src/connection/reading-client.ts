import type { ApiApp } from '@recount/api';
import type { CliContext } from '../terminal/cli-context.ts';
import { type ApiClient, createApiClient, readAnswer, toUrl } from './api-client.ts';
import { type ApiOptions, findApi } from './find-api.ts';

/** Placeholder address for calls without a server; nothing is sent there. */
const OWN_PLACE = { url: 'http://recount.invalid', key: '' };

/**
 * Runs something with a client of the API that is named or runs here, or else with one that answers from the database
 * of DATABASE_URL through the same routes in this process. The latter accepts only JSON bodies.
 */
export async function withReadingClient<Result>(
  context: CliContext,
  options: ApiOptions & { workspace: string },
  run: (client: ApiClient) => Promise<Result>,
): Promise<Result> {
  const place = await findApi(context, options);
  if (place !== undefined) return await run(createApiClient(place));
  const [{ createWorkspaceApi }, { findWorkspace, withDatabase }, { toOperator }, { pino }] = await Promise.all([
    import('@recount/api'),
    import('./open-installation.ts'),
    import('./operator.ts'),
    import('pino'),
  ]);
  return await withDatabase(context, async (database) => {
    const workspaceId = await findWorkspace(database, options.workspace);
    const app = await createWorkspaceApi({ database, log: pino({ enabled: false }) }, workspaceId, toOperator());
    return await run(createInProcessClient(app));
  });
}

function createInProcessClient(app: ApiApp): ApiClient {
  return {
    place: OWN_PLACE,
    async request<Answer>(
      path: string,
      { method = 'GET', query = {}, json }: Parameters<ApiClient['request']>[1] = {},
    ) {
      const { pathname, search } = toUrl(OWN_PLACE.url, path, query);
      const answer = await app.inject({
        method,
        url: pathname + search,
        ...(json !== undefined && { payload: JSON.stringify(json), headers: { 'content-type': 'application/json' } }),
      });
      const headers = {
        'content-type': String(answer.headers['content-type']),
        'content-disposition': answer.headers['content-disposition']?.toString(),
      };
      return readAnswer({ status: answer.statusCode, headers, text: answer.payload }, OWN_PLACE.url) as
        | Answer
        | undefined;
    },
  };
}
