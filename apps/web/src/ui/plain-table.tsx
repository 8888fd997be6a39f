import type { ReactNode } from 'react';

export interface PlainColumn<Row> {
  head: string;
  cell: (row: Row) => ReactNode;
  /** Figures are right-aligned. */
  isFigure?: boolean;
  /** Class of its cells. */
  className?: string;
  /** Explains a cell. */
  title?: (row: Row) => string;
}

interface PlainTableProps<Row> {
  columns: readonly PlainColumn<Row>[];
  rows: readonly Row[];
  toKey: (row: Row) => string | number;
  className?: string | undefined;
  /** Class of figures and their heads. */
  figureClass?: string;
  caption?: string;
  /** A last row. */
  children?: ReactNode;
}

/** A small table, each column with the cells that it makes of a row. */
export const PlainTable = <Row,>({
  columns,
  rows,
  toKey,
  className = 'plain-table',
  figureClass = 'end',
  caption,
  children,
}: PlainTableProps<Row>): ReactNode => (
  <table className={className}>
    {caption !== undefined && <caption>{caption}</caption>}
    <thead>
      <tr>
        {columns.map(({ head, isFigure }) => (
          <th key={head} scope="col" className={isFigure ? figureClass : undefined}>
            {head}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={toKey(row)}>
          {columns.map(({ head, cell, isFigure, className: ofCell, title }) => (
            <td key={head} className={isFigure ? figureClass : ofCell} title={title?.(row)}>
              {cell(row)}
            </td>
          ))}
        </tr>
      ))}
      {children}
    </tbody>
  </table>
);
