import type { ReactNode } from 'react';

interface TableHeadProps {
  columns: readonly string[];
  /** The number of columns of text, if they come first and the others have figures. */
  textColumns?: number;
  /** The columns of figures, wherever they are. */
  figures?: readonly string[];
  /** Class of the heads of figures. */
  figureClass?: string;
}

/** The head of a small table: texts to the left, figures to the right. */
export const TableHead = ({
  columns,
  textColumns = 1,
  figures = columns.slice(textColumns),
  figureClass = 'end',
}: TableHeadProps): ReactNode => (
  <thead>
    <tr>
      {columns.map((column) => (
        <th key={column} scope="col" className={figures.includes(column) ? figureClass : undefined}>
          {column}
        </th>
      ))}
    </tr>
  </thead>
);
