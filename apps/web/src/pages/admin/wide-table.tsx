import type { ReactNode } from 'react';
import { ExportMenu, toFactColumns } from '../../parts/export-menu.tsx';
import { TableHead } from '../../ui/table-head.tsx';

/** A table that scrolls sideways, also by keyboard, if the window is too narrow. The children are its rows. */
export function WideTable({
  label,
  columns,
  figures = [],
  rows,
  children,
}: {
  label: string;
  columns: readonly string[];
  /** The columns of figures; default none. */
  figures?: readonly string[];
  /** The API's rows, which can be exported with all that they say. */
  rows: readonly object[];
  children: ReactNode;
}): ReactNode {
  return (
    <div className="menu-above">
      <ExportMenu title={label} columns={toFactColumns(rows)} rows={rows} filters={{}} time={{}} />
      <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
        <table className="plain-table">
          <TableHead columns={columns} figures={figures} />
          <tbody>{children}</tbody>
        </table>
      </div>
    </div>
  );
}
