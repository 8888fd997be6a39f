import type { ReactNode } from 'react';

/** A table that scrolls sideways, also by keyboard, if the window is too narrow. The children are its rows. */
export function WideTable({
  label,
  columns,
  children,
}: {
  label: string;
  columns: readonly string[];
  children: ReactNode;
}): ReactNode {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <table className="plain-table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
