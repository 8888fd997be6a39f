import { request, toUrl } from '../../server-data/client.ts';
import { queryClient } from '../../server-data/use-answer.ts';

/** Replaces all of the workspace's own prices. `overrides` is JSON, as it was typed or made. Throws ApiError. */
export async function savePrices(overrides: string): Promise<void> {
  await request(toUrl('/v1/prices'), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: `{"overrides":${overrides}}`,
  });
  await queryClient.invalidateQueries();
}
