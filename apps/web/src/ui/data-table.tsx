import { useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type MouseEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useKeys } from './use-keys.ts';
import { usePrinting } from './use-printing.ts';

export interface Column<Row, Sort extends string = string> {
  id: string;
  label: string;
  /** Explains the label. */
  hint?: string | undefined;
  /** As for `grid-template-columns`, with a minimum width in pixels: `minmax(200px, 2fr)` or `90px`. */
  width: string;
  /** The API's sort key; undefined if the column is not sortable. */
  sort?: Sort;
  /** Figures are right-aligned. */
  isFigure?: boolean;
  cell: (row: Row) => ReactNode;
  /** Its cell in a row of totals below the head, which there is if any column has one. */
  total?: ReactNode;
}

interface DataTableProps<Row, Sort extends string> {
  label: string;
  columns: readonly Column<Row, Sort>[];
  rows: readonly Row[];
  toId: (row: Row) => string;
  /** The link of a row; its first cell should contain the same link, for pointers and screen readers. */
  toHref: (row: Row) => string;
  sort?: { by: string; order: 'asc' | 'desc'; change: (by: Sort, order: 'asc' | 'desc') => void };
  /** Called when the last rows come into sight. */
  loadMore?: (() => void) | undefined;
}

const ROW_HEIGHT_PX = 33;
const OVERSCAN_ROWS = 12;
/** A table of at most as many rows scrolls with its page. */
const MAX_WHOLE_ROWS = 50;
/** Distance from the end, in rows, where more are loaded. */
const MARGIN_ROWS = 60;

/**
 * A table of any number of rows, made with ARIA roles, because a table element cannot leave out rows that are out of
 * sight. `j`, `k` and Enter move and open.
 */
export function DataTable<Row, Sort extends string>(props: DataTableProps<Row, Sort>): ReactNode {
  const { label, columns, rows, toId, toHref, sort, loadMore } = props;
  const navigate = useNavigate();
  const { items, scroller, virtual } = useVisibleRows(rows.length, loadMore);
  const isWhole = rows.length <= MAX_WHOLE_ROWS;
  const hasTotal = columns.some(({ total }) => total !== undefined);
  const headRows = hasTotal ? 2 : 1;
  const open = (row: Row | undefined): void => {
    if (row !== undefined) void navigate({ href: toHref(row) });
  };
  const scrollTo = (index: number): void => {
    virtual.scrollToIndex(index);
    // A row that is not in the document yet comes into sight by the line above.
    const row = scroller.current?.querySelector(`.body > [aria-rowindex="${index + headRows + 1}"]`);
    if (isWhole) row?.scrollIntoView({ block: 'nearest' });
  };
  const selected = useSelection(rows, scrollTo, open);
  const onRowClick = (event: MouseEvent, row: Row): void => {
    if (event.metaKey || event.ctrlKey || (event.target as Element).closest('a, button, input') !== null) return;
    if (getSelection()?.toString() !== '') return;
    open(row);
  };
  const gridTemplateColumns = columns.map(({ width }) => width).join(' ');
  // Each row is a separate grid, because without a common width, its columns would be as wide as its own texts.
  const minWidth = columns.reduce((sum, { width }) => sum + Number(/(\d+)px/.exec(width)?.[1] ?? 0), 0);
  return (
    <div
      className={isWhole ? 'data-table whole' : 'data-table'}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + headRows}
      ref={scroller}
      tabIndex={0}
    >
      <Head columns={columns} sort={sort} hasTotal={hasTotal} style={{ minWidth }} rowStyle={{ gridTemplateColumns }} />
      <div role="rowgroup" className="body" style={{ height: virtual.getTotalSize(), minWidth }}>
        {items.map(({ index, start, size }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the link in the first cell has the keys
            <div
              key={toId(row)}
              role="row"
              tabIndex={-1}
              aria-rowindex={index + headRows + 1}
              data-selected={index === selected}
              style={{ gridTemplateColumns, height: size, transform: `translateY(${start}px)` }}
              onClick={(event) => onRowClick(event, row)}
            >
              {columns.map(({ id, isFigure, cell }) => (
                <div key={id} role="cell" className={isFigure ? 'end' : undefined}>
                  {cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** The rows in sight, or all while the page is printed. */
function useVisibleRows(count: number, loadMore: (() => void) | undefined) {
  const scroller = useRef<HTMLDivElement>(null);
  const isPrinting = usePrinting();
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: isPrinting ? count : OVERSCAN_ROWS,
  });
  const items = virtual.getVirtualItems();
  const lastIndex = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (!isPrinting && lastIndex >= count - MARGIN_ROWS) loadMore?.();
  }, [isPrinting, lastIndex, count, loadMore]);
  return { items, scroller, virtual };
}

/** The index of the row that keys have selected, -1 for none. */
function useSelection<Row>(
  rows: readonly Row[],
  scrollTo: (index: number) => void,
  open: (row: Row | undefined) => void,
): number {
  const [selected, setSelected] = useState(-1);
  const select = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    setSelected(next);
    scrollTo(next);
  };
  useKeys({
    j: () => select(selected + 1),
    k: () => select(selected - 1),
    g: () => select(0),
    G: () => select(rows.length - 1),
    ...(selected >= 0 && { Enter: () => open(rows[selected]) }),
  });
  return selected;
}

interface HeadProps<Row, Sort extends string> {
  columns: readonly Column<Row, Sort>[];
  sort: DataTableProps<Row, Sort>['sort'];
  hasTotal: boolean;
  style: CSSProperties;
  rowStyle: CSSProperties;
}

function Head<Row, Sort extends string>(props: HeadProps<Row, Sort>): ReactNode {
  const { columns, sort, hasTotal, style, rowStyle } = props;
  return (
    <div role="rowgroup" className="head" style={style}>
      <div role="row" aria-rowindex={1} tabIndex={-1} style={rowStyle}>
        {columns.map((column) => (
          <HeaderCell key={column.id} column={column} sort={sort} />
        ))}
      </div>
      {hasTotal && (
        <div role="row" aria-rowindex={2} tabIndex={-1} className="total" style={rowStyle}>
          {columns.map(({ id, isFigure, total }) => (
            <div key={id} role="cell" className={isFigure ? 'end' : undefined}>
              {total}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function HeaderCell<Row, Sort extends string>({
  column: { label, hint, sort: key, isFigure },
  sort,
}: {
  column: Column<Row, Sort>;
  sort: DataTableProps<Row, Sort>['sort'];
}): ReactNode {
  const isSorted = sort !== undefined && sort.by === key;
  const direction = isSorted ? (sort.order === 'asc' ? 'ascending' : 'descending') : undefined;
  return (
    <div role="columnheader" aria-sort={direction} className={isFigure ? 'end' : undefined} title={hint}>
      {key === undefined || sort === undefined ? (
        label
      ) : (
        <button type="button" onClick={() => sort.change(key, isSorted && sort.order === 'desc' ? 'asc' : 'desc')}>
          {label} {isSorted ? (sort.order === 'asc' ? '↑' : '↓') : ''}
        </button>
      )}
    </div>
  );
}
