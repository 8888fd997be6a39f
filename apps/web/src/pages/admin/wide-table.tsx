import type { ReactNode } from 'react';
import { ExportMenu, toFactColumns } from '../../parts/export-menu.tsx';
import { type PlainColumn, PlainTable } from '../../ui/plain-table.tsx';

interface WideTableProps<Row> {
  label: string;
  columns: readonly PlainColumn<Row>[];
  /** The API's rows, which can be exported with all that they say. */
  rows: readonly Row[];
  toKey: (row: Row) => string | number;
}

/** A table that scrolls sideways, also by keyboard, if the window is too narrow. */
export const WideTable = <Row extends object>({ label, rows, ...table }: WideTableProps<Row>): ReactNode => (
  <div className="menu-above">
    <ExportMenu title={label} columns={toFactColumns(rows)} rows={rows} filters={{}} time={{}} />
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <PlainTable rows={rows} {...table} />
    </div>
  </div>
);
