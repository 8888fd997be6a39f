import type { SearchQuery, SearchResultList } from '@recount/contract';
import type { ApiClient, ApiRequest } from '../connection/api-client.ts';
import { CliError } from '../terminal/cli-error.ts';

/** Rejects with a DeliveryError. */
export async function readSearchResults(client: ApiClient, query: SearchQuery): Promise<SearchResultList> {
  const list = await client.request<SearchResultList>('/v1/search', {
    query: query as NonNullable<ApiRequest['query']>,
  });
  if (list === undefined) throw new CliError(`${client.place.url} is an older recount, which has no search.`);
  return list;
}
