import type { CliContext } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import type { ApiClient } from './api-client.ts';
import type { PlaceOptions } from './place-options.ts';

/** Like `withReadingClient`, which is loaded only now, so that --help needs none of it. */
export async function withClient<Result>(
  context: CliContext,
  options: Omit<PlaceOptions, 'json'>,
  run: (client: ApiClient) => Promise<Result>,
): Promise<Result> {
  const { withReadingClient } = await import('./reading-client.ts');
  return await withReadingClient(context, options, run);
}

/** The item with this name or id. Throws CliError, which lists the names that there are. */
export function findNamed<Item extends { id: string; name: string }>(
  items: readonly Item[],
  noun: string,
  name: string,
): Item {
  const found = items.find((each) => each.name === name || each.id === name);
  if (found !== undefined) return found;
  const names = items.map((each) => toSingleLine(each.name)).join(', ');
  throw new CliError(`There is no ${noun} ${name}${names === '' ? ' yet' : `; there are ${names}`}.`);
}
