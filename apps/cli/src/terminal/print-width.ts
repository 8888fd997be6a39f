import type { CliContext } from '../cli-context.ts';

/** What goes to a file or a program is not cut: whoever searches it finds what is there. */
const UNLIMITED_WIDTH = 10_000;
/** For people who read it in a file. */
export const PAGE_WIDTH = 80;

/** Columns that a table may have: those of the terminal, else of COLUMNS. */
export function toPrintWidth(
  { stdout, environment }: Pick<CliContext, 'stdout' | 'environment'>,
  fallback = UNLIMITED_WIDTH,
): number {
  if (stdout.isTTY) return stdout.columns;
  const columns = Number(environment.COLUMNS);
  return Number.isSafeInteger(columns) && columns > 0 ? columns : fallback;
}
