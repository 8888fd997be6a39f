import type { PriceFile } from '@recount/prices';
import type { CliContext } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';

/**
 * The price file of the option, or of RECOUNT_PRICE_FILE; undefined if there is none. Throws CliError if it cannot be
 * used.
 */
export async function readPriceFile(
  { environment, workingDirectory }: Pick<CliContext, 'environment' | 'workingDirectory'>,
  given?: string,
): Promise<PriceFile | undefined> {
  const location = given ?? environment.RECOUNT_PRICE_FILE?.trim();
  if (!location) return undefined;
  const { loadPriceFile } = await import('@recount/prices');
  return await loadPriceFile(location, { directory: workingDirectory }).catch((error: unknown) => {
    throw new CliError((error as Error).message);
  });
}
