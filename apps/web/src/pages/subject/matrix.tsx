import type { PageFigure } from '@recount/contract/reports/report-entry';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type Dimension, toValueLabel } from '../../format/dimensions.ts';
import { toNoName, toPlainName } from '../../format/plain-name.ts';
import { formatCount } from '../../format/values.ts';
import { type Asked, type ExportColumn, ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import { ReportFigure, type Row, readFigure, readText } from '../../ui/report-figure.tsx';
import { type Place, pickGroups, toPart } from './subject.ts';

const SHOWN_ROWS = 12;
const SHOWN_COLUMNS = 8;

interface MatrixProps {
  place: Place;
  answer: Parameters<typeof pickGroups>[0];
  dimensions: readonly [rows: Dimension, columns: Dimension];
  figure: PageFigure;
  asked: Asked;
}

/** Columns of the exported file. */
const toFileColumns = (
  [down, across]: MatrixProps['dimensions'],
  columns: readonly Row[],
  figure: PageFigure,
  find: (row: Row, column: Row) => Row | undefined,
): ExportColumn[] => [
  toTextColumn(down.label, down.name),
  ...columns.map(
    (column): ExportColumn => ({
      label: readText(column, across.name) ?? toNoName(across.name),
      read: (row) => readFigure(find(row as Row, column) ?? {}, figure),
    }),
  ),
  ...toFigureColumns([{ ...figure, label: 'All' }]),
];

interface MatrixHeadProps extends Pick<MatrixProps, 'place' | 'dimensions'> {
  columns: readonly Row[];
}

function MatrixHead({ place, dimensions: [down, across], columns }: MatrixHeadProps): ReactNode {
  return (
    <thead>
      <tr>
        <th scope="col">{down.label}</th>
        {columns.map((row) => (
          <th key={readText(row, across.name)} scope="col" className="end">
            <Name of={across} row={row} others={columns} place={place} />
          </th>
        ))}
        <th scope="col" className="end">
          All
        </th>
      </tr>
    </thead>
  );
}

/** Two dimensions of a total against each other; every figure is the API's, also the one of a whole row. */
export function Matrix({ place, answer, dimensions, figure, asked }: MatrixProps): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const [down, across] = dimensions;
  const cells = pickGroups(answer, down.name, across.name);
  const [allRows, allColumns] = dimensions.map(({ name }) => pickGroups(answer, name).rows);
  if (allRows === undefined || allColumns === undefined || allRows.length < 2 || allColumns.length < 2) return null;
  const rows = isWhole ? allRows : allRows.slice(0, SHOWN_ROWS);
  const columns = isWhole ? allColumns : allColumns.slice(0, SHOWN_COLUMNS);
  const toCellKey = (row: Row, column: Row): string =>
    JSON.stringify([readText(row, down.name), readText(column, across.name)]);
  const byKey = new Map(cells.rows.map((row) => [toCellKey(row, row), row]));
  const largest = Math.max(0, ...cells.rows.map((row) => readFigure(row, figure) ?? 0));
  const find = (row: Row, column: Row) => byKey.get(toCellKey(row, column));
  const isCut = rows.length < allRows.length || columns.length < allColumns.length;
  return (
    <section className="panel" aria-label={`${down.label} × ${across.label}`}>
      <div className="between">
        <h2>
          {down.label} × {across.label.toLowerCase()}
        </h2>
        <ExportMenu
          title={`${down.label} by ${across.name}`}
          columns={toFileColumns(dimensions, columns, figure, find)}
          rows={rows}
          {...asked}
        />
      </div>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={`${figure.label} by both`}>
        <table className="plain-table matrix">
          <MatrixHead place={place} dimensions={dimensions} columns={columns} />
          <tbody>
            {rows.map((row) => (
              <tr key={readText(row, down.name)}>
                <th scope="row">
                  <Name of={down} row={row} others={rows} place={place} />
                </th>
                {columns.map((column) => {
                  const cell = find(row, column);
                  const part = cell === undefined ? 0 : (readFigure(cell, figure) ?? 0);
                  const heat = largest <= 0 ? 0 : Math.sqrt(part / largest);
                  return (
                    <td
                      key={readText(column, across.name)}
                      className="end"
                      style={{ '--heat': `${Math.round(heat * 42)}%` } as object}
                    >
                      <Cell place={place} dimensions={dimensions} row={cell} figure={figure} />
                    </td>
                  );
                })}
                <td className="end">
                  <ReportFigure of={figure} row={row} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(isCut || isWhole) && (
        <p className="muted">
          {isCut &&
            `The largest ${formatCount(rows.length)} of ${formatCount(allRows.length)} rows and ${formatCount(columns.length)} of ${formatCount(allColumns.length)} columns. `}
          <button type="button" className="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Show the largest' : 'Show all'}
          </button>
        </p>
      )}
      {cells.truncated && <p className="muted">There are more combinations than the report allows.</p>}
    </section>
  );
}

function Name({
  of,
  row,
  others,
  place,
}: {
  of: Dimension;
  row: Row;
  others: readonly Row[];
  place: Place;
}): ReactNode {
  const value = readText(row, of.name);
  if (value === null) return <span className="muted">{toNoName(of.name)}</span>;
  return (
    <Link {...toPart(place, { [of.name]: value })} title={value}>
      {of.shortens === undefined
        ? toPlainName(
            of.name,
            value,
            others.map((other) => readText(other, of.name)),
          )
        : toValueLabel(of, value)}
    </Link>
  );
}

/** Leads to the page of the row's value, filtered by the column's. */
function Cell({
  place,
  dimensions: [down, across],
  row,
  figure,
}: {
  place: Place;
  dimensions: MatrixProps['dimensions'];
  row: Row | undefined;
  figure: PageFigure;
}): ReactNode {
  if (row === undefined) return <span className="figure none">·</span>;
  const [first, second] = [readText(row, down.name), readText(row, across.name)];
  const shown = <ReportFigure of={figure} row={row} />;
  if (first === null || second === null) return shown;
  return (
    <Link
      {...toPart(place, { [down.name]: first, [across.name]: second })}
      title={`${toValueLabel(down, first)}, ${toValueLabel(across, second)}`}
    >
      {shown}
    </Link>
  );
}
