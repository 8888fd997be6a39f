import { cutToWidth, toTextWidth } from './text-width.ts';

export interface TableColumn {
  header: string;
  align?: 'left' | 'right';
  /** Takes what the other columns leave of the width, and is cut to it. */
  isFlexible?: boolean;
}

const GAP = '  ';
const MIN_FLEXIBLE_WIDTH = 16;

/** Lines of a table, the headers first. Flexible columns share what is left of `maxWidth`, down to 16 columns each. */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth: number,
): string[] {
  const widths = toColumnWidths(columns, rows, maxWidth);
  const formatRow = (cells: readonly string[]): string =>
    columns
      .map(({ align }, index) => {
        const width = widths[index] ?? 0;
        const cell = cutToWidth(cells[index] ?? '', width);
        const padding = ' '.repeat(width - toTextWidth(cell));
        return align === 'right' ? padding + cell : cell + padding;
      })
      .join(GAP)
      .trimEnd();
  return [formatRow(columns.map(({ header }) => header)), ...rows.map(formatRow)];
}

function toColumnWidths(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth: number,
): number[] {
  const widths = columns.map(({ header }, index) =>
    Math.max(toTextWidth(header), ...rows.map((row) => toTextWidth(row[index] ?? ''))),
  );
  const total = widths.reduce((sum, width) => sum + width, GAP.length * (columns.length - 1));
  const flexible = columns.flatMap(({ isFlexible }, index) => (isFlexible ? [index] : []));
  let excess = total - maxWidth;
  for (const [position, index] of flexible.entries()) {
    const width = widths[index] ?? 0;
    const share = Math.ceil(excess / (flexible.length - position));
    const narrowed = Math.min(width, Math.max(MIN_FLEXIBLE_WIDTH, width - Math.max(0, share)));
    excess -= width - narrowed;
    widths[index] = narrowed;
  }
  return widths;
}
