import type { CliContext } from './cli-context.ts';

/** Output to a file or a program is not cut, so that searching it finds everything. */
const UNLIMITED_WIDTH = 10_000;
/** For people who read it in a file. */
export const PAGE_WIDTH = 80;

/** Maximum width of a table (the terminal's, or else COLUMNS). */
export function toPrintWidth(
  { stdout, environment }: Pick<CliContext, 'stdout' | 'environment'>,
  fallback = UNLIMITED_WIDTH,
): number {
  if (stdout.isTTY) return stdout.columns;
  const columns = Number(environment.COLUMNS);
  return Number.isSafeInteger(columns) && columns > 0 ? columns : fallback;
}
