import { type CliContext, print } from './cli-context.ts';
import { toPrintWidth } from './print-width.ts';
import { formatTable, type TableColumn } from './table.ts';
import { toSingleLine } from './text-width.ts';

/** Prints a table, at most as wide as the terminal. Cells may be texts of people, with line breaks. */
export function printTable(
  context: CliContext,
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
): void {
  const cells = rows.map((row) => row.map(toSingleLine));
  for (const line of formatTable(columns, cells, toPrintWidth(context))) print(context, line);
}
