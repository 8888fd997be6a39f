import type { DestinationList } from '@recount/contract';
import type { ApiClient } from '../connection/api-client.ts';
import { CliError } from '../terminal/cli-error.ts';

/** Ids of destinations by their names or ids. Throws CliError if one is not there. */
export async function findDestinations(client: ApiClient, names: readonly string[]): Promise<string[]> {
  const { destinations = [] } = (await client.request<DestinationList>('/v1/destinations')) ?? {};
  return names.map((name) => {
    const found = destinations.find((each) => each.name === name || each.id === name);
    if (found === undefined) throw new CliError(`There is no destination ${name}. \`recount alerts list\` shows them.`);
    return found.id;
  });
}
