import { cutStartToWidth, cutToWidth, toTextWidth } from './text-width.ts';

export interface TableColumn {
  header: string;
  align?: 'left' | 'right';
  /** The column may be cut to this width. Defaults to never cut. */
  minWidth?: number;
  /** The end that stays if it is cut. Default `start`. */
  keeps?: 'start' | 'end';
  /** Left out if the table would be too wide otherwise, last column first, or by `rank`. */
  isOptional?: boolean;
  /** Importance of an optional column. The lowest goes first. Default 0. */
  rank?: number;
}

const GAP = '  ';

/**
 * Lines of a table, the headers first. If it is wider than `maxWidth`, columns with a `minWidth` are narrowed, widest
 * first; if that is not enough, optional columns are left out.
 */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth: number,
): string[] {
  const layout = layOut(columns, rows, maxWidth);
  const formatRow = (cells: readonly string[]): string =>
    layout
      .map(({ index, width, align, keeps }) => {
        const cell = (keeps === 'end' ? cutStartToWidth : cutToWidth)(cells[index] ?? '', width);
        const padding = ' '.repeat(width - toTextWidth(cell));
        return align === 'right' ? padding + cell : cell + padding;
      })
      .join(GAP)
      .trimEnd();
  return [formatRow(columns.map(({ header }) => header)), ...rows.map(formatRow)];
}

interface LaidOutColumn extends TableColumn {
  index: number;
  width: number;
}

function layOut(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth: number,
): LaidOutColumn[] {
  const layout = columns.map((column, index) => ({
    ...column,
    index,
    width: rows.reduce((width, row) => Math.max(width, toTextWidth(row[index] ?? '')), toTextWidth(column.header)),
  }));
  const toExcess = (toWidth: (column: LaidOutColumn) => number): number =>
    layout.reduce((sum, column) => sum + toWidth(column), GAP.length * (layout.length - 1)) - maxWidth;
  const toMinWidth = ({ minWidth = Number.POSITIVE_INFINITY, width }: LaidOutColumn): number =>
    Math.min(width, minWidth);
  while (toExcess(toMinWidth) > 0) {
    const optional = layout.filter(({ isOptional }) => isOptional);
    if (optional.length === 0) break;
    const lowestRank = Math.min(...optional.map(({ rank = 0 }) => rank));
    const position = layout.findLastIndex(({ isOptional, rank = 0 }) => isOptional && rank === lowestRank);
    layout.splice(position, 1);
  }
  for (let excess = toExcess(({ width }) => width); excess > 0; excess -= 1) {
    const widest = layout
      .filter((column) => column.width > toMinWidth(column))
      .reduce<LaidOutColumn | undefined>((a, b) => (a === undefined || b.width > a.width ? b : a), undefined);
    if (widest === undefined) break;
    widest.width -= 1;
  }
  return layout;
}
